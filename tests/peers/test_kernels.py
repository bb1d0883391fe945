"""Kernels as objects, beside the kernels of scikit-learn's Gaussian processes and metrics."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as peer
from sklearn.metrics import pairwise
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from bochner.kernels import (
    Cauchy,
    ChiSquared,
    DotProduct,
    EuclideanLaplacian,
    Exponential,
    ExponentialPower,
    Exponentiated,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    SkewedChiSquared,
    Zonal,
)

rng = np.random.default_rng(0)
A, B = rng.normal(size=(6, 2)), rng.normal(size=(7, 2))
PAIRS = {
    "Gaussian": (Gaussian(2.0), peer.RBF(2.0)),
    "Gaussian of two scales": (Gaussian(1.0).column_scaled([0.5, 2.0]), peer.RBF([0.5, 2.0])),
    "a sum": (
        2.0 * Gaussian(0.5) + DotProduct([3.0]),
        2.0 * peer.RBF(0.5) + peer.ConstantKernel(3.0),
    ),
    "a product": (Gaussian(2.0) * Matern(0.5), peer.RBF(2.0) * peer.Matern(0.5, nu=1.5)),
    "Matern 1/2": (Matern(0.33, nu=0.5), peer.Matern(0.33, nu=0.5)),
    "Matern 3/2": (Matern(1.0, nu=1.5), peer.Matern(1.0, nu=1.5)),
    "Matern 5/2": (4.0 * Matern(0.5, nu=2.5), 4.0 * peer.Matern(0.5, nu=2.5)),
    "Matern 5/2 of two scales": (
        Matern(1.0, nu=2.5).column_scaled([0.5, 3.0]),
        peer.Matern([0.5, 3.0], nu=2.5),
    ),
    "rational quadratic": (RationalQuadratic(0.5, shape=1.5), peer.RationalQuadratic(0.5, 1.5)),
    "lines": (DotProduct([4.0, 1.0]), peer.DotProduct(2.0)),
    "squares of lines": (Polynomial(2, 4.0, 1.0), peer.DotProduct(2.0) ** 2),
    "linear": (DotProduct(), peer.PairwiseKernel(metric="linear")),
    "Laplacian": (Laplacian(1.0), peer.PairwiseKernel(1.0, metric="laplacian")),
    "polynomial": (Polynomial(3, 1.0, 1.0), peer.PairwiseKernel(1.0, metric="poly")),
    "cosine": (Zonal([0.0, 1.0]), peer.PairwiseKernel(metric="cosine")),
}
every_pair = pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS)
STATIONARY = {
    "Gaussian": Gaussian(2.0),
    "Laplacian": Laplacian(2.0),
    "Euclidean Laplacian": EuclideanLaplacian(2.0),
    "Matern": Matern(2.0, nu=2.5),
    "rational quadratic": RationalQuadratic(2.0, shape=0.5),
    "Cauchy": Cauchy(2.0),
    "exponential power": ExponentialPower(2.0, power=1.3),
    "a sum and a product": 2.0 * Gaussian(1.0) + Matern(1.0) * Laplacian(3.0),
}


@every_pair
def test_values_are_those_of_scikit_learn(ours, theirs):
    np.testing.assert_allclose(ours(A), theirs(A), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours(A, B), theirs(A, B), rtol=1e-9, atol=1e-10)


@every_pair
def test_the_diagonal_and_equal_rows_given_twice_are_consistent(ours, theirs):
    np.testing.assert_allclose(ours.diagonal(A), theirs.diag(A), rtol=1e-9)
    np.testing.assert_allclose(np.diag(ours(A)), ours.diagonal(A), rtol=1e-9)
    np.testing.assert_allclose(ours(A), ours(A, A.copy()), atol=1e-7)


@every_pair
def test_a_kernel_is_a_metric_of_scikit_learn(ours, theirs):
    """Called for each pair of rows, as scikit-learn calls a metric that is a function."""
    found = pairwise_kernels(A, B, metric=lambda a, b: ours(a[None], b[None])[0, 0])
    np.testing.assert_allclose(found, theirs(A, B), rtol=1e-9, atol=1e-10)


@every_pair
def test_copies_are_equal_and_not_the_same(ours, theirs):
    for copied in (clone(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert copied is not ours
        np.testing.assert_array_equal(copied(A, B), ours(A, B))
        assert repr(copied) == repr(ours)


@pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY)
def test_a_kernel_of_differences_does_not_see_a_shift(kernel):
    values = np.diag(kernel(A, A + 1.0))
    np.testing.assert_allclose(values, values[0], rtol=1e-7)
    np.testing.assert_allclose(kernel(A + 100.0, B + 100.0), kernel(A, B), atol=1e-9)


@pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY)
def test_matrices_are_symmetric_and_positive(kernel):
    rows = np.vstack([A, B, A[:2]])
    K = kernel(rows)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_sums_and_multiples_commute():
    constant, kernel = DotProduct([1.0]), Gaussian(2.0)
    np.testing.assert_allclose((kernel + constant)(A), (constant + kernel)(A))
    np.testing.assert_allclose((3.0 * kernel)(A), (kernel * 3.0)(A))
    np.testing.assert_allclose((kernel * Matern(1.0))(A), (Matern(1.0) * kernel)(A))


def test_a_number_is_not_a_kernel_to_be_added():
    """scikit-learn makes a constant kernel of it; here that is DotProduct([number])."""
    with pytest.raises(TypeError):
        Gaussian(2.0) + 1.0


def test_scales_of_columns_are_columns_that_are_scaled():
    K = (3.0 * Gaussian(1.0).column_scaled([0.5, 2.0]))(A)
    np.testing.assert_allclose(3.0 * Gaussian(2.0)(A * [4.0, 1.0]), K)
    np.testing.assert_allclose(3.0 * Gaussian(0.5)(A * [1.0, 0.25]), K)


def test_matern_kernels_lie_between_the_exponential_and_the_gaussian():
    np.testing.assert_allclose(Matern(1.0, nu=0.5)(A), np.exp(-euclidean_distances(A)), atol=1e-12)
    np.testing.assert_allclose(Matern(1.0, nu=99.5)(A), Gaussian(1.0)(A), atol=0.01)


@pytest.mark.parametrize("nu", [1.0, 2.0, 0.7])
def test_matern_kernels_of_other_orders_are_refused(nu):
    """scikit-learn computes them by Bessel functions; here nu is a half-integer."""
    with pytest.raises(ValueError, match="nu"):
        Matern(1.0, nu=nu)(A)


def test_a_rational_quadratic_of_many_gaussians_is_one():
    found = RationalQuadratic(1.0, shape=1e6)(A)
    np.testing.assert_allclose(found, Gaussian(1.0)(A), atol=1e-6)
    np.testing.assert_allclose(RationalQuadratic(1.0, shape=1.0)(A), Cauchy(np.sqrt(2.0))(A))


@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
def test_kernels_of_histograms_are_those_of_scikit_learn(gamma):
    P, Q = np.abs(A), np.abs(B)
    found = Exponentiated(bandwidth=1 / np.sqrt(2 * gamma))(P, Q)
    np.testing.assert_allclose(found, pairwise.chi2_kernel(P, Q, gamma=gamma), atol=1e-12)
    # |a| + |b| - 2 k(a, b) is the negative of their additive kernel.
    sums = P.sum(axis=1)[:, None] + Q.sum(axis=1)
    additive = 2 * ChiSquared()(P, Q) - sums
    np.testing.assert_allclose(additive, pairwise.additive_chi2_kernel(P, Q), atol=1e-12)


@pytest.mark.parametrize("skewness", [0.03, 1.0])
def test_the_skewed_kernel_is_its_formula(skewness):
    P, Q = (np.abs(rows)[:, None] + skewness for rows in (A, B))
    Q = Q.transpose(1, 0, 2)
    expected = (2 * np.sqrt(P) * np.sqrt(Q) / (P + Q)).prod(axis=2)
    np.testing.assert_allclose(
        SkewedChiSquared(skewness)(np.abs(A), np.abs(B)), expected, atol=1e-12
    )


def test_the_exponential_kernel_is_a_power_series_of_the_linear_one():
    np.testing.assert_allclose(Exponential(2.0)(A, B), np.exp(A @ B.T / 4))


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e8])
def test_bandwidths_follow_the_size_of_the_rows(size):
    for make in (Gaussian, Laplacian, Matern, RationalQuadratic):
        found = make(2.0 * size)(A * size, B * size)
        np.testing.assert_allclose(found, make(2.0)(A, B), rtol=1e-6)


def test_rows_far_apart_and_rows_at_one_place_have_values_of_zero_and_one():
    for kernel in (Gaussian(1.0), Laplacian(1.0), Matern(1.0, nu=2.5)):
        far = kernel([[0.0, 0.0]], [[1e9, 1e9], [0.0, 0.0]])
        np.testing.assert_array_equal(far, [[0.0, 1.0]])
