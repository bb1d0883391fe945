"""EigenPro in its three spaces against closed forms, and what its preconditioner promises."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelClassifier, KernelRegressor
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, shuffled
from bochner.features import Centers, Fourier
from bochner.kernels import Gaussian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import EigenPro, Solver
from bochner.solvers.eigenpro.preconditioner import Flattening, Pace, of_centers, of_features
from bochner.stopping import Passes
from bochner.training.loop import run

N_ROWS = 300


def rows(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    y = np.sin(2 * X[:, :1]) + X[:, 1:] ** 2 + 0.1 * rng.normal(size=(n_rows, 1)) + 3
    return X, np.hstack([y, -2 * y + 1])


def solved(features, solver, alpha, passes, loss="squared", y=None, weight=None, intercept=True):
    X, targets = rows()
    y = targets if y is None else y
    source = ArraySource(X, y, weight)
    basis = features.build(Gaussian(1.0), source.sample(N_ROWS), 0, np.float64)
    problem = Problem(basis, Loss.resolve(loss), alpha, y.shape[1], intercept, N_ROWS)
    return run(solver, problem, shuffled(source), stop=Passes(passes)).expansion


def ridge(Phi, y, penalty, weight=None):
    """Return f at the rows of the minimum of the weighted mean loss plus w'(penalty)w / 2."""
    weight = np.ones(len(y)) if weight is None else weight
    A = np.hstack([Phi, np.ones((len(Phi), 1))])
    H = (A * weight[:, None]).T @ A / weight.sum()
    H[:-1, :-1] += penalty
    return A @ np.linalg.lstsq(H, (A * weight[:, None]).T @ y / weight.sum(), rcond=None)[0]


@pytest.mark.parametrize("momentum", [False, True])
def test_with_all_rows_as_centres_it_converges_to_kernel_ridge_regression(momentum):
    X, y = rows()
    solver = EigenPro(eigenvectors=20, batch_size=20, momentum=momentum)
    f = solved(Centers(), solver, 1e-2, 150)(X)
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(f, ridge(K, y, 1e-2 * K), atol=2e-3)


def test_on_random_features_it_converges_to_ridge_regression():
    X, y = rows()
    solver = EigenPro(eigenvectors=10, batch_size=20)
    expansion = solved(Fourier(64), solver, 1e-2, 300)
    Phi = expansion.basis.columns(expansion.basis.encode(X))
    np.testing.assert_allclose(expansion(X), ridge(Phi, y, 1e-2 * np.eye(64)), atol=0.08)


def test_with_fewer_centres_it_converges_to_the_best_function_in_their_span():
    X, y = rows()
    solver = EigenPro(eigenvectors=8, batch_size=10, step=0.3)
    expansion = solved(Centers(30), solver, 1e-2, 200)
    Phi = expansion.basis.columns(expansion.basis.encode(X))
    K = expansion.basis.columns(expansion.basis.centers)
    np.testing.assert_allclose(expansion(X), ridge(Phi, y, 1e-2 * K), atol=0.05)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_smooth_losses_reach_their_minimum(loss):
    X, y = rows()
    large = y[:, :1] > 3.5
    y = np.hstack([large, ~large]).astype(float) if loss == "softmax" else 2.0 * large - 1
    expansion = solved(Centers(), EigenPro(eigenvectors=20, batch_size=20), 1e-2, 300, loss, y)
    K, outputs = Gaussian(1.0)(X), y.shape[1]
    component = Loss.resolve(loss)

    def objective(w):
        w = w.reshape(-1, outputs)
        f = K @ w[:-1] + w[-1]
        slopes = component.gradient(y, f) / len(y)
        gradient = np.vstack([K @ (slopes + 1e-2 * w[:-1]), slopes.sum(axis=0)])
        value = component.value(y, f).mean() + 0.5e-2 * np.sum(w[:-1] * (K @ w[:-1]))
        return value, gradient.ravel()

    start = np.zeros((N_ROWS + 1) * outputs)
    limits = {"maxiter": 20_000, "maxfun": 20_000, "gtol": 1e-8, "ftol": 1e-13}
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options=limits).fun
    f = expansion(X)
    weights = expansion.weights[np.argsort(expansion.basis.index)]
    penalty = 0.5e-2 * np.sum(weights * (K @ weights))
    assert component.value(y, f).mean() + penalty < best * (1 + 1e-3)


def test_weights_are_repetitions():
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, N_ROWS).astype(float)
    solver = EigenPro(eigenvectors=20, batch_size=20)
    f = solved(Centers(), solver, 1e-2, 250, y=y, weight=weight)(X)
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(f, ridge(K, y, 1e-2 * K, weight), atol=5e-3)


@pytest.mark.parametrize("count", [1, 5, 30])
def test_the_preconditioned_operator_has_the_promised_top_eigenvalue(count):
    X, _ = rows()
    source = ArraySource(X)
    basis = Centers().build(Gaussian(1.0), source.sample(N_ROWS), 0, np.float64)
    found = of_centers(basis, source.sample(N_ROWS), N_ROWS, count, Random(0))
    flat = Flattening.of(found.values, count, 1.0)
    K = basis.columns(basis.centers)
    factors = flat.shrink / (N_ROWS * found.values[:count])
    V = found.vectors[:, :count]
    operator = (K - K @ (V * factors) @ (V.T @ K)) / N_ROWS
    assert np.linalg.eigvalsh(operator)[-1] == pytest.approx(flat.top, rel=1e-6)
    assert flat.top < found.values[0] or count == 0


