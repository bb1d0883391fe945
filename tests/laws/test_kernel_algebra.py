"""Laws of sums, products, multiples, stretches and maps of kernels."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from bochner import KernelRegressor
from bochner.compute.random.counter_based import Random
from bochner.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Mapped,
    Matern,
    Precomputed,
    Product,
    Scaled,
    ShiftInvariant,
    Stretched,
    Sum,
)

A = np.random.default_rng(0).normal(size=(20, 3))
B = np.random.default_rng(1).normal(size=(10, 3))
gaussian, laplacian, matern = Gaussian(1.5), Laplacian(2.0), Matern(1.0, nu=2.5)


@dataclass
class Linear(Kernel):
    """A kernel that is not shift-invariant: a'b."""

    def matrix(self, A, B):
        return A @ B.T

    def diagonal(self, A):
        return (A * A).sum(axis=1)

    def check(self):
        pass

    def resolved(self, X, rng):
        return self


def test_operators_are_those_of_the_matrices():
    kernel = 2 * gaussian + laplacian * matern * 0.5
    expected = 2 * gaussian(A, B) + 0.5 * laplacian(A, B) * matern(A, B)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.variance, 2.5)


def test_operators_build_the_components():
    assert gaussian + matern == Sum(gaussian, matern)
    assert gaussian * matern == Product(gaussian, matern)
    assert 3 * gaussian == gaussian * 3 == Scaled(gaussian, 3.0)
    assert np.float64(3) * gaussian == np.float32(3) * gaussian == Scaled(gaussian, 3.0)


def test_a_product_of_gaussians_is_a_gaussian():
    narrow = Gaussian(1.5 / np.sqrt(2))
    np.testing.assert_allclose((gaussian * gaussian)(A, B), narrow(A, B), rtol=1e-12)


def test_equal_scales_are_a_bandwidth():
    for kernel in (gaussian, laplacian, matern):
        wide = clone(kernel).set_params(bandwidth=4 * kernel.bandwidth)
        np.testing.assert_allclose(Stretched(kernel, [4, 4, 4])(A, B), wide(A, B), rtol=1e-12)


def test_stretching_divides_the_columns():
    scales = np.array([0.5, 1.0, 7.0])
    expected = laplacian(A / scales, B / scales)
    np.testing.assert_allclose(Stretched(laplacian, scales)(A, B), expected, rtol=1e-12)


def test_a_shift_of_both_sides_changes_nothing():
    kernel = Stretched(gaussian + laplacian, [1.0, 2.0, 3.0]) * matern
    np.testing.assert_allclose(kernel(A + 5.0, B + 5.0), kernel(A, B), rtol=1e-10)


def test_a_sum_draws_frequencies_in_proportion_to_the_variances():
    slow, fast = Gaussian(1e6), Gaussian(1e-6)
    frequencies = (3 * slow + fast).frequencies(2, 4000, Random(0))
    share = np.mean(np.abs(frequencies).max(axis=0) < 1)
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)
    assert np.all((np.abs(frequencies) < 1).all(axis=0) | (np.abs(frequencies) > 1).all(axis=0))


def test_a_product_with_a_constant_kernel_keeps_the_law_of_the_frequencies():
    frequencies = (gaussian * Gaussian(1e9)).frequencies(2, 4000, Random(0))
    np.testing.assert_allclose(frequencies.std(), 1 / 1.5, rtol=0.05)


def test_the_parts_of_a_product_are_drawn_apart():
    frequencies = (gaussian * gaussian).frequencies(3, 4000, Random(0))
    np.testing.assert_allclose(frequencies.std(), np.sqrt(2) / 1.5, rtol=0.05)


def test_frequencies_of_a_stretch_are_divided_by_the_scales():
    scales = np.array([1.0, 10.0, 100.0])
    plain = gaussian.frequencies(3, 50, Random(0))
    stretched = Stretched(gaussian, scales).frequencies(3, 50, Random(0))
    np.testing.assert_allclose(stretched, plain / scales[:, None])


def test_nested_parameters_are_set_by_name():
    kernel = 2 * (Gaussian() + Stretched(Matern(), [1.0, 2.0, 3.0]))
    kernel.set_params(kernel__left__bandwidth=3.0, kernel__right__kernel__nu=0.5, factor=4.0)
    assert kernel == 4 * (Gaussian(3.0) + Stretched(Matern(nu=0.5), [1.0, 2.0, 3.0]))


def test_parts_are_resolved_on_what_they_see():
    scales = np.array([1.0, 10.0, 100.0])
    kernel = (Gaussian() + Stretched(Laplacian(), scales)).resolved(A, Random(0))
    assert kernel.left == Gaussian().resolved(A, Random(0))
    assert kernel.right.kernel == Laplacian().resolved(A / scales, Random(0))


def test_stretches_with_other_scales_are_not_equal():
    assert Stretched(gaussian, [1.0, 2.0]) == Stretched(gaussian, np.array([1.0, 2.0]))
    assert Stretched(gaussian, [1.0, 2.0]) != Stretched(gaussian, [1.0, 3.0])
    assert Stretched(gaussian, [1.0, 2.0]) != gaussian


@pytest.mark.parametrize("factor", [0, -1.0, np.inf, np.nan])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="factor"):
        factor * gaussian
    with pytest.raises(ValueError, match="factor"):
        Scaled(gaussian, factor)(A)


