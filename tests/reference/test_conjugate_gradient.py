"""Conjugate gradients end at the ridge regression on the explicit features."""

import pickle

import numpy as np
import pytest

import bochner.solvers.passes.linear_system as module
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Binning, DenseBasis, Encoded, Fourier
from bochner.kernels import Laplacian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import ConjugateGradient
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import Training, run

ALPHA = 1e-3
FEATURES = [Binning(16), Fourier(64)]
either_basis = pytest.mark.parametrize("features", FEATURES, ids=lambda f: type(f).__name__)


def posed(X, Y, features=FEATURES[0], weight=None, memory=None, left_out=None, **settings):
    """Return the problem and its encoded rows."""
    source = ArraySource(X, Y, weight)
    basis = features.build(Laplacian(2.0), source.sample(len(X)), seed=0)
    encoded = Encoded(source, basis, module.BATCH_ROWS, memory, left_out)
    loss = Loss.resolve("squared")
    problem = Problem(encoded.basis, loss, ALPHA, Y.shape[1], rows=len(X), **settings)
    return problem, encoded


def solved(problem, encoded, tol=1e-5, **settings):
    stop = Solved() | Passes(300)
    solution = run(ConjugateGradient(tol), problem, encoded, stop=stop, **settings)
    assert solution.reason.converged
    return solution


def columns(basis, X):
    code = basis.encode(X)
    dense = isinstance(basis, DenseBasis)
    return basis.columns(code) if dense else basis.matrix(code).toarray()


def ridge(Z, Y, intercept=True, weight=None):
    """Return the exact weights and intercept of the mean problem."""
    weight = np.ones(len(Z)) if weight is None else weight
    Z, share = Z.astype(float), (weight / weight.sum())[:, None]
    z, y = ((share * Z).sum(axis=0), (share * Y).sum(axis=0)) if intercept else (0.0, 0.0)
    A = (Z - z).T @ (share * (Z - z)) + ALPHA * np.eye(Z.shape[1])
    w = np.linalg.solve(A, (Z - z).T @ (share * (Y - y)))
    return w, y - z @ w if intercept else np.zeros(Y.shape[1])


@pytest.fixture
def outputs(regression):
    """Rows and three outputs of different sizes."""
    X, y = regression
    return X, np.column_stack([y, 1.0 - 5 * X[:, 0] * y, 0.1 * np.cos(X[:, 1])])


@either_basis
@pytest.mark.parametrize("intercept", [True, False])
def test_the_end_is_the_ridge_regression_of_all_outputs(outputs, features, intercept):
    X, Y = outputs
    problem, encoded = posed(X, Y, features, intercept=intercept)
    expansion = solved(problem, encoded).expansion
    weights, constant = ridge(columns(problem.basis, X), Y, intercept)
    tolerance = 2e-4 * np.abs(weights).max()
    assert np.all(np.abs(expansion.weights - weights) < tolerance)
    assert np.all(np.abs(expansion.intercept - constant) < tolerance)


def test_weighted_rows_end_at_the_weighted_ridge_regression(outputs):
    X, Y = outputs
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    problem, encoded = posed(X, Y, weight=weight)
    expansion = solved(problem, encoded).expansion
    weights, constant = ridge(columns(problem.basis, X), Y, weight=weight)
    np.testing.assert_allclose(expansion.weights, weights, atol=1e-3)
    np.testing.assert_allclose(expansion.intercept, constant, atol=1e-3)


def test_rows_left_out_have_no_say(outputs):
    X, Y = outputs
    out = np.arange(0, len(X), 4)
    kept = np.setdiff1d(np.arange(len(X)), out)
    absent = solved(*posed(X[kept], Y[kept])).expansion(X[kept])
    left_out = solved(*posed(X, Y, left_out=out)).expansion(X[kept])
    np.testing.assert_allclose(left_out, absent, atol=2e-3)


def test_the_residual_is_what_the_optimality_says(outputs):
    X, Y = outputs
    problem, encoded = posed(X, Y)
    solver, Z = ConjugateGradient(1e-9), columns(problem.basis, X)

    def size_of_residual(solution):
        expansion = solution.expansion
        slopes = (expansion(X) - Y) / len(X)
        gradient = Z.T @ slopes + ALPHA * expansion.weights
        diagonal = np.sum(Z**2, axis=0) / len(X) + ALPHA
        return np.sqrt(np.sum(gradient**2 / diagonal[:, None]) + np.sum(slopes.sum(axis=0) ** 2))

    first, last = (run(solver, problem, encoded, stop=Passes(n)) for n in (1, 9))
    ratio = size_of_residual(last) / size_of_residual(first)
    assert last.training.state.optimality == pytest.approx(ratio, rel=1e-3)


def test_memory_decides_nothing_but_where_codes_are_kept(outputs):
    X, Y = outputs
    kept, spooled = (solved(*posed(X, Y, memory=memory)) for memory in (None, 0))
    assert np.array_equal(kept.expansion.weights, spooled.expansion.weights)
    assert kept.training.state.pass_losses == spooled.training.state.pass_losses


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + rng.normal(size=(len(X), 2))
    weights = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            solution = run(ConjugateGradient(), *posed(X, Y, Binning(8)), stop=Passes(6))
            weights.append(solution.expansion.weights)
    assert np.array_equal(*weights)


def test_an_interrupted_fit_goes_on_bit_for_bit(outputs, monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 128)
    problem, encoded = posed(*outputs)
    whole = solved(problem, encoded, 1e-3)
    for rows in (100, 500, 1_300):
        part = run(ConjugateGradient(1e-3), problem, encoded, stop=RowLimit(rows))
        training = pickle.loads(pickle.dumps(part.training))
        resumed = solved(problem, encoded, 1e-3, training=training)
        assert np.array_equal(resumed.expansion.weights, whole.expansion.weights)
        assert resumed.training.rows == whole.training.rows


def test_going_on_with_more_rows_begins_at_the_weights_so_far(outputs):
    X, Y = outputs
    problem, encoded = posed(X[:300], Y[:300])
    before = solved(problem, encoded)
    more = Encoded(ArraySource(X, Y), before.expansion.basis, module.BATCH_ROWS)
    larger = Problem(more.basis, problem.loss, ALPHA, outputs=3, rows=len(X))
    state = ConjugateGradient().on_new_rows(larger, before.training.state)
    assert larger.basis.size > problem.basis.size
    went_on = solved(larger, more, training=Training(state, module.BATCH_ROWS))
    anew = solved(larger, more)
    np.testing.assert_allclose(went_on.expansion(X), anew.expansion(X), atol=1e-3)
    assert went_on.training.state.pass_losses[0] < 0.5 * anew.training.state.pass_losses[0]


def test_what_cannot_be_solved_is_refused_with_a_sentence():
    source = ArraySource(np.zeros((4, 1)), np.ones((4, 1)))
    endless = Fourier().build(Laplacian(1.0), source.sample(4), seed=0)
    finite = Fourier(64).build(Laplacian(1.0), source.sample(4), seed=0)
    squared, logistic = Loss.resolve("squared"), Loss.resolve("logistic")
    for solver, basis, loss, match in [
        (ConjugateGradient(), endless, squared, "finite number of features"),
        (ConjugateGradient(), finite, logistic, "needs a Quadratic; got Logistic"),
        (ConjugateGradient(tol=-1.0), finite, squared, "tol must be a positive number; got -1.0"),
    ]:
        with pytest.raises(ValueError, match=match):
            run(solver, Problem(basis, loss, ALPHA, outputs=1), source, stop=Passes(1))
