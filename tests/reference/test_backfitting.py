"""Backfitting by grids against the closed form of ridge regression, and its own promises."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from bochner import KernelClassifier, KernelRegressor
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Binning, Encoded
from bochner.kernels import Laplacian
from bochner.losses import Absolute, EpsilonInsensitive, Huber, Logistic, Quantile, Squared
from bochner.problem import Problem
from bochner.solvers import Backfitting, CoordinateDescent
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import run

rng = np.random.default_rng(0)
ROWS, GRIDS, ALPHA = 400, 8, 1e-3
X = rng.random((ROWS, 3))
score = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] - 0.6 + 0.2 * rng.normal(size=ROWS)
Y = np.column_stack([score, X[:, 1] > 0.5, np.cos(4 * X[:, 2])])
weight = rng.integers(0, 3, ROWS).astype(float)


def encoded(y, weight=None, rows=250):
    source = ArraySource(X, y, weight)
    basis = Binning(GRIDS).build(Laplacian(1.0), source.sample(100), seed=0)
    return Encoded(source, basis, rows)


def posed(source, y, intercept=True):
    return Problem(source.basis, Squared(), ALPHA, y.shape[1], intercept, rows=ROWS)


def fitted(y, source=None, intercept=True, passes=5_000, training=None, **options):
    source = encoded(y) if source is None else source
    solver = Backfitting(**({"step": 1.0, "tol": 1e-6} | options))
    stop = Solved() | Passes(passes)
    return run(solver, posed(source, y, intercept), source, stop=stop, training=training)


def closed_form(y, weight=None, intercept=True):
    """Return the predictions of ridge regression with an intercept that costs nothing."""
    basis = encoded(y).basis
    Phi = basis.matrix(basis.encode(X)).toarray()
    weight = np.ones(ROWS) if weight is None else weight
    means = [np.average(a, axis=0, weights=weight) if intercept else 0.0 for a in (Phi, y)]
    centred, left = Phi - means[0], y - means[1]
    matrix = centred.T @ (weight[:, None] * centred) / weight.sum() + ALPHA * np.eye(Phi.shape[1])
    w = np.linalg.solve(matrix, centred.T @ (weight[:, None] * left) / weight.sum())
    return means[1] + centred @ w


def predicted(solution):
    return solution.expansion(X)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("y", [score[:, None], Y], ids=["one output", "three"])
@pytest.mark.parametrize("weight", [None, weight], ids=["alike", "weighted"])
def test_it_ends_at_ridge_regression(y, weight, intercept):
    solution = fitted(y, encoded(y, weight), intercept)
    assert solution.reason.converged
    np.testing.assert_allclose(
        predicted(solution), closed_form(y, weight, intercept), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("step", [0.2, 0.6, 1.5])
def test_steps_of_any_length_lead_to_the_same_minimum(step):
    solution = fitted(Y, step=step)
    np.testing.assert_allclose(predicted(solution), closed_form(Y), rtol=1e-3, atol=1e-3)


def test_the_objective_falls_in_every_sweep():
    objectives = []
    for passes in range(1, 12):
        solution = fitted(Y, passes=passes)
        loss = Squared().value(Y, predicted(solution)).mean()
        np.testing.assert_allclose(solution.training.state.pass_losses[-1], loss, rtol=1e-5)
        objectives.append(loss + ALPHA / 2 * np.square(solution.expansion.weights).sum())
    assert np.all(np.diff(objectives) < 0)


def test_pieces_of_rows_change_no_more_than_rounding():
    whole, pieces = (fitted(Y, encoded(Y, rows=rows), passes=7) for rows in (ROWS, 60))
    np.testing.assert_allclose(predicted(whole), predicted(pieces), rtol=1e-6, atol=1e-6)


def test_threads_do_not_change_a_bit():
    found = []
    for number in (1, 2, 3):
        with threads(number):
            found.append(predicted(fitted(Y, encoded(Y, rows=60), passes=5)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_fit_that_goes_on_ends_where_the_whole_one_does():
    source = encoded(Y)
    whole = fitted(Y, source, passes=9)
    part = fitted(Y, source, passes=4)
    resumed = fitted(Y, source, passes=9, training=pickle.loads(pickle.dumps(part.training)))
    np.testing.assert_array_equal(predicted(whole), predicted(resumed))


@pytest.mark.parametrize("rows", [ROWS, 60])
def test_it_goes_on_from_the_middle_of_a_sweep(rows, monkeypatch):
    monkeypatch.setattr(Backfitting, "tags", replace(Backfitting.tags, groups_per_batch=3))
    source = encoded(Y, rows=rows)
    solver, problem = Backfitting(), posed(source, Y)
    stopped = run(solver, problem, source, stop=RowLimit(ROWS // 2))
    assert stopped.training.position > 0
    resumed = run(solver, problem, source, stop=Passes(2), training=copy.deepcopy(stopped.training))
    whole = run(solver, problem, source, stop=Passes(2))
    np.testing.assert_array_equal(predicted(whole), predicted(resumed))


@pytest.mark.parametrize("loss", [Squared(), Huber(0.1)], ids=str)
@pytest.mark.parametrize("rows", [ROWS, 60])
@pytest.mark.parametrize("batches_before", [0, 2])
def test_a_snapshot_is_the_state_before_a_batch_and_copies_only_its_bins(
    loss, rows, batches_before
):
    source, solver = encoded(Y, rows=rows), Backfitting()
    problem = replace(posed(source, Y), loss=loss)
    *before, batch = list(source.groups(2).batches(0, 0, 0))[: batches_before + 1]
    state = solver.init(problem, source.sample(100, 0))
    for each in before:
        state = solver.advance(problem, state, each)
    before, values = copy.deepcopy(state), state.values
    restore = state.snapshot(batch)
    after = copy.deepcopy(solver.advance(problem, state, batch))
    restored = restore()
    assert restored.values is values
    np.testing.assert_array_equal(restored.values, before.values)
    again = solver.advance(problem, restored, batch)
    np.testing.assert_array_equal(again.values, after.values)
    np.testing.assert_array_equal(again.rows.residual, after.rows.residual)
    assert (again.loss, again.seen, again.fall) == (after.loss, after.seen, after.fall)


def test_weights_without_their_rows_are_a_beginning():
    """What was known of the rows is found again in a pass that moves nothing."""
    source = encoded(Y)
    first = fitted(Y, source, passes=3)
    solver, problem = Backfitting(step=1.0), posed(source, Y)
    again = copy.deepcopy(first.training)
    again.state = solver.on_new_rows(problem, again.state)
    again.pass_ = 0
    looked = run(solver, problem, source, stop=Passes(1), training=copy.deepcopy(again))
    np.testing.assert_allclose(predicted(looked), predicted(first), rtol=1e-6)
    on = run(solver, problem, source, stop=Passes(2), training=again)
    assert on.training.state.loss < first.training.state.loss


@pytest.mark.parametrize("step", [0.0, 2.0, -1.0, np.nan])
def test_steps_that_do_not_converge_are_refused(step):
    with pytest.raises(ValueError, match="step of Backfitting must be between 0 and 2"):
        fitted(Y, step=step)


def test_open_solvers_choose_it_where_held_out_rows_end_the_fit():
    y = (score > 0).astype(int)
    judged = KernelClassifier("laplacian", features="binning", early_stopping=True, random_state=0)
    assert judged.fit(X, y).plan_.solver == "backfitting"
    free = KernelRegressor("laplacian", features="binning", early_stopping=False, random_state=0)
    assert free.fit(X, score).plan_.solver == "cg"
    some = KernelRegressor("laplacian", features="binning", max_passes=3, random_state=0)
    assert some.plan(X, score).solver == "cg"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_second_fit_goes_on_by_the_same_solver():
    model = KernelRegressor(
        "laplacian", features=Binning(8), early_stopping=True, warm_start=True, random_state=0
    )
    model.fit(X, score)
    passes = model.n_iter_
    model.set_params(tol=1e-9, max_passes=passes + 2).fit(X, score)
    assert model.plan_.solver == "backfitting"
    assert model.n_iter_ == passes + 2


def test_bins_without_weight_need_no_ridge():
    y = np.sin(6 * X[:, 0])
    model = KernelRegressor(
        Laplacian(0.5), features=Binning(8), alpha=0.0, early_stopping=True, random_state=0
    )
    assert model.fit(X, y, sample_weight=weight).plan_.solver == "backfitting"
    assert model.score(X[weight > 0], y[weight > 0]) > 0.9


BENT = {
    "absolute": Absolute(width=0.1),
    "huber": Huber(0.3),
    "insensitive": EpsilonInsensitive(0.2, width=0.1),
    "quantiles": Quantile((0.1, 0.5, 0.9), width=0.1),
}


def fitted_smoothed(loss, source, passes=5_000, **options):
    problem = Problem(source.basis, loss, ALPHA, Y.shape[1], True, rows=ROWS)
    solver = Backfitting(**({"step": 1.0, "tol": 1e-7} | options))
    return run(solver, problem, source, stop=Solved() | Passes(passes))


@pytest.mark.parametrize("rows", [ROWS, 60], ids=["at once", "in pieces"])
@pytest.mark.parametrize("weight", [None, weight], ids=["alike", "weighted"])
@pytest.mark.parametrize("loss", BENT.values(), ids=BENT)
def test_of_absolute_values_it_ends_where_the_slope_is_zero(loss, weight, rows):
    source = encoded(Y, weight, rows)
    found = fitted_smoothed(loss, source, 800, step=1.5)
    Phi = source.basis.matrix(source.basis.encode(X)).toarray()
    row_weights = np.ones(ROWS) if weight is None else weight
    slopes = (
        row_weights[:, None] * loss.gradient(Y, predicted(found).astype(float)) / row_weights.sum()
    )
    pull = ALPHA * found.expansion.weights
    np.testing.assert_allclose(slopes.sum(axis=0), 0.0, atol=2e-3)  # of 1 for a single row
    np.testing.assert_allclose(Phi.T @ slopes, -pull, atol=0.1 * np.abs(pull).max())


@pytest.mark.parametrize("loss", BENT.values(), ids=BENT)
@pytest.mark.parametrize("step", [0.3, 1.0, 1.9])
def test_of_absolute_values_the_objective_falls_in_every_sweep(loss, step):
    objectives, source = [], encoded(Y)
    for passes in range(1, 9):
        solution = fitted_smoothed(loss, source, passes, step=step)
        value = loss.value(Y, predicted(solution).astype(float)).mean()
        np.testing.assert_allclose(solution.training.state.pass_losses[-1], value, rtol=1e-5)
        objectives.append(value + ALPHA / 2 * np.square(solution.expansion.weights).sum())
    assert np.all(np.diff(objectives) < 0)


def test_of_absolute_values_pieces_and_threads_change_no_more_than_rounding():
    loss = BENT["quantiles"]
    whole, pieces = (fitted_smoothed(loss, encoded(Y, rows=rows), 7) for rows in (ROWS, 60))
    np.testing.assert_allclose(predicted(whole), predicted(pieces), rtol=1e-6, atol=1e-6)
    with threads(1):
        alone = predicted(fitted_smoothed(loss, encoded(Y, rows=60), 7))
    np.testing.assert_array_equal(alone, predicted(pieces))


def test_other_losses_are_refused():
    with pytest.raises(ValueError, match="made of absolute values; got Logistic"):
        fitted_smoothed(Logistic(), encoded(np.sign(Y - 0.5)))


@pytest.mark.parametrize("loss", ["absolute", "huber", "epsilon_insensitive", "quantile"])
def test_losses_of_absolute_values_choose_it_where_held_out_rows_end_the_fit(loss):
    judged = KernelRegressor(
        "laplacian", features="binning", loss=loss, early_stopping=True, random_state=0
    )
    assert judged.fit(X, score).plan_.solver == "backfitting"
    free = judged.set_params(early_stopping=False)
    assert isinstance(free.plan(X, score).solver, CoordinateDescent)
