"""Kernels and losses against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.metrics import hinge_loss, log_loss
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, laplacian_kernel, rbf_kernel

from bochner.kernels import (
    Cauchy,
    EuclideanLaplacian,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
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
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_is_the_matern_kernel(bandwidth, nu):
    reference = SklearnMatern(length_scale=bandwidth, nu=nu)
    kernel = Matern(bandwidth, nu=nu)
    np.testing.assert_allclose(kernel(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), rtol=0, atol=1e-10)


@bandwidths
def test_cauchy_is_the_rational_quadratic_kernel_with_alpha_1(bandwidth):
    reference = RationalQuadratic(length_scale=bandwidth / np.sqrt(2), alpha=1.0)
    np.testing.assert_allclose(Cauchy(bandwidth)(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(Cauchy(bandwidth)(A, B), reference(A, B), rtol=0, atol=1e-10)


@bandwidths
def test_the_euclidean_laplacian_is_the_matern_kernel_with_nu_1_2(bandwidth):
    reference = SklearnMatern(length_scale=bandwidth, nu=0.5)
    kernel = EuclideanLaplacian(bandwidth)
    np.testing.assert_allclose(kernel(A), reference(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), rtol=0, atol=1e-10)


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
