"""What averaged gradients on the bins of a stream promise."""

import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bochner.compute.pool import threads
from bochner.data import ArraySource, Batch, IteratorSource, RadialWave
from bochner.features import Binning, Fourier
from bochner.kernels import Gaussian, Laplacian
from bochner.losses import Hinge, Logistic, Softmax, Squared, SquaredHinge
from bochner.problem import Problem
from bochner.solvers import ConjugateGradient, PredictionCache
from bochner.solvers.binning import averaged_gradient
from bochner.solvers.binning.averaged_gradient import AveragedGradient
from bochner.stopping import OnePass, Passes, RowLimit
from bochner.training.loop import run

GRIDS = 16


def rows(n=3000, seed=0):
    """Return rows and noisy values of a smooth function, (n, 3) and (n, 1)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    y = np.sin(6 * X[:, :1]) + X[:, 1:2] + 0.1 * rng.normal(size=(n, 1))
    return X, y


def problem(loss=None, outputs=1, alpha=1e-6, grids=GRIDS, columns=3, memory=None, **changes):
    sample = ArraySource(np.zeros((1, columns))).sample(1)
    basis = Binning(grids).build(Laplacian(0.4), sample, seed=0, memory=memory)
    return Problem(basis, loss or Squared(), alpha, outputs, **changes)


def batch(X, y, weight=None):
    return Batch(X, y, np.arange(X.shape[0]), weight)


def after(solver, task, batches):
    """Return the state after some batches; the first stands for the data."""
    state = solver.init(task, batches[0])
    for part in batches:
        state = solver.advance(task, state, part)
    return state


def fitted(task, *batches, solver=None):
    solver = solver or AveragedGradient()
    return solver.expansion(task, after(solver, task, batches))


def assert_same(one, two, X):
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one(X), two(X))


def mean_square(f, y):
    return float(np.mean((f - y) ** 2))


def ridge_solution(task, X, y, share):
    """Return the values at X of the exact minimum, each row having a share of the mean loss."""
    basis, code = task.basis.extended(X)
    Phi = np.hstack([basis.matrix(code).toarray(), np.ones((len(X), 1))])
    ridge = np.diag([task.alpha] * basis.size + [0.0])
    weighted = Phi.T * share
    return Phi @ np.linalg.solve(weighted @ Phi + ridge, weighted @ y)


@pytest.mark.parametrize("grids", [1, 7, 64])
@pytest.mark.parametrize("step", [0.25, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_step_takes_its_share_of_the_error_at_its_row(grids, step, intercept):
    X, y = np.array([[0.3, 0.4, 0.5]]), np.array([[2.0, -1.0]])
    task = problem(outputs=2, alpha=0.0, grids=grids, intercept=intercept)
    solver, nothing = AveragedGradient(step), batch(X, np.zeros((1, 2)))
    state = solver.advance(task, solver.init(task, nothing), batch(X, y))
    np.testing.assert_allclose(solver.expansion(task, state)(X), step * y)


@pytest.mark.parametrize("averaging", [0.0, 1.0, 2.5])
def test_the_mean_is_that_of_all_iterates_with_late_bins_at_zero_before(averaging):
    X, y = rows(80)
    solver, task = AveragedGradient(averaging=averaging), problem()
    state, functions = solver.init(task, batch(X, y)), []
    for i in range(len(X)):
        state = solver.advance(task, state, batch(X[i : i + 1], y[i : i + 1]))
        last = deepcopy(state)
        last.records.table[:, 2] = 0.0  # without its lag the mean is the last iterate
        functions.append(solver.expansion(task, last)(X))
    importance = np.arange(1, len(X) + 1) ** averaging
    mean = np.average(functions, axis=0, weights=importance)
    np.testing.assert_allclose(solver.expansion(task, state)(X), mean, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_passes_come_to_the_ridge_regression(alpha, weighted):
    X, y = rows(200)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=200) if weighted else None
    task, order = problem(alpha=alpha), np.random.default_rng(2)
    passes = [batch(X, y, weight)[order.permutation(200)] for _ in range(300)]
    f = fitted(task, *passes, solver=AveragedGradient(0.1, averaging=2.0))
    share = np.full(200, 1 / 200) if weight is None else weight / weight.sum()
    exact = ridge_solution(task, X, y, share)
    assert mean_square(f(X), exact) < 1e-3 * np.var(exact)


@pytest.mark.parametrize("narrow", [1.0, 4.0])
def test_one_pass_comes_close_to_conjugate_gradients(narrow):
    source, new = RadialWave(40_000), RadialWave(5_000, seed=1)
    train, test = next(source.batches(40_000)), next(new.batches(5_000))
    rows = ArraySource(train.X, train.y[:, None])
    basis = Binning(32).build(Laplacian(6.0 / narrow), source.sample(1000), seed=0)
    task = Problem(basis, Squared(), 1e-5, 1)
    once = run(AveragedGradient(), task, rows, stop=OnePass())
    many = run(ConjugateGradient(), task, rows, stop=Passes(25))
    errors = [mean_square(s.expansion(test.X)[:, 0], test.y) for s in (once, many)]
    assert errors[0] < 1.1 * errors[1]


@pytest.mark.parametrize("loss", [Squared(), Hinge(), SquaredHinge(), Logistic(), Softmax()])
def test_every_loss_falls_far_below_that_of_a_constant(loss):
    X, y = rows(6000)
    y = np.where(y > 0.5, 1.0, -1.0)
    y = np.hstack([y > 0, y < 0]).astype(float) if isinstance(loss, Softmax) else y
    f = fitted(problem(loss, y.shape[1]), batch(X[:5000], y[:5000]))
    constants = np.linspace(-2, 2, 81)[:, None] * np.ones(y.shape[1]) * [1.0, -1.0][: y.shape[1]]
    best = min(loss.value(y, np.broadcast_to(c, y.shape)).mean() for c in constants)
    assert loss.value(y[5000:], f(X[5000:])).mean() < 0.6 * best


def test_how_a_stream_is_blocked_does_not_matter():
    X, y = rows()

    def solution(size):
        blocks = ((X[k : k + size], y[k : k + size]) for k in range(0, len(X), size))
        return run(AveragedGradient(), problem(), IteratorSource(blocks), stop=OnePass())

    whole = solution(len(X))
    for size in (7, 1000):
        assert_same(solution(size).expansion, whole.expansion, X)


def test_chunks_are_the_whole_where_the_batches_are_the_same():
    X, y = rows(4096)
    solver, task, parts = AveragedGradient(), problem(), []
    for start in range(0, 4096, 1024):
        parts.append(batch(X[start : start + 1024], y[start : start + 1024]))
    state = solver.init(task, parts[0])
    for part in parts:
        state = solver.advance(task, solver.on_new_rows(task, deepcopy(state)), part)
    assert_same(solver.expansion(task, state), fitted(task, *parts), X)


@pytest.mark.parametrize("copied", [deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_a_run_that_goes_on_is_the_uninterrupted_one(monkeypatch, copied):
    monkeypatch.setattr(averaged_gradient, "BATCH_ROWS", 500)
    X, y = rows()
    solver, task, source = AveragedGradient(), problem(), ArraySource(X, y)
    whole = run(solver, task, source, stop=Passes(2))
    part = run(solver, task, source, stop=RowLimit(1000))
    task.basis.memory = 0  # another machine
    rest = run(solver, task, source, stop=Passes(2), training=copied(part.training))
    assert_same(rest.expansion, whole.expansion, X)
    assert rest.training.state.pass_losses == whole.training.state.pass_losses


def test_a_fit_leaves_the_basis_of_its_problem_as_it_was():
    X, y = rows()
    task = problem()
    one = fitted(task, batch(X[:1000], y[:1000]))
    fitted(task, batch(X[1000:], y[1000:]))
    assert task.basis.size == 0
    assert_same(fitted(task, batch(X[:1000], y[:1000])), one, X)


def test_bins_that_the_basis_knows_already_are_used():
    X, y = rows(1000)
    task = problem()
    known = replace(task, basis=task.basis.extended(X)[0])
    one, two = (fitted(each, batch(X, y)) for each in (task, known))
    assert_same(one, two, X)


@pytest.mark.parametrize("outputs", [1, 3])
def test_no_result_depends_on_the_number_of_threads(outputs):
    X, y = rows()
    functions = []
    for n_jobs in (1, 2, 4):
        with threads(n_jobs):
            functions.append(fitted(problem(outputs=outputs), batch(X, np.tile(y, outputs))))
    for other in functions[1:]:
        assert_same(functions[0], other, X)


def test_outputs_are_fitted_as_if_each_were_alone():
    X, y = rows()
    both = fitted(problem(outputs=2), batch(X, np.hstack([y, -2 * y])))
    np.testing.assert_allclose(both(X)[:, :1], fitted(problem(), batch(X, y))(X), atol=1e-12)
    np.testing.assert_allclose(both(X)[:, 1:], -2 * both(X)[:, :1], atol=1e-12)


def test_sparse_rows_are_dense_rows():
    X, y = rows()
    X[X < 0.5] = 0.0
    dense, sparse = (fitted(problem(), batch(form(X), y)) for form in (np.array, sp.csr_array))
    assert_same(dense, sparse, X)


def test_rows_of_weight_zero_are_as_if_absent():
    X, y = rows()
    weight = np.random.default_rng(3).integers(0, 3, size=len(X)).astype(float)
    solver, task, kept = AveragedGradient(), problem(), weight > 0
    sample = batch(X[:100], y[:100])
    state = solver.advance(task, solver.init(task, sample), batch(X, y, weight))
    absent = batch(X[kept], y[kept], weight[kept])
    without = solver.advance(task, solver.init(task, sample), absent)
    assert_same(solver.expansion(task, state), solver.expansion(task, without), X)
    assert state.loss == without.loss


def test_a_batch_without_weight_changes_nothing():
    X, y = rows()
    solver, task = AveragedGradient(), problem()
    state = after(solver, task, [batch(X, y)])
    before = deepcopy(state)
    state = solver.advance(task, state, batch(X + 5, y, np.zeros(len(X))))
    assert_same(solver.expansion(task, state), solver.expansion(task, before), X)


def test_the_unit_of_weights_does_not_matter():
    X, y = rows()
    weight = np.random.default_rng(3).uniform(0.1, 2.0, size=len(X))
    one, two = (fitted(problem(), batch(X, y, unit * weight)) for unit in (1.0, 1e-3))
    np.testing.assert_allclose(one(X), two(X), rtol=1e-9)
    equal = fitted(problem(), batch(X, y, np.full(len(X), 7.0)))
    np.testing.assert_allclose(equal(X), fitted(problem(), batch(X, y))(X), rtol=1e-9)


@pytest.mark.parametrize("heavy", [1.0, 3.0, 9.0, 99.0])
def test_where_rows_disagree_their_weights_decide(heavy):
    X, y = rows(8000)
    y = np.where(np.random.default_rng(4).uniform(size=y.shape) < 0.5, 1.0, -1.0)
    f = fitted(problem(), batch(X, y, np.where(y[:, 0] > 0, heavy, 1.0)))
    assert np.mean(f(X)) == pytest.approx((heavy - 1) / (heavy + 1), abs=0.03)


def test_weights_become_repetitions_as_steps_get_shorter():
    X, y = rows(200)
    X, y = np.vstack([X, X]), np.vstack([y, -y])
    weight = np.outer([3, 1], 1 + (X[:200, 2] > 0.5)).ravel()
    weighted = batch(X, y, weight.astype(float))
    repeated = batch(X, y)[np.repeat(np.arange(400), weight)]

    def learned(whole, step):
        order, passes = np.random.default_rng(5), round(10 / step)
        parts = [whole[order.permutation(len(whole))] for _ in range(passes)]
        return fitted(problem(alpha=1e-3), *parts, solver=AveragedGradient(step))(X)

    def gap(step):
        one, two = learned(weighted, step), learned(repeated, step)
        return np.sqrt(mean_square(one, two) / np.var(two))

    assert gap(0.02) < min(0.02, 0.4 * gap(0.1))


def test_there_are_never_more_bins_than_asked_for():
    X, y = rows(5000)
    free = fitted(problem(), batch(X, y))
    limit = free.size // 4
    f = fitted(problem(), batch(X, y), solver=AveragedGradient(most_bins=limit))
    allowed = np.minimum(free.basis.counts, limit // GRIDS)
    np.testing.assert_array_equal(f.basis.counts, allowed)
    assert mean_square(free(X), y) < mean_square(f(X), y) < 0.5 * np.var(y)


def test_where_no_bin_is_admitted_any_more_the_constant_is_left():
    X, y = rows()
    solver, task = AveragedGradient(most_bins=GRIDS), problem()
    state = after(solver, task, [batch(X[:1] + 100, y[:1]), batch(X, y)])
    f = solver.expansion(task, state)
    assert f.size == GRIDS
    np.testing.assert_array_equal(f(X), np.broadcast_to(f.intercept, y.shape))
    assert abs(f.intercept[0] - y.mean()) < 0.15


def test_automatic_bins_take_the_memory_budget():
    memory = 60 * 1000 * GRIDS
    state = AveragedGradient().init(problem(memory=memory), batch(*rows(10)))
    assert state.most == 1000
    X, y = rows(10)
    two = problem(outputs=2, memory=memory)
    assert AveragedGradient().init(two, batch(X, np.tile(y, 2))).most == 500


def test_held_out_rows_are_seen_through_the_present_bins():
    X, y = rows()
    solver, task = AveragedGradient(), problem()
    cache, state = PredictionCache(), solver.init(task, batch(X, y))
    for start in (0, 1000, 2000):
        part = slice(start, start + 1000)
        state = solver.advance(task, state, batch(X[part], y[part]))
        f = solver.predictions(task, state, batch(X, y), cache)
        np.testing.assert_array_equal(f, solver.expansion(task, state)(X))


def test_more_grids_leave_the_function_as_it_is_and_learn():
    X, y = rows()
    solver, task = AveragedGradient(), problem(grids=4)
    state = after(solver, task, [batch(X[:1000], y[:1000])])
    before = solver.expansion(task, state)(X)
    larger = problem(grids=12)
    state = solver.on_new_rows(larger, state)
    np.testing.assert_allclose(solver.expansion(larger, state)(X), before, atol=1e-12)
    state = solver.advance(larger, state, batch(X[1000:], y[1000:]))
    assert (state.basis.counts > 0).all()
    assert mean_square(solver.expansion(larger, state)(X), y) < mean_square(before, y)


def test_losses_are_those_before_the_steps():
    X, y = rows()
    solver, task = AveragedGradient(), problem(intercept=False)
    state = after(solver, task, [batch(X[:50], y[:50])])  # fewer than share their slopes
    assert state.loss == pytest.approx(np.mean(y[:50] ** 2) / 2)
    state = solver.end_pass(task, solver.advance(task, state, batch(X[50:], y[50:])))
    assert len(state.pass_losses) == 1
    assert 0 < state.pass_losses[0] < np.mean(y**2) / 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 0.0}, "step must be above 0 and at most 1; got 0.0"),
        ({"step": 1.5}, "step must be above 0"),
        ({"averaging": -1.0}, "averaging must be a finite number from 0 on; got -1.0"),
        ({"most_bins": GRIDS - 1}, "whole number from 16 on, a bin for each of the 16 grids"),
        ({"most_bins": "many"}, "most_bins must be 'auto' or"),
        ({"most_bins": 1e6}, "most_bins must be 'auto' or"),
    ],
)
def test_values_out_of_range_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        AveragedGradient(**changes).check(problem())


def test_a_basis_without_bins_is_refused():
    sample = ArraySource(np.zeros((2, 3))).sample(2)
    task = replace(problem(), basis=Fourier(8).build(Gaussian(1.0), sample, 0))
    with pytest.raises(ValueError, match="AveragedGradient needs a BinningBasis"):
        AveragedGradient().check(task)