@pytest.mark.parametrize(
    "scales", [[1.0, -1.0, 1.0], [[1.0, 1.0, 1.0]], 1.0, ["a", "b", "c"], None]
)
def test_scales_that_are_not_positive_are_refused(scales):
    with pytest.raises(ValueError, match="scales of ColumnScaled"):
        Stretched(gaussian, scales)(A)


def test_scales_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one scale for each of the 3 columns; got 2"):
        Stretched(gaussian, [1.0, 2.0])(A)
    with pytest.raises(ValueError, match="one scale for each of the 3 columns; got 2"):
        Stretched(gaussian, [1.0, 2.0]).frequencies(3, 10, Random(0))


def test_what_a_kernel_of_kernels_prepares_is_what_its_parts_prepare():
    scales = np.array([0.5, 1.0, 7.0])
    inner = gaussian + laplacian * matern
    a, b = A / scales, B[2:6] / scales
    expected = 3 * (gaussian(a, b) + laplacian(a, b) * matern(a, b))
    for kernel in (3 * Stretched(inner, scales), 3 * Mapped(inner, np.diag(1 / scales))):
        out = np.empty((20, 4))
        kernel.prepared(B).fill(A, 2, 6, out)
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_a_kernel_of_its_own_prepares_nothing_and_gives_its_matrix():
    out = np.empty((20, 4))
    Linear().prepared(B).fill(A, 2, 6, out)
    np.testing.assert_array_equal(out, A @ B[2:6].T)
    assert not Linear().centred
    assert not isinstance(Linear(), Precomputed)


def test_components_of_shift_invariant_kernels_refuse_others_with_a_remedy():
    for combine in (
        lambda: Stretched(Linear(), [1.0, 1.0, 1.0])(A),
        lambda: Mapped(Linear(), np.eye(3))(A),
        lambda: Sum(gaussian, Linear())(A),
    ):
        with pytest.raises(ValueError, match=r"shift-invariant.*got Linear\(\). Write left"):
            combine()
    np.testing.assert_allclose(Linear()(A, B), A @ B.T)


def test_kernels_of_any_kind_are_added_and_multiplied():
    linear = A @ B.T
    for kernel, expected in (
        (gaussian + Linear(), gaussian(A, B) + linear),
        (Linear() * gaussian, gaussian(A, B) * linear),
        (2 * Linear(), 2 * linear),
        (Linear().stretched([1.0, 2.0, 4.0]), (A / [1, 4, 16]) @ B.T),
        (Linear().stretched([1.0, 2.0], [0, 1, 1]), (A / [1, 4, 4]) @ B.T),
        (3 * (Linear() * Linear() + matern), 3 * (linear**2 + matern(A, B))),
    ):
        np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(A), np.diagonal(kernel(A)), rtol=1e-12)


def test_a_combination_has_frequencies_if_its_parts_have_them():
    scaled = gaussian.stretched([1.0, 2.0, 3.0])
    whole = (gaussian + matern, gaussian * matern, 2 * gaussian, scaled)
    assert all(isinstance(kernel, ShiftInvariant) for kernel in whole)
    assert scaled == Stretched(gaussian, [1.0, 2.0, 3.0])
    assert gaussian.stretched([5.0, 2.0], [1, 0, 1]) == Stretched(gaussian, [2.0, 5.0, 2.0])
    others = (gaussian + Linear(), gaussian * Linear(), 2 * Linear())
    assert not any(isinstance(kernel, ShiftInvariant) for kernel in others)


def test_a_part_that_does_not_see_a_shift_is_exact_far_from_the_origin():
    far = np.float32(A) + np.float32(1e4)
    kernel = gaussian + 1e-12 * Linear()
    expected = gaussian(np.float64(far))
    out = np.empty((20, 20), np.float32)
    kernel.prepared(far).fill(far, 0, 20, out)
    np.testing.assert_allclose(out, expected, atol=1e-3)


@pytest.mark.parametrize("kernel", [Linear(), Linear() + Gaussian()])
def test_a_kernel_whose_defaults_ignore_weights_learns_from_rows_with_weights(kernel):
    """`resolved` of `Linear` takes two arguments."""
    weight = np.arange(1.0, len(A) + 1)
    model = KernelRegressor(kernel, solver="direct", random_state=0).fit(A, A[:, 0], weight)
    assert np.isfinite(model.predict(A)).all()


def test_parts_of_general_kernels_are_resolved_on_what_they_see():
    kernel = (Linear() + Gaussian()).stretched([1.0, 10.0, 100.0]).resolved(A, Random(0))
    assert kernel.kernel.right == Gaussian().resolved(A / [1.0, 10.0, 100.0], Random(0))


@pytest.mark.parametrize("groups", [[0, 1, 2], [0.0, 1.0, 1.0], [[0, 1, 1]], [0, -1, 1], "abc"])
def test_groups_without_a_scale_are_refused(groups):
    with pytest.raises(ValueError, match="group of each column, a whole number from 0 to 1"):
        gaussian.stretched([1.0, 2.0], groups)


def test_values_that_are_given_are_no_part_of_a_kernel():
    for kernel in (gaussian + Kernel.resolve("precomputed"), 2 * Kernel.resolve("precomputed")):
        with pytest.raises(ValueError, match=r"got Precomputed\(\). Combine the matrices"):
            kernel(A)


def test_kernels_are_not_added_to_numbers():
    with pytest.raises(TypeError):
        gaussian + 1.0
    with pytest.raises(TypeError):
        gaussian * "2"
