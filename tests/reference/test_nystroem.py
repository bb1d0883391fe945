"""Nystroem ends where exact solvers of the same problem on the centres end."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from sklearn.linear_model import LogisticRegression

import bochner.solvers.passes.linear_system as module
from bochner import KernelClassifier, KernelRegressor
from bochner.compute.linear_algebra.cholesky import jittered_cholesky
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import CenterBasis, Centers, Encoded, Fourier, TabulatedBasis, WhitenedBasis
from bochner.features.codes.kept_columns import with_kept_columns
from bochner.kernels import Gaussian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Direct, Nystroem
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import Training, run

ALPHA, MUCH = 1e-4, 10**9
either_memory = pytest.mark.parametrize("memory", [0, MUCH], ids=["recomputed", "kept"])


def posed(X, Y, loss="squared", features=None, weight=None, memory=MUCH, **settings):
    """Return the problem and its encoded rows."""
    settings = {"alpha": ALPHA, "rows": len(X), "dtype": np.float64, "left_out": None} | settings
    dtype, left_out = settings.pop("dtype"), settings.pop("left_out")
    source = ArraySource(X, Y, weight)
    features = Centers(60) if features is None else features
    basis = features.build(Gaussian(2.0), source.sample(len(X)), 0, dtype)
    problem = Problem(basis, Loss.resolve(loss), outputs=Y.shape[1], **settings)
    problem = replace(problem, basis=Nystroem().prepare_basis(problem, memory))
    return problem, Encoded(source, problem.basis, module.BATCH_ROWS, memory, left_out)


def solved(problem, encoded, tol=1e-8, **settings):
    stop = Solved() | Passes(1000)
    solution = run(Nystroem(tol), problem, encoded, stop=stop, **settings)
    assert solution.reason.converged
    return solution


def whitened(basis, X):
    """Return the features whose weights have the norm of the kernel."""
    rows = basis.for_prediction.centring(X).astype(float)
    K = basis.for_prediction.kernel(rows, basis.for_prediction.centers.astype(float))
    return solve_triangular(basis.lower, K.T, lower=True).T


def ridge(Z, Y, intercept=True, weight=None, alpha=ALPHA):
    """Return the values of the exact solution at the rows."""
    weight = np.ones(len(Z)) if weight is None else weight
    share = (weight / weight.sum())[:, None]
    z, y = ((share * Z).sum(axis=0), (share * Y).sum(axis=0)) if intercept else (0.0, 0.0)
    A = (Z - z).T @ (share * (Z - z)) + alpha * np.eye(Z.shape[1])
    return (Z - z) @ np.linalg.solve(A, (Z - z).T @ (share * (Y - y))) + y


def labels(y, loss):
    """Return the target as the loss takes it: -1 and +1, or one-hot."""
    one_hot = (y[:, None] == np.unique(y)).astype(float)
    return one_hot if loss == "softmax" else 2 * one_hot[:, 1:] - 1


@pytest.fixture
def outputs(regression):
    """Rows and two outputs of different sizes."""
    X, y = regression
    return X, np.column_stack([y, 1.0 - 5 * X[:, 0] * y])


@either_memory
@pytest.mark.parametrize("intercept", [True, False])
def test_the_end_is_the_kernel_ridge_regression_on_the_centres(outputs, memory, intercept):
    X, Y = outputs
    problem, encoded = posed(X, Y, memory=memory, intercept=intercept)
    f = solved(problem, encoded).expansion(X)
    exact = ridge(whitened(problem.basis, X), Y, intercept)
    np.testing.assert_allclose(f, exact, atol=1e-6)


def test_single_precision_ends_close_to_double(outputs):
    X, Y = outputs
    single, double = (
        solved(*posed(X, Y, dtype=dtype), tol=1e-6).expansion(X)
        for dtype in (np.float32, np.float64)
    )
    assert np.all(np.abs(single - double).max(axis=0) < 0.01 * np.abs(Y).max(axis=0))


def test_weighted_rows_end_at_the_weighted_ridge_regression(outputs):
    X, Y = outputs
    weight = np.random.default_rng(0).uniform(0.0, 3.0, len(X))
    problem, encoded = posed(X, Y, weight=weight)
    exact = ridge(whitened(problem.basis, X), Y, weight=weight)
    np.testing.assert_allclose(solved(problem, encoded).expansion(X), exact, atol=1e-6)


def test_rows_left_out_have_no_say(outputs):
    X, Y = outputs
    weight, out = np.ones(len(X)), np.arange(0, len(X), 4)
    weight[out] = 0.0
    problem, encoded = posed(X, Y, left_out=out)
    left_out = solved(problem, encoded).expansion(X)
    # On the same basis: with weights, it would be centred at another mean.
    weighted = Encoded(ArraySource(X, Y, weight), problem.basis, module.BATCH_ROWS, MUCH)
    without = solved(problem, weighted).expansion(X)
    np.testing.assert_array_equal(left_out, without)


def test_with_all_rows_as_centres_the_end_is_the_exact_machine(outputs):
    X, Y = outputs
    problem, encoded = posed(X, Y, features=Centers())
    source = ArraySource(X, Y)
    plain = Problem(problem.basis.for_prediction, problem.loss, ALPHA, Y.shape[1], rows=len(X))
    exact = run(Direct(), plain, source, stop=Solved()).expansion(X)
    np.testing.assert_allclose(solved(problem, encoded).expansion(X), exact, atol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
def test_centres_that_are_all_rows_know_the_hessian(outputs, intercept):
    solution = solved(*posed(*outputs, features=Centers(), intercept=intercept), tol=1e-6)
    assert solution.training.pass_ <= 4


@pytest.mark.parametrize("intercept", [True, False])
def test_the_logistic_loss_ends_at_the_logistic_regression(two_classes, intercept):
    X, y = two_classes
    problem, encoded = posed(X, labels(y, "logistic"), "logistic", intercept=intercept)
    Z = whitened(problem.basis, X)
    exact = LogisticRegression(
        C=1 / (ALPHA * len(X)), tol=1e-10, max_iter=10_000, fit_intercept=intercept
    ).fit(Z, y)
    f = solved(problem, encoded, 1e-6).expansion(X)[:, 0]
    np.testing.assert_allclose(f, exact.decision_function(Z), atol=1e-3)


@pytest.mark.parametrize("loss", ["softmax", "squared_hinge", "logistic"])
def test_smooth_losses_end_where_the_gradient_is_zero(classes, loss):
    X, y = classes
    targets = labels(y, loss)
    problem, encoded = posed(X, targets, loss)
    expansion = solved(problem, encoded, 1e-6).expansion
    slopes = problem.loss.gradient(targets, expansion(X)) / len(X)
    gradient = whitened(problem.basis, X).T @ slopes + ALPHA * expansion.weights
    assert np.abs(gradient).max() < 1e-6
    assert np.abs(slopes.sum(axis=0)).max() < 1e-6


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_memory_decides_nothing_but_what_is_kept(classes, loss):
    X, y = classes
    problem, encoded = posed(X, labels(y, "softmax"), loss, dtype=np.float32)
    recomputed = posed(X, labels(y, "softmax"), loss, dtype=np.float32, memory=0)
    assert isinstance(problem.basis.inner, TabulatedBasis)
    assert isinstance(recomputed[0].basis.inner, CenterBasis)
    one, two = solved(problem, encoded, 1e-3), solved(*recomputed, 1e-3)
    assert np.array_equal(one.expansion.weights, two.expansion.weights)
    assert one.training.state.pass_losses == two.training.state.pass_losses
    assert np.array_equal(one.expansion.simplified()(X), two.expansion.simplified()(X))


@pytest.mark.parametrize("features", [Fourier(1200), Centers(1100)], ids=["fourier", "centers"])
def test_kept_columns_give_the_same_bits(features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 3))
    basis = features.build(Gaussian(1.0), ArraySource(X).sample(1300), 0)
    kept = with_kept_columns(basis, 1300, MUCH)
    assert kept.for_prediction is basis
    assert with_kept_columns(basis, 1300, 1300 * basis.size * 4 - 1) is basis
    codes = basis.encode(X), kept.encode(X)
    for outputs in (1, 3):
        w, G = rng.normal(size=(basis.size, outputs)), rng.normal(size=(1300, outputs))
        assert np.array_equal(basis.evaluate(codes[0], w), kept.evaluate(codes[1], w))
        assert np.array_equal(basis.project(codes[0], G), kept.project(codes[1], G))
    squares = np.zeros((2, basis.size))
    basis.squares(codes[0], None, squares[0])
    kept.squares(codes[1], None, squares[1])
    assert np.array_equal(*squares)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_number_of_threads_does_not_change_a_bit(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3))
    Y = np.where(X[:, :2] + rng.normal(size=(len(X), 2)) > 0, 1.0, -1.0)
    weights = []
    for n_jobs in (1, 2, 3):
        with threads(n_jobs):
            posed_now = posed(X, Y, loss, Centers(700), dtype=np.float32)
            weights.append(run(Nystroem(), *posed_now, stop=Passes(5)).expansion.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_an_interrupted_fit_goes_on_bit_for_bit(two_classes, loss, monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 128)
    X, y = two_classes
    problem, encoded = posed(X, labels(y, "logistic"), loss, dtype=np.float32)
    whole = solved(problem, encoded, 1e-3)
    for rows in range(100, whole.training.rows, 777):
        part = run(Nystroem(1e-3), problem, encoded, stop=RowLimit(rows))
        training = pickle.loads(pickle.dumps(part.training))
        resumed = solved(problem, encoded, 1e-3, training=training)
        assert np.array_equal(resumed.expansion.weights, whole.expansion.weights)
        assert resumed.training.state.pass_losses == whole.training.state.pass_losses
        assert resumed.training.rows == whole.training.rows


def test_going_on_with_more_rows_begins_at_the_weights_so_far(outputs):
    X, Y = outputs
    problem, encoded = posed(X[:300], Y[:300])
    before = solved(problem, encoded)
    more = Encoded(ArraySource(X, Y), problem.basis, module.BATCH_ROWS)
    larger = Problem(problem.basis, problem.loss, ALPHA, outputs=2, rows=len(X))
    plain = Problem(problem.basis.for_prediction, problem.loss, ALPHA, outputs=2, rows=len(X))
    forgotten = Nystroem().on_new_rows(plain, before.training.state)
    state = Nystroem().on_new_rows(larger, forgotten)
    start = Nystroem().expansion(larger, state)(X)
    np.testing.assert_allclose(start, before.expansion(X), atol=1e-6)
    went_on = solved(larger, more, training=Training(state, module.BATCH_ROWS))
    np.testing.assert_allclose(went_on.expansion(X), solved(larger, more).expansion(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("alpha", [0.0, ALPHA])
def test_repeated_rows_without_regularisation_are_fine(two_classes, loss, alpha):
    X, y = two_classes
    X, Y = np.repeat(X[:100], 3, axis=0), np.repeat(labels(y, loss)[:100], 3, axis=0)
    problem, encoded = posed(X, Y, loss, Centers(), alpha=alpha, dtype=np.float32)
    solution = run(Nystroem(), problem, encoded, stop=Solved() | Passes(30))
    for expansion in (solution.expansion, solution.expansion.simplified()):
        assert np.mean(np.sign(expansion(X)) == Y) > 0.9
        assert np.isfinite(expansion.weights).all()


def test_the_factor_of_a_wide_kernel_with_a_tiny_ridge_needs_no_jitter():
    rows = np.random.default_rng(0).normal(size=(800, 3))
    basis = Centers(400).build(Gaussian(10.0), ArraySource(rows).sample(800), seed=0)
    moments = WhitenedBasis(basis, 1e-12)._moments(1.0, 1e-9, intercept=True)
    assert moments.dtype == np.float32
    assert jittered_cholesky(moments, 0.0)[1] == 0.0


def test_the_norm_of_the_weights_is_that_of_the_kernel(outputs):
    X, Y = outputs
    basis = posed(X, Y)[0].basis
    w = np.random.default_rng(0).normal(size=(basis.size, 2))
    c, K = basis.prediction_weights(w), basis.for_prediction.kernel(basis.for_prediction.centers)
    np.testing.assert_allclose(np.einsum("ik,ij,jk->k", c, K, c), (w * w).sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(basis.embed_weights(c, basis.for_prediction), w, atol=1e-6)
    assert basis.embed_weights(w, pickle.loads(pickle.dumps(basis))) is w


def test_products_of_the_whitened_basis_are_those_of_its_columns(outputs):
    X, Y = outputs
    basis = posed(X, Y)[0].basis
    Z, code = whitened(basis, X), basis.encode(X)
    weight, w = np.linspace(0, 1, len(X)), np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(basis.evaluate(code, w, 7), Z[:, 7:27] @ w, atol=1e-8)
    np.testing.assert_allclose(basis.project(code, Y, 5, 31), Z[:, 5:31].T @ Y, atol=1e-6)
    squares = np.ones(basis.size)
    basis.squares(code, weight, squares)
    np.testing.assert_allclose(squares, 1 + weight @ Z**2, atol=1e-6)


def test_estimators_end_with_the_plain_basis_and_say_that_they_converged(regression):
    X, y = regression
    model = KernelRegressor(features=Centers(100), solver="nystroem", random_state=0).fit(X, y)
    assert type(model.expansion_.basis) is CenterBasis
    assert type(model._setup.basis) is CenterBasis
    assert "minimum" in model.stopped_because_
    assert model.score(X, y) > 0.9
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    tabulated = KernelRegressor(features=Fourier(64), solver="cg", random_state=0).fit(X, y)
    assert not isinstance(tabulated.expansion_.basis, TabulatedBasis)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_a_model_that_was_stopped_and_saved_goes_on_bit_for_bit(classes, loss):
    X, y = classes
    model = KernelClassifier(
        features=Centers(80), solver="nystroem", loss=loss, random_state=0, warm_start=True
    )
    whole = model.set_params(max_passes=9).fit(X, y)._training.state.weights
    part = KernelClassifier(**model.get_params(deep=False)).set_params(max_passes=4).fit(X, y)
    resumed = pickle.loads(pickle.dumps(part)).set_params(max_passes=9).fit(X, y)
    assert np.array_equal(resumed._training.state.weights, whole)


def test_a_second_fit_on_other_rows_keeps_the_centres(regression):
    X, y = regression
    model = KernelRegressor(
        features=Centers(100), solver="nystroem", random_state=0, warm_start=True
    ).fit(X[:300], y[:300])
    centers = model.expansion_.basis.centers
    assert model.fit(X, y).score(X, y) > 0.9
    assert np.array_equal(model.expansion_.basis.centers, centers)


def test_what_cannot_be_solved_is_refused_with_a_sentence():
    source = ArraySource(np.zeros((4, 1)), np.ones((4, 1)))
    waves = Fourier(64).build(Gaussian(1.0), source.sample(4), seed=0)
    centers = Centers(2).build(Gaussian(1.0), source.sample(4), seed=0)
    squared, hinge = Loss.resolve("squared"), Loss.resolve("hinge")
    encoded = Encoded(source, centers, module.BATCH_ROWS)
    for solver, basis, loss, rows, match in [
        (Nystroem(), waves, squared, source, "needs a CenterBasis; got FourierBasis"),
        (Nystroem(), centers, hinge, source, "needs a Smooth; got Hinge"),
        (Nystroem(tol=0), centers, squared, source, "tol must be a positive number; got 0"),
        (Nystroem(), centers, squared, encoded, "needs codes of a WhitenedBasis"),
    ]:
        with pytest.raises(ValueError, match=match):
            run(solver, Problem(basis, loss, ALPHA, outputs=1), rows, stop=Passes(1))


def test_a_whitened_basis_is_copied_without_what_can_be_computed_again(outputs):
    basis = posed(*outputs)[0].basis
    lower = basis.lower
    assert len(pickle.dumps(basis)) < lower.nbytes
    assert np.array_equal(pickle.loads(pickle.dumps(basis)).lower, lower)
    basis.clear_cache()
    assert isinstance(basis, WhitenedBasis)
    assert np.array_equal(basis.lower, lower)
