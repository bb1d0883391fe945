"""The dual of a nonsmooth loss is solved: support vector machines and regression quantiles."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from bochner import KernelClassifier, KernelRegressor
from bochner.kernels import DotProduct, Gaussian, Precomputed
from bochner.losses import EpsilonInsensitive, Hinge, Huber, Quantile, SquaredHinge
from bochner.solvers import SMO

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=700)
LABEL = Y > 0
GAUSSIAN = Gaussian(1.0)
EXACT = {"features": "centers", "solver": SMO(tol=1e-7), "random_state": 0}


def strength(alpha, weight=None):
    """Return the C of scikit-learn."""
    return 1 / (alpha * (len(X) if weight is None else np.sum(weight)))


@pytest.mark.parametrize("alpha", [1e-5, 1e-3, 0.1])
def test_the_hinge_loss_is_the_support_vector_machine(alpha):
    theirs = SVC(gamma=0.5, C=strength(alpha), tol=1e-8).fit(X, LABEL)
    ours = KernelClassifier(GAUSSIAN, "hinge", alpha=alpha, **EXACT).fit(X, LABEL)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=2e-3
    )
    assert np.count_nonzero(ours.dual_coef_) == pytest.approx(len(theirs.support_), abs=5)


def test_the_coefficients_are_those_of_scikit_learn():
    theirs = SVC(gamma=0.5, C=strength(0.01), tol=1e-9).fit(X, LABEL)
    ours = KernelClassifier(GAUSSIAN, "hinge", alpha=0.01, **EXACT).fit(X, LABEL)
    expected = np.zeros((1, len(X)))
    expected[:, theirs.support_] = theirs.dual_coef_
    np.testing.assert_allclose(ours.dual_coef_, expected, rtol=0, atol=5e-3)


def test_weights_of_rows_scale_the_bounds():
    weight = RNG.exponential(size=len(X))
    theirs = SVC(gamma=0.5, C=strength(1e-3, weight), tol=1e-8).fit(X, LABEL, weight)
    ours = KernelClassifier(GAUSSIAN, "hinge", alpha=1e-3, **EXACT).fit(X, LABEL, weight)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=2e-3
    )


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_the_epsilon_insensitive_loss_is_support_vector_regression(epsilon, alpha):
    theirs = SVR(gamma=0.5, C=strength(alpha), epsilon=epsilon, tol=1e-8).fit(X, Y)
    ours = KernelRegressor(GAUSSIAN, EpsilonInsensitive(epsilon), alpha=alpha, **EXACT).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=2e-3)


@pytest.mark.parametrize("loss", [Huber(0.2), Quantile(0.8), Quantile(0.3, width=0.1)], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_losses_of_residuals_reach_the_minimum_of_a_general_method(loss, fit_intercept):
    few, target, alpha = X[:60], Y[:60, None], 0.01
    K = rbf_kernel(few, gamma=0.5)
    smooth = loss if not isinstance(loss, Quantile) or loss.width != "auto" else None
    settings = {"alpha": alpha, "fit_intercept": fit_intercept, **EXACT}
    model = KernelRegressor(GAUSSIAN, loss, **settings).fit(few, target[:, 0])
    b, c = model.dual_coef_[0], float(np.ravel(model.intercept_)[0])

    def objective(v):
        f = K @ v[:-1] + v[-1] * fit_intercept
        if smooth is None:
            r = target[:, 0] - f
            mean = np.maximum(0.8 * r, -0.2 * r).mean()
        else:
            mean = smooth.value(target, f[:, None]).mean()
        return mean + alpha / 2 * v[:-1] @ K @ v[:-1]

    reached = objective(np.append(b, c))
    better = minimize(objective, np.append(b, c), method="Powell", options={"maxiter": 5})
    assert reached <= better.fun + 1e-4 * reached


def test_six_rows_are_separated():
    rows = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], float)
    label = [1, 1, 1, 2, 2, 2]
    model = KernelClassifier(DotProduct(), "hinge", random_state=0).fit(rows, label)
    np.testing.assert_array_equal(model.predict(rows), label)
    assert np.abs(model.decision_function(rows)).min() > 0.1


def test_irises_are_told_apart_by_lines():
    rows, label = load_iris(return_X_y=True)
    model = KernelClassifier("dot_product", "hinge", alpha=1e-3, random_state=0).fit(rows, label)
    assert model.score(rows, label) > 0.94


def test_a_precomputed_kernel_is_taken():
    K = rbf_kernel(X, gamma=0.5)
    settings = {"alpha": 1e-3, **EXACT}
    given = KernelClassifier(Precomputed(), "hinge", **settings).fit(K, LABEL)
    computed = KernelClassifier(GAUSSIAN, "hinge", **settings).fit(X, LABEL)
    np.testing.assert_allclose(
        given.decision_function(K), computed.decision_function(X), rtol=0, atol=2e-3
    )


def test_a_fit_that_is_cut_off_says_how_far_it_is():
    model = KernelClassifier(GAUSSIAN, "hinge", alpha=1e-6, max_passes=2, **EXACT)
    with pytest.warns(ConvergenceWarning, match="optimality residual is 0"):
        model.fit(X, LABEL)


def test_the_duality_gap_bounds_the_distance_to_the_minimum():
    rough = KernelRegressor(GAUSSIAN, "absolute", alpha=1e-3, **EXACT | {"solver": SMO(tol=0.05)})
    exact = KernelRegressor(GAUSSIAN, "absolute", alpha=1e-3, **EXACT)
    K = rbf_kernel(X, gamma=0.5)

    def objective(model):
        b = model.dual_coef_[0]
        residual = Y - K @ b - model.intercept_
        return np.abs(residual).mean() + 1e-3 / 2 * b @ K @ b

    best, reached = objective(exact.fit(X, Y)), objective(rough.fit(X, Y))
    assert best <= reached <= best / (1 - 0.05) * (1 + 1e-5)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=str)
def test_a_small_memory_budget_changes_no_bit(loss):
    settings = {"alpha": 1e-4, **EXACT | {"solver": SMO()}}
    plenty = KernelClassifier(GAUSSIAN, loss, **settings).fit(X, LABEL)
    little = KernelClassifier(GAUSSIAN, loss, memory_budget=2**20, **settings).fit(X, LABEL)
    np.testing.assert_array_equal(plenty.dual_coef_, little.dual_coef_)
