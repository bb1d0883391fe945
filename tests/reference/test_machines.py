"""Fits that are given enough passes end where exact solvers of the same problem end."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from bochner import KernelClassifier, KernelRegressor, RandomFourier
from bochner.features import Fourier
from bochner.losses import Loss
from bochner.solvers import DoublyStochastic, Plain, Preconditioned

ALPHA, SIZE = 1e-2, 128
# One block of all features on all rows, with the longest safe step: plain gradient descent.
PLAIN = DoublyStochastic(Plain(theta=1e6), feature_block=SIZE)
LONG = {
    "features": Fourier(SIZE),
    "alpha": ALPHA,
    "solver": PLAIN,
    "early_stopping": False,
    "tol": 0.0,
    "max_passes": 1_000,
    "random_state": 0,
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def columns(X, size=SIZE):
    return RandomFourier(size=size, random_state=0).fit_transform(X)


def objective(loss, y, f, weights):
    """Return mean loss + alpha/2 |w|^2."""
    return Loss.resolve(loss).value(y, f).mean() + ALPHA / 2 * np.sum(weights**2)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_squared_loss_ends_at_the_ridge_regression_on_the_same_features(regression, intercept):
    X, y = regression
    exact = Ridge(ALPHA * len(X), fit_intercept=intercept).fit(columns(X), y)
    model = KernelRegressor(**LONG, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(columns(X)), atol=5e-3)
    np.testing.assert_allclose(
        model.weights_[0], exact.coef_, atol=5e-3 * np.abs(exact.coef_).max()
    )
    assert model.intercept_[0] == pytest.approx(exact.intercept_, abs=5e-3)


def test_weighted_rows_end_at_the_weighted_ridge_regression(regression):
    X, y = regression
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    exact = Ridge(ALPHA * weight.sum()).fit(columns(X), y, weight)
    model = KernelRegressor(**LONG).fit(X, y, weight)
    np.testing.assert_allclose(model.predict(X), exact.predict(columns(X)), atol=5e-3)


def test_small_random_blocks_come_near_the_ridge_regression(regression):
    X, y = regression
    exact = Ridge(ALPHA * len(X)).fit(columns(X), y)
    solver = DoublyStochastic(Plain(theta=50.0), batch_size=100, feature_block=32)
    model = KernelRegressor(**LONG | {"solver": solver}).fit(X, y)
    best = objective("squared", y[:, None], exact.predict(columns(X))[:, None], exact.coef_)
    reached = objective("squared", y[:, None], model.predict(X)[:, None], model.weights_)
    assert best <= reached < 1.05 * best


def test_many_features_come_near_kernel_ridge_regression(regression):
    X, y = regression
    size = 1_024
    solver = DoublyStochastic(Plain(theta=1e6), feature_block=size)
    settings = LONG | {"features": Fourier(size), "solver": solver, "max_passes": 300}
    model = KernelRegressor(**settings, fit_intercept=False).fit(X, y)
    gamma = 0.5 / model.kernel_.bandwidth**2
    exact = KernelRidge(alpha=ALPHA * len(X), kernel="rbf", gamma=gamma).fit(X, y)
    error = np.mean((model.predict(X) - exact.predict(X)) ** 2)
    assert error < 3e-3 * np.var(y)


def test_the_logistic_loss_ends_at_the_logistic_regression(two_classes):
    X, y = two_classes
    Z, signs = columns(X), np.where(y == "beech", 1.0, -1.0)[:, None]
    exact = LogisticRegression(C=1 / (ALPHA * len(X)), tol=1e-8, max_iter=5_000).fit(Z, y)
    best = objective("logistic", signs, exact.decision_function(Z)[:, None], exact.coef_)
    model = KernelClassifier(**LONG, loss="logistic").fit(X, y)
    reached = objective("logistic", signs, model.decision_function(X)[:, None], model.weights_)
    assert reached == pytest.approx(best, rel=1e-3)


def test_the_softmax_loss_ends_at_the_multinomial_regression(classes):
    X, y = classes
    Z, one_hot = columns(X), (y[:, None] == np.unique(y)).astype(float)
    exact = LogisticRegression(C=1 / (ALPHA * len(X)), tol=1e-8, max_iter=5_000).fit(Z, y)
    best = objective("softmax", one_hot, exact.decision_function(Z), exact.coef_)
    model = KernelClassifier(**LONG, loss="softmax").fit(X, y)
    reached = objective("softmax", one_hot, model.decision_function(X), model.weights_)
    assert reached == pytest.approx(best, rel=1e-3)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(Z), atol=0.01)


def test_the_hinge_loss_comes_near_the_linear_support_vector_machine(two_classes):
    X, y = two_classes
    Z, signs = columns(X), np.where(y == "beech", 1.0, -1.0)[:, None]
    # A large scale of the intercept's column makes its penalty vanish.
    svm = LinearSVC(
        C=1 / (ALPHA * len(X)),
        loss="hinge",
        intercept_scaling=100,
        max_iter=500_000,
        random_state=0,
    ).fit(Z, y)
    best = objective("hinge", signs, svm.decision_function(Z)[:, None], svm.coef_)
    model = KernelClassifier(**LONG, loss="hinge").fit(X, y)
    reached = objective("hinge", signs, model.decision_function(X)[:, None], model.weights_)
    assert reached < 1.02 * best


@pytest.mark.parametrize("solver", ["dsg", "udsg", "cdsg"])
def test_preconditioned_steps_predict_as_well_as_kernel_ridge_regression(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 2))
    truth = np.sin(2 * X[:, 0]) + X[:, 1]
    y = truth + 0.1 * rng.normal(size=len(X))
    model = KernelRegressor(solver=solver, random_state=0).fit(X[:600], y[:600])
    gamma = 0.5 / model.kernel_.bandwidth**2
    exact = KernelRidge(alpha=1e-2, kernel="rbf", gamma=gamma).fit(X[:600], y[:600])
    mine, theirs = (np.mean((f.predict(X[600:]) - truth[600:]) ** 2) for f in (model, exact))
    assert mine < max(4 * theirs, 4e-3), (mine, theirs)


# Newton steps that hold nothing back, on one block of all features.
NEWTON = DoublyStochastic(Preconditioned(caution=0.0), feature_block=SIZE, averaging=None)


def test_a_whole_newton_step_is_the_ridge_regression(regression):
    X, y = regression
    exact = Ridge(ALPHA * len(X)).fit(columns(X), y)
    model = KernelRegressor(**LONG | {"solver": NEWTON, "max_passes": 2}).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(columns(X)), atol=1e-3)


def test_newton_steps_on_several_blocks_come_near_the_ridge_regression(regression):
    X, y = regression
    exact = Ridge(ALPHA * len(X)).fit(columns(X), y)
    solver = DoublyStochastic(Preconditioned(caution=0.0), feature_block=SIZE // 2)
    model = KernelRegressor(**LONG | {"solver": solver, "max_passes": 100}).fit(X, y)
    best = objective("squared", y[:, None], exact.predict(columns(X))[:, None], exact.coef_)
    reached = objective("squared", y[:, None], model.predict(X)[:, None], model.weights_)
    assert best <= reached < 1.01 * best


def test_newton_steps_end_at_the_multinomial_regression(classes):
    X, y = classes
    exact = LogisticRegression(C=1 / (ALPHA * len(X)), tol=1e-8, max_iter=5_000)
    exact.fit(columns(X), y)
    model = KernelClassifier(**LONG | {"solver": NEWTON, "max_passes": 100}, loss="softmax")
    model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(columns(X)), atol=0.01)
