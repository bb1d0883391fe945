"""What a second call may rely on, and what starts anew."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource
from bochner.estimators.fitting.resume import first_version_digest
from bochner.estimators.fitting.setup import DIGEST_VERSION, MOST_HELD_OUT, split
from bochner.solvers import DoublyStochastic, Solver
from bochner.solvers.doubly_stochastic.averaged_weights import AveragedWeights

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_converged_fit_learns_from_other_rows_again(regression):
    X, y = regression
    model = KernelRegressor(solver="dsg", warm_start=True, random_state=0).fit(X, y)
    steps = model.history_["step"][-1]
    model.fit(X + 1.0, -y)
    assert model.history_["step"][-1] > steps + 3
    assert model.score(X + 1.0, -y) > 0.5


def test_a_finished_fit_of_an_earlier_version_is_recognised(regression):
    X, y = regression
    model = KernelRegressor(solver="dsg", warm_start=True, random_state=0).fit(X, y)
    assert model._digest.startswith(DIGEST_VERSION)
    text = model._settings().described(Solver.resolve("dsg"))
    model._digest = first_version_digest(ArraySource(X, y), model._setup, text)
    assert len(model._digest) == 64
    steps = model.history_["step"][-1]
    assert copy.deepcopy(model).fit(X, y).history_["step"][-1] == steps
    assert copy.deepcopy(model).fit(X + 1.0, y).history_["step"][-1] > steps


@pytest.mark.parametrize("solver", ["direct", "eigenpro"])
def test_a_machine_with_all_rows_as_centres_begins_anew_on_other_rows(regression, solver):
    X, y = regression
    model = KernelRegressor(solver=solver, warm_start=True, random_state=0).fit(X, y)
    model.fit(X[:-10] + 1.0, -y[:-10])
    fresh = KernelRegressor(solver=solver, random_state=0).fit(X[:-10] + 1.0, -y[:-10])
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


@pytest.mark.parametrize("solver", ["auto", "direct", "eigenpro"])
def test_rows_that_come_in_parts_cannot_all_be_centres(regression, solver):
    X, y = regression
    model = KernelRegressor(features="centers", solver=solver)
    with pytest.raises((ValueError, AttributeError), match=r"partial_fit"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    "change", [{"alpha": 1e-1}, {"solver": DoublyStochastic(step="plain")}], ids=str
)
def test_a_changed_setting_is_not_taken_for_a_finished_fit(regression, change):
    X, y = regression
    model = KernelRegressor(solver="dsg", warm_start=True, random_state=0).fit(X, y)
    steps = model.history_["step"][-1]
    model.set_params(**change).fit(X, y)
    assert model.history_["step"][-1] > steps


def test_other_class_weights_need_a_new_beginning(two_classes):
    X, y = two_classes
    model = KernelClassifier(warm_start=True, random_state=0, max_passes=2).fit(X, y)
    with pytest.raises(ValueError, match="class_weight"):
        model.set_params(class_weight="balanced").fit(X, y)


def test_a_solver_is_checked_again_before_it_goes_on(regression):
    X, y = regression
    model = KernelRegressor(solver="dsg", warm_start=True, random_state=0, max_passes=2).fit(X, y)
    model.set_params(solver=DoublyStochastic(feature_block=3), max_passes=4)
    with pytest.raises(ValueError, match="feature_block"):
        model.fit(X, y)


def test_held_out_rows_come_from_all_of_many_rows():
    rows = 200_000
    held_out = split(ArraySource(np.zeros((rows, 1)), np.zeros(rows)), True, seed=0).held_out()
    assert 0.8 * MOST_HELD_OUT < len(held_out) <= MOST_HELD_OUT
    assert held_out.index.max() > 0.8 * rows


def test_rows_of_weight_zero_are_not_held_out():
    X = np.arange(2_000.0)[:, None]
    model = KernelRegressor(early_stopping=True, random_state=0)
    index = split(ArraySource(X, X[:, 0]), True, seed=0).held_out().index
    weight = np.ones(len(X))
    weight[index] = 0.0
    model.fit(X, X[:, 0], weight)
    without = clone(model).fit(X[weight > 0], X[weight > 0, 0])
    assert model.history_["held_out_loss"] == without.history_["held_out_loss"]


def test_a_decay_to_nothing_keeps_the_mean():
    weights, iterates, w = AveragedWeights(1), [], np.zeros((2, 1))
    for factor, move in [(1.0, 1.0), (0.0, 2.0), (0.5, -1.0)]:
        weights.decay(factor)
        weights.move(0, np.full((2, 1), move))
        weights.include(1.0)
        w = factor * w + move
        iterates.append(w)
    np.testing.assert_allclose(weights.current(), iterates[-1])
    np.testing.assert_allclose(weights.mean(), np.mean(iterates, axis=0))
