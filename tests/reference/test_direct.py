"""The direct solution is kernel ridge regression."""

import pickle

import numpy as np
import pytest
from scipy.linalg import LinAlgError, cholesky
from sklearn.kernel_ridge import KernelRidge

import bochner.solvers.passes.direct as module
from bochner import KernelRegressor
from bochner.compute.linear_algebra.cholesky import (
    jittered_cholesky,
    lower_gram,
    solve,
    solve_lower,
    solve_upper,
)
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import CenterBasis, Centers, Fourier
from bochner.kernels import Gaussian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Direct
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import run

ALPHA = 1e-3
TOLERANCE = {np.float32: 1e-3, np.float64: 1e-9}
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def posed(X, Y, weight=None, dtype=np.float64, alpha=ALPHA, **settings):
    source = ArraySource(X, Y, weight)
    basis = Centers().build(Gaussian(2.0), source.sample(len(X)), 0, dtype)
    loss = Loss.resolve("squared")
    return Problem(basis, loss, alpha, Y.shape[1], rows=len(X), **settings), source


def solved(problem, source, **settings):
    return run(Direct(), problem, source, stop=Solved() | Passes(2), **settings)


def exact(X, Y, weight=None, intercept=True, alpha=ALPHA):
    """Return the values at the rows of the least mean of squares, found in the coefficients."""
    weight = np.ones(len(X)) if weight is None else weight
    some, K = weight > 0, Gaussian(2.0)(X)
    n = some.sum()
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = K[np.ix_(some, some)] + alpha * np.diag(weight.sum() / weight[some])
    A[n, :n] = A[:n, n] = 1.0 if intercept else 0.0
    A[n, n] = 0.0 if intercept else 1.0
    c = np.linalg.solve(A, np.vstack([Y[some], np.zeros((1, Y.shape[1]))]))
    return K[:, some] @ c[:n] + c[n]


@pytest.fixture
def outputs(regression):
    """Rows and two outputs of different sizes."""
    X, y = regression
    return X, np.column_stack([y, 1.0 - 5 * X[:, 0] * y])


def test_without_an_intercept_it_is_scikit_learns_kernel_ridge(outputs):
    X, Y = outputs
    problem, source = posed(X, Y, intercept=False)
    theirs = KernelRidge(alpha=ALPHA * len(X), kernel="rbf", gamma=1 / (2 * 2.0**2)).fit(X, Y)
    new = X + 0.1
    f = solved(problem, source).expansion(new)
    np.testing.assert_allclose(f, theirs.predict(new), atol=1e-9)


@both_dtypes
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_the_closed_form(outputs, dtype, intercept):
    X, Y = outputs
    solution = solved(*posed(X, Y, dtype=dtype, intercept=intercept))
    tolerance = TOLERANCE[dtype]
    f = solution.expansion(X)
    np.testing.assert_allclose(f, exact(X, Y, intercept=intercept), atol=tolerance)
    mean = np.square(f - Y).sum() / (2 * len(X))
    assert solution.training.state.pass_losses == [pytest.approx(mean, rel=tolerance)]
    assert solution.training.pass_ == 1


def test_rows_have_their_weights(outputs):
    X, Y = outputs
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    f = solved(*posed(X, Y, weight)).expansion(X)
    np.testing.assert_allclose(f, exact(X, Y, weight), atol=1e-9)
    whole = weight.astype(int)
    repeated = solved(*posed(np.repeat(X, whole, axis=0), np.repeat(Y, whole, axis=0)))
    np.testing.assert_allclose(f, repeated.expansion(X), atol=1e-7)


def test_the_gradient_is_zero_at_the_solution(outputs):
    X, Y = outputs
    problem, source = posed(X, Y)
    expansion = solved(problem, source).expansion
    slopes = (expansion(X) - Y) / len(X)
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=1e-12)
    numbers = problem.basis.numbers(np.arange(len(X)))
    np.testing.assert_allclose(slopes, -ALPHA * expansion.weights[numbers], atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, ALPHA])
