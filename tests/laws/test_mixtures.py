"""Kernels that are mixtures of Gaussians, and kernels that are given by their frequencies."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import gamma, j0, kv
from sklearn.base import clone

from bochner import KernelRegressor, OrthogonalFourier, QuasiMonteCarloFourier, RandomFourier
from bochner.compute.random.counter_based import Random
from bochner.kernels import (
    Cauchy,
    EuclideanLaplacian,
    ExponentialPower,
    Gaussian,
    Matern,
    NormalMixture,
    RationalQuadratic,
    Spectral,
    Stretched,
)
from bochner.kernels.radial import HIGHEST, log_positive_stable

rng = np.random.default_rng(0)
A, B = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
LINE = np.linspace(0, 9, 200)[:, None]


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.5, 5.5, 10.5, 30.5])
def test_matern_is_the_bessel_function(nu):
    z = np.sqrt(2 * nu) * LINE[1:, 0]
    exact = 2 ** (1 - nu) / gamma(nu) * z**nu * kv(nu, z)
    np.testing.assert_allclose(Matern(1.0, nu=nu)([[0.0]], LINE[1:])[0], exact, rtol=1e-9)


@pytest.mark.parametrize("nu", [0.5, 3.5, 20.5, 100.5])
def test_matern_is_finite_far_away_in_single_precision(nu):
    far = np.float32([[0.0], [30.0], [1e4], [1e15]])
    values = Matern(1.0, nu=nu)(far[:1], far)[0]
    np.testing.assert_allclose(values, [1, 0, 0, 0], atol=1e-4)
    near = np.float32(LINE)
    exact = Matern(1.0, nu=nu)(LINE[:1], LINE)
    np.testing.assert_allclose(Matern(1.0, nu=nu)(near[:1], near), exact, atol=3e-6)


def test_matern_of_a_large_nu_is_nearly_gaussian():
    np.testing.assert_allclose(Matern(2.0, nu=100.5)(A, B), Gaussian(2.0)(A, B), atol=0.005)


@pytest.mark.parametrize("nu", [0, 1, 2.0, -0.5, 101.5, np.nan, "1.5", None, True])
def test_a_nu_that_is_no_half_integer_is_refused(nu):
    with pytest.raises(ValueError, match=r"nu of Matern must be 0.5, 1.5, 2.5.*Gaussian"):
        Matern(1.0, nu=nu).check()


def test_cauchy_and_gaussian_are_ends_of_the_rational_quadratic():
    cauchy = RationalQuadratic(2.0, shape=1.0)(A, B)
    np.testing.assert_allclose(cauchy, Cauchy(2.0 * np.sqrt(2))(A, B), rtol=1e-13)
    large = RationalQuadratic(2.0, shape=1e6)(A, B)
    np.testing.assert_allclose(large, Gaussian(2.0)(A, B), atol=1e-5)


@pytest.mark.parametrize("shape", [0, -1.0, np.inf, "1", None])
def test_a_shape_that_is_no_positive_number_is_refused(shape):
    with pytest.raises(ValueError, match="shape of RationalQuadratic"):
        RationalQuadratic(1.0, shape=shape).check()


def test_laplacian_and_gaussian_are_exponential_powers():
    one, two = (ExponentialPower(2.0, power=power)(A, B) for power in (1, 2))
    np.testing.assert_allclose(one, EuclideanLaplacian(2.0)(A, B), rtol=1e-12)
    np.testing.assert_allclose(two, Gaussian(np.sqrt(2))(A, B), rtol=1e-12)


@pytest.mark.parametrize("power", [0, -1.0, 2.01, np.nan, "1", None, True])
def test_a_power_outside_its_range_is_refused(power):
    with pytest.raises(ValueError, match="power of ExponentialPower must be"):
        ExponentialPower(1.0, power=power).check()


@pytest.mark.parametrize("index", [0.2, 0.5, 0.8, 1.0])
def test_stable_numbers_have_their_laplace_transform(index):
    s = np.exp(log_positive_stable(index, 40_000, Random(0)))
    for t in (0.1, 1.0, 5.0):
        assert abs(np.exp(-s * t).mean() - np.exp(-(t**index))) < 4 / np.sqrt(40_000)


def test_frequencies_of_the_first_power_are_cauchy():
    frequencies = ExponentialPower(2.0, power=1.0).frequencies(1, 20_000, Random(0))[0]
    assert stats.kstest(2 * frequencies, stats.cauchy.cdf).pvalue > 1e-3


def test_frequencies_of_a_tiny_power_are_finite():
    frequencies = ExponentialPower(2.0, power=0.01).frequencies(3, 4000, Random(0))
    assert np.abs(frequencies).max() < 10 * HIGHEST


@pytest.mark.parametrize("power", [0.2, 0.05])
def test_far_rows_are_told_apart_in_single_precision(power):
    X, kernel = (300 * A).astype(np.float32), ExponentialPower(1.0, power=power)
    Z = RandomFourier(kernel, 8192, random_state=0).fit_transform(X)
    assert Z.dtype == np.float32
    error = (Z @ Z.T - kernel(X))[np.triu_indices(len(X), 1)]
    assert abs(error.mean()) < 0.015


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Matern(1.5, nu=3.5),
        Cauchy(1.5),
        EuclideanLaplacian(1.5),
        RationalQuadratic(1.5, shape=0.6),
        ExponentialPower(1.5, power=1.4),
    ],
)
def test_the_mean_over_the_scales_is_the_kernel(kernel):
    assert isinstance(kernel, NormalMixture)
    scales = kernel.scales(40_000, Random(0))
    distances = np.linalg.norm(A[:5, None] - B, axis=2).ravel()
    mean = [np.exp(-0.5 * (scales * r) ** 2).mean() for r in distances]
    np.testing.assert_allclose(mean, kernel(A[:5], B).ravel(), atol=4 * 0.5 / np.sqrt(40_000))


def ring(n_columns, size, rng):
    normal = rng.normal((n_columns, size))
    return 3 * normal / np.linalg.norm(normal, axis=0)


def ripples(differences):
    return j0(3 * np.linalg.norm(differences, axis=1))


def test_a_spectral_kernel_has_the_values_of_its_function():
    X, Y = A[:, :2], B[:, :2]
    exact, drawn = Spectral(ring, ripples), Spectral(ring)
    assert exact.is_exact
    assert not drawn.is_exact
    expected = j0(3 * np.linalg.norm(X[:, None] - Y, axis=2))
    np.testing.assert_allclose(exact(X, Y), expected, atol=1e-13)
    np.testing.assert_allclose(drawn(X, Y), expected, atol=5 / np.sqrt(2 * 16_384))
    assert np.sqrt(np.mean((drawn(X, Y) - expected) ** 2)) < 0.007
    np.testing.assert_array_equal(drawn(X, Y), drawn(X, Y))


def test_a_monte_carlo_mean_is_a_kernel():
    K = Spectral(ring)(A[:, :2])
    np.testing.assert_array_equal(np.diagonal(K), 1)
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_differences_come_in_pieces(monkeypatch):
    seen = []
    kernel = Spectral(ring, lambda D: seen.append(len(D)) or ripples(D))
    whole = kernel(A, B)
    monkeypatch.setattr("bochner.kernels.given.NUMBERS", 7 * B.size)
    seen.clear()
    np.testing.assert_array_equal(kernel(A, B), whole)
    assert max(seen) == 7 * len(B)
    assert sum(seen) == len(A) * len(B) + 1  # the value at 0


def test_spectral_kernels_work_with_features_scales_and_machines():
    X = rng.normal(size=(300, 2))
    kernel = Stretched(Spectral(ring, ripples), [2.0, 4.0])
    for Transformer in (RandomFourier, OrthogonalFourier):
        Z = Transformer(kernel, 8192, random_state=0).fit_transform(X[:50])
        np.testing.assert_allclose(Z @ Z.T, kernel(X[:50]), atol=0.08)
    model = KernelRegressor(kernel=2 * kernel, random_state=0).fit(X, np.sin(X[:, 0]))
    assert model.score(X, np.sin(X[:, 0])) > 0.95


def test_points_that_are_not_the_last_side_of_a_shape_are_refused():
    kernel = Spectral(lambda n, size, rng: rng.normal((size, n)).T)
    with pytest.raises(ValueError, match=r"last side of a shape; got the shape \(1, 5\)"):
        QuasiMonteCarloFourier(kernel, 512).fit(A)


def test_spectral_kernels_take_sparse_rows():
    X = sp.csr_array(np.where(A[:, :2] > 0.3, A[:, :2], 0.0))
    for kernel in (Spectral(ring, ripples), Spectral(ring)):
        np.testing.assert_allclose(kernel(X), kernel(X.toarray()), atol=1e-12)


def test_a_spectral_kernel_is_cloned_with_its_functions():
    kernel = Spectral(ring, ripples)
    assert clone(kernel) == kernel
    assert clone(kernel) is not kernel


@pytest.mark.parametrize(
    ("sampler", "function", "message"),
    [
        (3, None, r"needs a sampler\(n_columns, size, rng\).*got 3"),
        (ring, 3, "must take differences.*got 3"),
        (lambda n, size, rng: rng.normal((size, n)), None, r"shape \(5, 1024\).*\(1024, 5\)"),
        (lambda n, size, rng: 1j * rng.normal((n, size)), None, "real numbers.*complex128"),
        (lambda n, size, rng: np.full((n, size), np.inf), None, "sampler of Spectral.*finite"),
        (ring, lambda D: D, r"must return real numbers of the shape \(1,\)"),
        (ring, lambda D: np.full(len(D), np.nan), "function of Spectral.*finite"),
    ],
)
def test_what_users_give_is_checked(sampler, function, message):
    with pytest.raises(ValueError, match=message):
        Spectral(sampler, function)(A)


def test_a_function_that_is_not_1_at_0_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"must be 1 at 0.*got 2.0.*2.0 \* Spectral"):
        Spectral(ring, lambda D: 2 * ripples(D)).resolved(A, Random(0))
    with pytest.raises(ValueError, match="must be 1 at 0"):
        Spectral(ring, lambda D: 2 * ripples(D))(A)
