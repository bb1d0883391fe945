"""Kernels of inner products: what they see of the rows, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner.compute.random.counter_based import Random
from bochner.kernels import ArcCosine, DotProduct, Exponential, Polynomial, Zonal

KERNELS = [
    Polynomial(3, 1.0, 0.5),
    DotProduct([0.5, 1.0, 0.25]),
    Exponential(2.0),
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    Zonal(),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def rows(n_rows=40, n_columns=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


@every_kernel
def test_rotations_are_not_seen(kernel):
    A, B = rows(), rows(seed=1)
    rotation = np.linalg.qr(rows(5))[0]
    np.testing.assert_allclose(kernel(A @ rotation, B @ rotation), kernel(A, B), atol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_kernels_grow_with_the_rows_by_their_order(order):
    A, B = rows(), rows(seed=1)
    kernel = ArcCosine(order)
    np.testing.assert_allclose(kernel(3 * A, 2 * B), 6**order * kernel(A, B), rtol=1e-10)


def test_zonal_kernels_do_not_see_lengths():
    A, B = rows(), rows(seed=1)
    lengths = np.linspace(0.1, 10, 40)[:, None]
    np.testing.assert_allclose(Zonal()(lengths * A, B), Zonal()(A, B), atol=1e-12)


@pytest.mark.parametrize("kernel", [ArcCosine(0), ArcCosine(1), ArcCosine(2), Zonal()], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_row_of_zeros_has_no_direction(kernel, kind):
    X = rows()
    X[3] = 0
    K = kernel(kind(X))
    np.testing.assert_array_equal(K[3], 0)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_of_one_line_have_the_angle_0_or_pi(dtype, kind):
    X = rows().astype(dtype)
    signs = np.where(np.arange(40) % 2, 1, -1).astype(dtype)
    K = ArcCosine(0)(kind(X), kind(X * signs[:, None]))
    np.testing.assert_allclose(np.diagonal(K), np.arange(40) % 2, atol=1e-6)


def test_open_scales_are_those_of_the_median_row():
    X = np.diag([1.0, 2.0, 3.0, 0.0])
    assert Polynomial().resolved(X, Random(0)).scale == 1 / 4
    assert Exponential().resolved(sp.csr_array(X), Random(0)).bandwidth == 2
    assert Exponential(multiplier=3.0).resolved(X, Random(0)).bandwidth == 6
    assert Polynomial().resolved(np.zeros((3, 2)), Random(0)).scale == 1


def test_the_terms_of_a_polynomial_are_binomial():
    np.testing.assert_allclose(np.exp(Polynomial(2, 3.0, 2.0).log_parts(1.0)), [9, 12, 4])
    np.testing.assert_allclose(np.exp(Polynomial(2, 0.0, 2.0).log_parts(3.0)), [0, 0, 4 * 81])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "kernel", [Exponential(1.0), Polynomial(31, 1.0, 1.0), DotProduct([0.0] * 31 + [1.0])], ids=repr
)
def test_values_that_are_no_numbers_are_refused(kernel, kind):
    X = rows().astype(np.float32)
    X[7] *= 30
    for values in (kernel.diagonal, kernel, lambda A: kernel(A, kind(X))):
        with pytest.raises(ValueError, match=r"too large for float32\. Scale the rows"):
            values(kind(X))
    assert np.isfinite(kernel(kind(X[:7]))).all()


def test_coefficients_may_be_arrays():
    assert DotProduct(np.array([1.0, 2.0])) == DotProduct([1.0, 2.0])
    assert DotProduct([1.0]) != DotProduct([2.0])
    assert Zonal(np.array([1.0])) == Zonal([1.0])
    assert Zonal([1.0]) != DotProduct([1.0])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Polynomial(0), "degree of Polynomial must be a whole number from 1 on; got 0"),
        (Polynomial(2.5), "degree"),
        (Polynomial(True), "degree"),
        (Polynomial(2, -1.0), "constant of Polynomial must be a finite number from 0 on"),
        (Polynomial(2, np.inf), "constant"),
        (Polynomial(2, 1.0, 0.0), "scale of Polynomial must be 'median' or"),
        (Polynomial(2, 1.0, "mean"), "scale"),
        (Exponential(-1.0), "bandwidth of Exponential"),
        (Exponential("auto"), "bandwidth of Exponential"),
        (Exponential(1.0, 0.0), "multiplier"),
        (ArcCosine(3), "order of ArcCosine must be a whole number from 0 to 2; got 3"),
        (DotProduct([1.0, -1.0]), "coefficients of DotProduct .* none negative"),
        (DotProduct([0.0, 0.0]), "coefficients"),
        (DotProduct([]), "coefficients"),
        (DotProduct([[1.0]]), "coefficients"),
        (DotProduct("series"), "coefficients"),
        (Zonal([np.nan]), "coefficients of Zonal"),
    ],
    ids=repr,
)
def test_what_is_no_kernel_is_refused(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel.check()
    with pytest.raises(ValueError, match=words):
        kernel(rows())
    with pytest.raises(ValueError, match=words):
        kernel.resolved(rows(), Random(0))


def test_there_is_no_sphere_in_one_dimension():
    with pytest.raises(ValueError, match="at least 2 columns"):
        Zonal()(rows(5, 1))
