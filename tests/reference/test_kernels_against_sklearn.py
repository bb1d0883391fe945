"""Kernels and losses against scikit-learn and SciPy."""

from math import factorial

import numpy as np
import pytest
from scipy.special import eval_chebyt, eval_gegenbauer, logsumexp, softmax
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.gaussian_process.kernels import RationalQuadratic as SklearnRationalQuadratic
from sklearn.metrics import hinge_loss, log_loss
from sklearn.metrics.pairwise import (
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from bochner.kernels import (
    ArcCosine,
    Cauchy,
    DotProduct,
    EuclideanLaplacian,
    Exponential,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Zonal,
)
from bochner.losses import Hinge, Logistic, Softmax

rng = np.random.default_rng(0)
A, B = rng.normal(size=(50, 7)), rng.normal(size=(40, 7))
B[:10] = A[:10]
bandwidths = pytest.mark.parametrize("bandwidth", [0.3, 1.0, 7.0])


@bandwidths
def test_gaussian_is_the_rbf_kernel(bandwidth):
    for other in (A, B):
        expected = rbf_kernel(A, other, gamma=0.5 / bandwidth**2)
        np.testing.assert_allclose(Gaussian(bandwidth)(A, other), expected, rtol=0, atol=1e-10)


@bandwidths
def test_laplacian_is_the_laplacian_kernel(bandwidth):
    for other in (A, B):
        expected = laplacian_kernel(A, other, gamma=1 / bandwidth)
        np.testing.assert_allclose(Laplacian(bandwidth)(A, other), expected, rtol=0, atol=1e-10)


@bandwidths
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.5, 6.5])
def test_matern_is_the_matern_kernel(bandwidth, nu):
    reference = SklearnMatern(length_scale=bandwidth, nu=nu)
    kernel = Matern(bandwidth, nu=nu)
    np.testing.assert_allclose(kernel(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), rtol=0, atol=1e-10)


@bandwidths
def test_cauchy_is_the_rational_quadratic_kernel_with_alpha_1(bandwidth):
    reference = SklearnRationalQuadratic(length_scale=bandwidth / np.sqrt(2), alpha=1.0)
    np.testing.assert_allclose(Cauchy(bandwidth)(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(Cauchy(bandwidth)(A, B), reference(A, B), rtol=0, atol=1e-10)


@bandwidths
@pytest.mark.parametrize("shape", [0.3, 1.0, 5.0])
def test_rational_quadratic_is_the_rational_quadratic_kernel(bandwidth, shape):
    reference = SklearnRationalQuadratic(length_scale=bandwidth, alpha=shape)
    kernel = RationalQuadratic(bandwidth, shape=shape)
    np.testing.assert_allclose(kernel(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), rtol=0, atol=1e-10)


@bandwidths
def test_the_euclidean_laplacian_is_the_matern_kernel_with_nu_1_2(bandwidth):
    reference = SklearnMatern(length_scale=bandwidth, nu=0.5)
    kernel = EuclideanLaplacian(bandwidth)
    np.testing.assert_allclose(kernel(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), rtol=0, atol=1e-10)


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_polynomial_is_the_polynomial_kernel(degree, constant):
    kernel = Polynomial(degree, constant, scale=0.3)
    expected = polynomial_kernel(A, B, degree=degree, gamma=0.3, coef0=constant)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-10, atol=1e-10)
    terms = np.exp(kernel.log_parts(1.0))
    np.testing.assert_allclose(DotProduct(terms)(A, B), expected, rtol=1e-9, atol=1e-9)


def test_the_dot_product_is_the_linear_kernel_unless_it_is_told_otherwise():
    np.testing.assert_allclose(Kernel.resolve("dot_product")(A, B), linear_kernel(A, B), atol=1e-12)


@bandwidths
def test_exponential_is_the_exponential_of_the_linear_kernel(bandwidth):
    expected = np.exp(linear_kernel(A, B) / (10 * bandwidth) ** 2)
    kernel = Exponential(10 * bandwidth)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    kernel, powers = Exponential(3.0), linear_kernel(A[:5], B[:5])[..., None] ** np.arange(64)
    terms = np.exp(kernel.log_parts(1.0))
    np.testing.assert_allclose(powers @ terms, kernel(A[:5], B[:5]))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_a_layer_of_infinitely_many_neurons(order):
    """2 E h(w'a) h(w'b) in the plane: the length of w and its angle are independent."""
    a, b = A[:4, :2], B[:4, :2]
    angles = (np.arange(200_000) + 0.5) * 2 * np.pi / 200_000
    points = np.stack([np.cos(angles), np.sin(angles)])
    h = [(x @ points > 0) * np.maximum(x @ points, 0) ** order for x in (a, b)]
    expected = 2 * 2**order * factorial(order) * (h[0] @ h[1].T) / 200_000
    np.testing.assert_allclose(ArcCosine(order)(a, b), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [2, 3, 7])
def test_zonal_kernels_are_sums_of_gegenbauer_polynomials(columns):
    left, right = A[:, :columns], B[:, :columns]
    t = np.clip(cosine_similarity(left, right), -1, 1)
    coefficients = [0.1, 0.0, 0.5, 0.2, 0.0, 0.3]
    if columns == 2:
        polynomials = [eval_chebyt(degree, t) for degree in range(6)]
    else:
        half = columns / 2 - 1
        polynomials = [
            eval_gegenbauer(degree, half, t) / eval_gegenbauer(degree, half, 1.0)
            for degree in range(6)
        ]
    expected = sum(c * P for c, P in zip(coefficients, polynomials, strict=True))
    np.testing.assert_allclose(Zonal(coefficients)(left, right), expected, atol=1e-10)


@pytest.mark.parametrize("function", [rbf_kernel, cosine_similarity, chi2_kernel])
def test_the_kernels_of_scikit_learn_are_kernels_here(function):
    left, right = np.abs(A), np.abs(B)
    np.testing.assert_array_equal(FunctionKernel(function)(left, right), function(left, right))


def test_a_kernel_of_a_gaussian_process_is_a_kernel_here():
    kernel = Kernel.resolve(SklearnMatern(length_scale=2.0, nu=1.5))
    np.testing.assert_allclose(kernel(A, B), Matern(2.0, nu=1.5)(A, B), rtol=0, atol=1e-10)


def test_logistic_is_the_log_loss():
    labels, f = rng.integers(2, size=30), rng.normal(size=(30, 1))
    value = Logistic().value(2.0 * labels[:, None] - 1, f).mean()
    np.testing.assert_allclose(value, log_loss(labels, Logistic().probabilities(f)))


def test_softmax_is_the_log_loss_of_many_classes():
    labels, f = rng.integers(4, size=30), 3 * rng.normal(size=(30, 4))
    value = Softmax().value(np.eye(4)[labels], f)
    np.testing.assert_allclose(value, logsumexp(f, axis=1) - f[np.arange(30), labels])
    np.testing.assert_allclose(value.mean(), log_loss(labels, softmax(f, axis=1), labels=range(4)))


def test_hinge_is_the_hinge_loss():
    y, f = rng.choice([-1.0, 1.0], size=(30, 1)), rng.normal(size=(30, 1))
    np.testing.assert_allclose(Hinge().value(y, f).mean(), hinge_loss(y[:, 0], f[:, 0]))
