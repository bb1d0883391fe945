"""`partial_fit` after `fit`: the function of the fit goes on."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import KernelClassifier, KernelQuantileRegressor, KernelRegressor, load, save
from bochner.features import Binning, Centers, Fourier

MACHINES = {
    "regressor": KernelRegressor(),
    "classifier": KernelClassifier(),
    "quantiles": KernelQuantileRegressor(),
    "some centres": KernelRegressor(features=Centers(40)),
    "waves": KernelRegressor(features=Fourier(128)),
    "bins": KernelRegressor(features=Binning(16)),
}
of_every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
settled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n, seed, machine):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    return X, (y > 0).astype(int) if isinstance(machine, KernelClassifier) else y


@settled
@of_every_machine
def test_a_default_fit_goes_on_with_more_rows(machine, tmp_path):
    """Few rows of the same kind hardly change the function; many make it better."""
    X, y = rows(60, 0, machine)
    new, truth = rows(600, 1, machine)
    machine = clone(machine).set_params(random_state=0)
    model = clone(machine).fit(X, y)
    first = model.score(new, truth)
    few = clone(machine).fit(X, y).partial_fit(new[:5], truth[:5])
    assert few.score(new, truth) > first - 0.1
    before = model.kernel_
    for part in np.array_split(np.arange(600), 3):
        model.partial_fit(new[part], truth[part])
    assert model.kernel_ == before
    assert model.score(new, truth) > min(first, 0.98) - 0.02
    save(model, tmp_path / "model.bochner")
    loaded = load(tmp_path / "model.bochner")
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(
        loaded.partial_fit(X, y).predict(new), model.partial_fit(X, y).predict(new)
    )


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_after_partial_fit_takes_the_rows_it_is_given_as_centres(warm_start):
    machine = KernelRegressor(random_state=0, warm_start=warm_start)
    X, y = rows(60, 0, machine)
    model = clone(machine).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    expected = clone(machine).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)


def test_a_loss_that_cannot_go_on_is_refused_and_the_model_stays():
    machine = KernelClassifier(loss="hinge", random_state=0)
    X, y = rows(60, 0, machine)
    model = machine.fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="EigenPro"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
