"""Kernels and features of histograms against scikit-learn and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel

from bochner import AdditiveHomogeneous, HistogramFourier
from bochner.compute.random.counter_based import Random
from bochner.kernels import (
    ChiSquared,
    ExponentialSemigroup,
    Exponentiated,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    ReciprocalSemigroup,
    SkewedChiSquared,
)

rng = np.random.default_rng(0)
A, B = rng.dirichlet(np.full(9, 0.5), size=50), rng.dirichlet(np.full(9, 0.5), size=40)
B[:10] = A[:10]
A[::3, 2], B[::2, 5], A[:5, 5] = 0, 0, 0
DENSITIES = [
    (ChiSquared(), lambda w: 1 / np.cosh(np.pi * w)),
    (Intersection(), lambda w: 2 / (np.pi * (1 + 4 * w**2))),
    (JensenShannon(), lambda w: 2 / (np.log(4) * np.cosh(np.pi * w) * (1 + 4 * w**2))),
]
every_density = pytest.mark.parametrize(
    ("kernel", "density"), DENSITIES, ids=[type(kernel).__name__ for kernel, _ in DENSITIES]
)


def test_chi_squared_is_half_of_what_the_distance_leaves_of_the_sums():
    sums = A.sum(axis=1)[:, None] + B.sum(axis=1)
    expected = (sums + additive_chi2_kernel(A, B)) / 2
    np.testing.assert_allclose(ChiSquared()(A, B), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 5.0])
def test_exponentiated_chi_squared_is_the_chi2_kernel(gamma):
    kernel = Exponentiated(bandwidth=np.sqrt(0.5 / gamma))
    np.testing.assert_allclose(kernel(A, B), chi2_kernel(A, B, gamma=gamma), rtol=1e-12)


def test_the_exponentiated_intersection_is_the_laplacian():
    kernel = Exponentiated(Intersection(), bandwidth=np.sqrt(0.5))
    np.testing.assert_allclose(kernel(A, B), Laplacian(1.0)(A, B), rtol=1e-12)


@pytest.mark.parametrize("kernel", [ChiSquared(), Hellinger(), Intersection(), JensenShannon()])
def test_distances_of_large_counts_keep_their_digits_in_single_precision(kernel):
    X = np.random.default_rng(2).integers(1, 10**6, (20, 200)).astype(np.float64)
    near = X + np.arange(200) % 2
    means = np.sqrt(X * near) * kernel.signature(np.log(X / near))
    expected = np.exp(-(X + near - 2 * means).sum(axis=1) / 200)
    exponentiated, X, near = Exponentiated(kernel, 10.0), np.float32(X), np.float32(near)
    np.testing.assert_allclose(np.diag(exponentiated(X, near)), expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(np.diag(exponentiated(X)), 1)


def test_the_other_kernels_are_their_formulas():
    minima = np.minimum(A[:, None], B).sum(axis=2)
    np.testing.assert_allclose(Intersection()(A, B), minima, rtol=1e-12)
    roots = np.sqrt(A[:, None] * B).sum(axis=2)
    np.testing.assert_allclose(Hellinger()(A, B), roots, rtol=1e-12)
    sums = A[:, None] + B
    expected = np.exp(-np.sqrt(sums).sum(axis=2) / 2)
    np.testing.assert_allclose(ExponentialSemigroup(2.0)(A, B), expected, rtol=1e-12)
    expected = (1 / (1 + sums / 2)).prod(axis=2)
    np.testing.assert_allclose(ReciprocalSemigroup(2.0)(A, B), expected, rtol=1e-12)
    skewed = 2 * np.sqrt(A[:, None] + 0.1) * np.sqrt(B + 0.1) / (sums + 0.2)
    np.testing.assert_allclose(SkewedChiSquared(0.1)(A, B), skewed.prod(axis=2), rtol=1e-12)


def test_jensen_shannon_is_one_minus_the_divergence_in_bits():
    P, Q = A[1:2] / A[1].sum(), B[1:] / B[1:].sum(axis=1, keepdims=True)
    divergences = [jensenshannon(P[0], q, base=2) ** 2 for q in Q]
    np.testing.assert_allclose(JensenShannon()(P, Q)[0], 1 - np.array(divergences), rtol=1e-12)


@every_density
def test_the_signature_is_the_transform_of_the_density(kernel, density):
    for z in (0.0, 0.7, 3.0):
        with np.errstate(over="ignore"):
            waves = {"weight": "cos", "wvar": z} if z else {}
            value, _ = quad(density, 0, np.inf, **waves)
        np.testing.assert_allclose(kernel.signature(np.array(z)), 2 * value, atol=1e-7)


@every_density
def test_quantiles_are_those_of_the_density(kernel, density):
    for share in (0.1, 0.5, 0.9, 0.99):
        found, _ = quad(density, 0, float(kernel.quantiles(np.array(share))))
        np.testing.assert_allclose(2 * found, share, atol=1e-6)


@pytest.mark.parametrize("kernel", [Hellinger(), *(kernel for kernel, _ in DENSITIES)])
def test_the_signature_is_the_kernel_of_two_numbers(kernel):
    x, y = np.array([[0.3], [2.0]]), np.array([[0.3], [0.01], [5.0]])
    expected = np.sqrt(x * y.T) * kernel.signature(np.log(x / y.T))
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
def test_additive_features_are_not_less_accurate_than_scikit_learns(steps, spread):
    X = np.random.default_rng(1).dirichlet(np.full(20, spread), size=100)
    expected = ChiSquared()(X)
    theirs = AdditiveChi2Sampler(sample_steps=steps).fit_transform(X)
    ours = AdditiveHomogeneous(size=theirs.shape[1], random_state=0).fit_transform(X)
    assert ours.shape == theirs.shape
    errors = [np.linalg.norm(Phi @ Phi.T - expected) for Phi in (ours, theirs)]
    assert errors[0] <= errors[1]


def test_skewed_features_are_not_less_accurate_than_scikit_learns():
    X = np.random.default_rng(1).dirichlet(np.ones(20), size=100)
    expected, errors = SkewedChiSquared(0.1)(X), [[], []]
    for seed in range(10):
        map_ = HistogramFourier(SkewedChiSquared(0.1), 512, random_state=seed)
        other = SkewedChi2Sampler(skewedness=0.1, n_components=512, random_state=seed)
        for each, transformer in zip(errors, (map_, other), strict=True):
            Phi = transformer.fit_transform(X)
            each.append(np.linalg.norm(Phi @ Phi.T - expected))
    assert np.mean(errors[0]) <= 1.05 * np.mean(errors[1])


def test_rates_have_the_kernel_as_their_transform():
    for kernel in (ExponentialSemigroup(1.5), ReciprocalSemigroup(1.5)):
        s = np.array([[0.1], [1.0], [4.0]])
        rates = kernel.rates(1, 200_000, Random(0))
        estimate = np.exp(-s * rates).mean(axis=1)
        np.testing.assert_allclose(estimate, kernel(s, np.zeros((1, 1)))[:, 0], atol=5e-3)