def test_the_preconditioned_covariance_of_features_has_the_promised_top_eigenvalue():
    X, _ = rows()
    source = ArraySource(X)
    basis = Fourier(128).build(Gaussian(1.0), source.sample(N_ROWS), 0, np.float64)
    found = of_features(basis, source.sample(N_ROWS), N_ROWS, 12, Random(0))
    flat = Flattening.of(found.values, 12, 1.0)
    Phi, E = basis.columns(basis.encode(X)), found.vectors[:, :12]
    P = np.eye(128) - (E * flat.shrink) @ E.T
    top = np.max(np.linalg.eigvals(P @ Phi.T @ Phi / N_ROWS).real)
    assert top == pytest.approx(flat.top, rel=1e-6)


def test_momentum_brings_the_fit_further_in_as_many_passes():
    X, y = rows()
    exact = ridge(K := Gaussian(1.0)(X), y, 1e-5 * K)
    plain, fast = (
        solved(Centers(), EigenPro(5, batch_size=20, momentum=momentum), 1e-5, 40)(X)
        for momentum in (False, True)
    )
    assert np.linalg.norm(fast - exact) < 0.7 * np.linalg.norm(plain - exact)


def test_the_accelerated_step_is_one_over_the_smoothness_of_a_batch():
    # L = beta / m + (1 - 1 / m) top, and a row moves the function by step / m.
    pace = Pace.accelerated(beta=1.0, top=0.1, batch=10, rows=1_000)
    assert pace.rate == pytest.approx(1 / (0.1 + 0.9 * 0.1) / 10)
    assert 0 < pace.momentum.correction < 1
    assert pace.momentum.share == pytest.approx((s := np.sqrt(1_900 * 100.9)) and (s - 1) / (s + 1))


def test_more_eigenvectors_bring_the_fit_further_in_as_many_passes():
    X, _ = rows()
    y = np.sin(5 * X[:, :1])
    errors = [
        np.mean((solved(Centers(), EigenPro(count, batch_size=30), 0.0, 20, y=y)(X) - y) ** 2)
        for count in (0, 30, 100)
    ]
    assert errors[0] > 4 * errors[1] > 400 * errors[2]


def test_the_plain_gradient_is_eigenpro_without_eigenvectors():
    assert Solver.resolve("pegasos") == EigenPro(eigenvectors=0)


def fitted(memory="100MB", n_jobs=None, **parameters):
    X, y = rows(n_rows=1500)
    parameters = {"features": "centers", "solver": "eigenpro", "max_passes": 4} | parameters
    model = KernelRegressor(
        Gaussian(1.0), memory_budget=memory, n_jobs=n_jobs, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # four passes are few
        return model.fit(X, y[:, 0])


@pytest.mark.parametrize("features", [Centers(), Centers(200), Fourier(256)], ids=str)
def test_neither_memory_nor_threads_change_the_result(features):
    settings = {"features": features, "solver": EigenPro(subsample=200)}
    reference = fitted(**settings).weights_
    for memory, n_jobs in ((0, None), ("100MB", 1)):
        np.testing.assert_array_equal(reference, fitted(memory, n_jobs, **settings).weights_)


def test_held_out_rows_are_learned_at_last():
    model = fitted(max_passes=None, early_stopping=True)
    assert np.count_nonzero(model.weights_) == 1500
    assert "held-out" in model.stopped_because_


def test_the_model_is_the_best_one_on_held_out_rows():
    X, y = rows(n_rows=1500)
    noise = np.random.default_rng(2).normal(size=(1500, 2))
    model = KernelRegressor(
        Gaussian(0.05), features="centers", solver="eigenpro", early_stopping=True, random_state=0
    )
    model.fit(X, (y + 2 * noise)[:, 0])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", ["eigenvectors", "subsample", "batch_size"])
@pytest.mark.parametrize("value", [-1, 2.5, "many", True])
def test_counts_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        fitted(solver=EigenPro(**{name: value}))


@pytest.mark.parametrize("value", [0.0, 1.5, "none", None])
def test_a_damping_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="damping"):
        fitted(solver=EigenPro(damping=value))


def test_an_endless_basis_is_refused():
    with pytest.raises(ValueError, match="finite number of features"):
        fitted(features="fourier")


def test_momentum_with_temporary_centres_is_refused():
    with pytest.raises(ValueError, match="Momentum"):
        fitted(features=Centers(100), solver=EigenPro(momentum=True))


def test_a_nonsmooth_loss_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="Smooth"):
        KernelClassifier(features="centers", solver="eigenpro", loss="hinge").fit(X, y[:, 0] > 3)


def test_a_heavy_row_does_not_make_the_steps_too_long():
    X, y = rows(n_rows=4200)
    weight = np.ones(4200)
    weight[17] = 3000.0
    model = KernelRegressor(Gaussian(1.0), solver="eigenpro", max_passes=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X, y[:, 0], weight).score(X, y[:, 0]) > 0.5


def test_looking_at_a_function_does_not_change_it():
    watched = fitted(features=Centers(300), callbacks=[lambda progress: progress.expansion()])
    np.testing.assert_array_equal(watched.weights_, fitted(features=Centers(300)).weights_)


def test_a_finished_fit_stays_as_it_is():
    X, y = rows(n_rows=1500)
    model = KernelClassifier(
        Gaussian(1.0), solver="eigenpro", early_stopping=True, warm_start=True, random_state=0
    ).fit(X, y[:, 0] > 3.5)
    values, calibration = model.predict_proba(X), model.calibration_
    model.fit(X, y[:, 0] > 3.5)
    assert model.calibration_ == calibration
    np.testing.assert_array_equal(model.predict_proba(X), values)


def test_rows_without_any_kernel_value_are_refused():
    with pytest.raises(ValueError, match="nothing to learn with"):
        KernelRegressor(lambda A, B: A @ B.T, solver="eigenpro").fit(np.zeros((20, 2)), np.ones(20))
