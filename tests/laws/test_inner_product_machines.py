"""Kernel machines with kernels of inner products, exact and with random features."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from bochner import KernelClassifier, KernelRegressor, TensorSketch
from bochner.features import Maclaurin, Sketch
from bochner.kernels import ArcCosine, DotProduct, Exponential, Polynomial, Zonal

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MAPS = {
    "tensor_sketch": Polynomial(3),
    "maclaurin": DotProduct([1.0, 0.5, 0.25, 0.125]),
    "rectified": ArcCosine(2),
    "harmonics": Zonal([0.1, 0.3, 0.3, 0.3]),
    "exponential_fourier": Exponential(),
}
every_map = pytest.mark.parametrize(("name", "kernel"), MAPS.items(), ids=MAPS.keys())


@pytest.fixture
def surface():
    """Points of the sphere and values of a smooth function there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 1]


@every_map
def test_the_exact_machine_learns_what_the_kernel_spans(surface, name, kernel):
    X, y = surface
    model = KernelRegressor(kernel, random_state=0).fit(X[:800], y[:800])
    assert model.plan_.solver == "direct"
    assert model.score(X[800:], y[800:]) > 0.99


def test_more_rows_are_all_centres():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_500, 4))
    y = (X[:, 0] - X[:, 1]) ** 2 + X[:, 2]
    model = KernelRegressor("polynomial", random_state=0).fit(X[:3_200], y[:3_200])
    assert (model.plan_.features, model.plan_.solver) == ("centers", "eigenpro")
    assert model.score(X[3_200:], y[3_200:]) > 0.99


@every_map
@pytest.mark.parametrize("solver", ["auto", "dsg", "udsg", "cdsg"])
def test_endless_random_features_learn_it_too(surface, name, kernel, solver):
    X, y = surface
    model = KernelRegressor(kernel, features=name, solver=solver, random_state=0)
    assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.95


@every_map
def test_the_doubly_stochastic_solver_takes_the_features_of_the_kernel(surface, name, kernel):
    X, y = surface
    plan = KernelRegressor(kernel, solver="dsg").plan(X, y)
    assert plan.features == name
    blocks = ((X[i : i + 300], y[i : i + 300]) for i in range(0, 1500, 300))
    assert KernelRegressor(kernel).plan(blocks).features == name


@every_map
def test_classes_are_told_apart(surface, name, kernel):
    X, y = surface
    labels = np.where(y > np.median(y), "high", "low")
    for features in ("auto", name):
        model = KernelClassifier(kernel, features=features, random_state=0)
        assert model.fit(X[:1200], labels[:1200]).score(X[1200:], labels[1200:]) > 0.9


def test_a_nonsmooth_loss_takes_kernels_with_random_features(surface):
    X, y = surface
    labels = y > np.median(y)
    model = KernelClassifier(Polynomial(3), loss="hinge", max_seconds=60, random_state=0)
    assert model.plan(np.tile(X, (40, 1)), np.tile(labels, 40)).features == "tensor_sketch"
    model.set_params(solver="dsg").fit(X, labels)
    assert model.plan_.features == "tensor_sketch"
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("features", [Sketch(500), Maclaurin(500)], ids=repr)
@pytest.mark.parametrize("solver", ["cg", "newton"])
def test_finite_features_suit_solvers_of_whole_passes(surface, features, solver):
    X, y = surface
    model = KernelRegressor(
        Polynomial(2), features=features, solver=solver, alpha=1e-6, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.99


def test_a_polynomial_machine_is_kernel_ridge_regression(surface):
    X, y = surface[0][:300], surface[1][:300]
    y = y - y.mean()
    ours = KernelRegressor(
        Polynomial(2, 1.0, 0.5), solver="direct", alpha=1e-4, fit_intercept=False
    ).fit(X, y)
    theirs = KernelRidge(kernel="poly", degree=2, gamma=0.5, coef0=1.0, alpha=300 * 1e-4).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_a_linear_model_on_a_sketch_is_close_to_it(surface):
    X, y = surface
    model = make_pipeline(TensorSketch(Polynomial(2), 400, random_state=0), Ridge(1e-6))
    assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.999