def test_repeated_rows_without_regularisation_are_fine(outputs, alpha):
    X, Y = (np.repeat(part[:100], 3, axis=0) for part in outputs)
    expansion = solved(*posed(X, Y, alpha=alpha, dtype=np.float32)).expansion
    assert np.isfinite(expansion.weights).all()
    assert np.abs(expansion(X) - Y).mean() < (0.1 if alpha == 0 else 0.5) * np.abs(Y).mean()


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(900, 3)), rng.normal(size=(900, 2))
    weights = []
    for n_jobs in (1, 2, 3):
        with threads(n_jobs):
            weights.append(solved(*posed(X, Y)).expansion.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


def test_an_interrupted_fit_goes_on_bit_for_bit(outputs, monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 128)
    problem, source = posed(*outputs)
    whole = solved(problem, source)
    part = run(Direct(), problem, source, stop=RowLimit(200))
    assert not part.expansion.weights.any()
    training = pickle.loads(pickle.dumps(part.training))
    resumed = solved(problem, source, training=training)
    assert np.array_equal(resumed.expansion.weights, whole.expansion.weights)
    assert resumed.training.rows == whole.training.rows


def test_estimators_hold_rows_out_only_if_asked(regression):
    X, y = regression
    model = KernelRegressor(
        features="centers", solver="direct", random_state=0, warm_start=True, early_stopping=True
    ).fit(X, y)
    assert np.sum(~model.expansion_.weights.any(axis=1)) == pytest.approx(len(X) / 10, abs=25)
    assert type(model.expansion_.basis) is CenterBasis
    assert model.score(X, y) > 0.9
    assert np.array_equal(model.predict(X), model.fit(X, y).predict(X))
    assert KernelRegressor(solver="direct", random_state=0).fit(X, y).weights_.all()


def test_what_cannot_be_solved_is_refused_with_a_sentence():
    source = ArraySource(np.zeros((4, 1)), np.ones((4, 1)))
    sample = source.sample(4)
    waves = Fourier(64).build(Gaussian(1.0), sample, seed=0)
    few = Centers(2).build(Gaussian(1.0), sample, seed=0)
    large = Centers().build(Gaussian(1.0), sample, seed=0, memory=255)
    fits = Centers().build(Gaussian(1.0), sample, seed=0, memory=256)
    squared, logistic = Loss.resolve("squared"), Loss.resolve("logistic")
    for basis, loss, match in [
        (waves, squared, "needs a CenterBasis; got FourierBasis"),
        (fits, logistic, "needs a Squared; got Logistic"),
        (few, squared, "all training rows as centres; got 2 chosen ones"),
        (large, squared, "solver='eigenpro', or fewer centres with solver='nystroem'"),
    ]:
        with pytest.raises(ValueError, match=match):
            run(Direct(), Problem(basis, loss, ALPHA, outputs=1), source, stop=Passes(1))
    assert run(Direct(), Problem(fits, squared, ALPHA, 1), source, stop=Solved()).reason.converged


@both_dtypes
@pytest.mark.parametrize("size", [1, 255, 256, 257, 700])
def test_the_factor_is_lapacks_and_the_same_for_any_number_of_threads(size, dtype):
    rng = np.random.default_rng(0)
    G, B = rng.normal(size=(size, size + 5)), rng.normal(size=(size, 3)).astype(dtype)
    A = (G @ G.T / size + np.eye(size)).astype(dtype)
    results = []
    for n_jobs in (1, 2, 4):
        with threads(n_jobs):
            L, jitter = jittered_cholesky(A.copy(), 0.0)
            results.append((L, solve(L, B), lower_gram(L, np.empty_like(L))))
    for part in zip(*results, strict=True):
        assert np.array_equal(part[0], part[1])
        assert np.array_equal(part[0], part[2])
    L, X, gram = results[0]
    tolerance = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    assert jitter == 0
    assert L.dtype == X.dtype == dtype
    np.testing.assert_allclose(L, cholesky(A, lower=True), atol=tolerance)
    np.testing.assert_allclose(A @ X, B, atol=10 * tolerance)
    np.testing.assert_allclose(L @ solve_lower(L, B), B, atol=10 * tolerance)
    np.testing.assert_allclose(L.T @ solve_upper(L, B), B, atol=10 * tolerance)
    np.testing.assert_allclose(gram, L.T @ L, atol=10 * tolerance)


def test_jitter_is_what_a_matrix_lacks():
    A = np.ones((600, 600))
    A[450, 450] = 0.9
    L, jitter = jittered_cholesky(A.copy(), 1e-3)
    assert 1e-2 <= jitter <= 1.0
    np.testing.assert_allclose(L @ L.T, A + jitter * A.diagonal().mean() * np.eye(600), atol=1e-12)
    with pytest.raises(LinAlgError, match="positive definite kernel"):
        jittered_cholesky(np.full((3, 3), np.nan), 0.0)
