"""What a Gaussian process says of fits that end early: warnings, progress, Ctrl-C."""

import pickle
import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelGaussianProcess
from bochner.features import Centers, Fourier
from bochner.kernels import Gaussian
from bochner.solvers import DoublyStochastic, Nystroem

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BY_SOLVER = pytest.mark.parametrize("variance", ["operator", "functions"])
DSG = DoublyStochastic(batch_size=128, feature_block=32)
AT_ONCE = 1e-9  # seconds


def process(variance="features", **settings):
    settings = {"features": Fourier(32), "solver": DSG} | settings
    return KernelGaussianProcess(Gaussian(1.5), 0.1, variance, random_state=0, **settings)


def interrupt(progress):
    if progress.reason is None:
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def many():
    """Rows in the order of their column, more than two batches of them."""
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(-3, 3, size=(20_000, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=20_000)


@BY_SOLVER
def test_an_unfinished_fit_says_how_far_it_is(regression, variance):
    model = process(variance, max_passes=2)
    with pytest.warns(
        ConvergenceWarning, match=r"The fit.*2 passes.*fell by 0\.\d+.*tol is 0\.001.*Raise"
    ) as seen:
        model.fit(*regression)
    assert seen[0].filename == __file__
    assert model.n_iter_ == 2
    assert "max_passes" in model.stopped_because_


def test_unfinished_functions_are_told_of_by_who_asks_for_them(regression):
    X, y = regression
    model = process("functions", solver=Nystroem(1e-12), features=Centers(50)).fit(X, y)
    assert "the minimum was reached" in model.stopped_because_
    model.set_params(max_passes=1)
    for ask in (lambda: model.predict(X, return_std=True), lambda: model.sample_y(X[:9])):
        with pytest.warns(ConvergenceWarning, match=r"functions.*optimality residual") as seen:
            ask()
        assert seen[0].filename == __file__
    assert np.isfinite(model.predict(X)).all()  # the mean was learned before


def test_a_solver_that_needs_one_pass_has_converged_after_it(regression):
    model = process("functions", solver="direct", features="auto", max_passes=1)
    model.fit(*regression).predict(regression[0][:5], return_std=True)
    assert "minimum" in model.stopped_because_


@BY_SOLVER
def test_time_ends_a_solver(regression, variance):
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = process(variance, max_seconds=AT_ONCE).fit(*regression)
    assert (model.n_iter_, model.history_["step"]) == (1, [1])


@BY_SOLVER
@quiet
def test_callbacks_see_the_batches_of_a_solver(regression, variance):
    X, y = regression
    seen = []
    model = process(variance, max_passes=2, callbacks=[seen.append]).fit(X, y)
    assert [p.position for p in seen] == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0]
    assert model.history_["rows"][-1] == 800
    model.predict(X[:5], return_std=True)
    assert len(seen) == (22 if variance == "functions" else 11)
    assert pickle.loads(pickle.dumps(model.set_params(callbacks=None))).n_iter_ == 2


def test_callbacks_see_the_batches_of_sums(many):
    X, y = many
    seen = []
    model = process(callbacks=[seen.append]).fit(X, y)
    assert [p.position for p in seen] == [1, 2, 3, 0, 0]
    assert [p.rows for p in seen] == [6_666, 13_333, 20_000, 20_000, 20_000]
    assert [p.reason is None for p in seen] == [True] * 4 + [False]
    assert (model.n_iter_, model.stopped_because_) == (1, "all rows were read once")
    model.partial_fit(X[:50], y[:50])
    assert (model.n_iter_, model.history_["rows"][-2:]) == (2, [20_000, 20_050])


def test_callbacks_hear_of_rows_that_are_bad(regression):
    X, y = regression
    seen = []
    model = process(callbacks=[seen.append]).partial_fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit((X, y if i == 0 else y * np.nan) for i in range(2))
    assert model.n_iter_ == 1
    assert str(seen[-1].reason) == "an error ended it"


def test_time_that_is_up_leaves_the_posterior_of_some_rows(many):
    X, y = many
    model = process(max_seconds=AT_ONCE)
    with pytest.warns(ConvergenceWarning, match=r"given 6,666 of 20,000 rows") as seen:
        model.fit(X, y)
    assert seen[0].filename == __file__
    mean, deviation = model.predict(X[::100], return_std=True)
    np.testing.assert_allclose(mean, np.sin(X[::100, 0]), atol=0.1)  # so they are from all over
    whole = process(max_seconds=1e9).fit(X, y)
    ratio = deviation / whole.predict(X[::100], return_std=True)[1]
    assert 1.5 < np.median(ratio) < 2.0  # the root of 3
    np.testing.assert_allclose(whole.predict(X), process().fit(X, y).predict(X), atol=1e-8)
    with pytest.warns(ConvergenceWarning, match="the first 8,192 rows of a stream"):
        model.fit((X[i : i + 5_000], y[i : i + 5_000]) for i in range(0, 20_000, 5_000))
    assert model.partial_fit(X, y).history_["rows"][-1] == 28_192  # no limit for parts


def test_time_that_is_up_with_the_last_row_is_no_loss(regression):
    for rows in (regression, (iter([regression]),)):
        model = process(max_seconds=AT_ONCE).fit(*rows)
        assert model.stopped_because_ == "all rows were read once"


def test_an_interrupted_fit_keeps_what_it_has_seen(many):
    model = process(callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(*many)
    assert (model.n_iter_, model.stopped_because_) == (1, "it was interrupted")
    assert np.isfinite(model.predict(many[0][:9], return_std=True)).all()


@BY_SOLVER
def test_an_interrupted_solver_keeps_what_it_has_learned(regression, variance):
    model = process(variance, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(*regression)
    assert model.stopped_because_ == "it was interrupted"
    assert np.isfinite(model.set_params(callbacks=None).predict(regression[0])).all()


def test_interrupted_functions_change_nothing(regression):
    X, y = regression
    model = process("functions", solver="direct", features="auto").fit(X, y)
    before = dict(vars(model.set_params(callbacks=[interrupt])))
    with pytest.raises(KeyboardInterrupt):
        model.predict(X[:5], return_std=True)
    assert vars(model) == before


def test_a_progress_bar_of_sums_has_no_loss(regression, capsys):
    process(verbose=True).fit(*regression)
    drawn = capsys.readouterr().err
    assert "32 features  400 rows" in drawn
    assert "loss" not in drawn
