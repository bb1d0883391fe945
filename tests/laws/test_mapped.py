"""Laws of kernels that see rows times a matrix."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelRegressor, RandomFourier
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.kernels import Gaussian, Laplacian, Mapped, Matern, Stretched, is_separable

A = np.random.default_rng(0).normal(size=(20, 3))
B = np.random.default_rng(1).normal(size=(10, 3))
MATRIX = np.array([[1.0, 0.5], [0.0, 2.0], [-0.3, 0.1]])
gaussian, laplacian, matern = Gaussian(1.5), Laplacian(2.0), Matern(1.0, nu=2.5)
KERNEL = Mapped(gaussian, MATRIX)
every_inner = pytest.mark.parametrize(
    "inner", [gaussian, laplacian, matern, 2 * gaussian + laplacian * matern]
)


@every_inner
def test_it_is_the_kernel_of_the_mapped_rows(inner):
    expected = inner(A @ MATRIX, B @ MATRIX)
    np.testing.assert_allclose(Mapped(inner, MATRIX)(A, B), expected, rtol=1e-12)
    assert Mapped(inner, MATRIX).variance == inner.variance


@every_inner
def test_a_diagonal_matrix_stretches(inner):
    scales = np.array([0.5, 1.0, 7.0])
    mapped, stretched = Mapped(inner, np.diag(1 / scales)), Stretched(inner, scales)
    np.testing.assert_allclose(mapped(A, B), stretched(A, B), rtol=1e-12)
    frequencies = (kernel.frequencies(3, 50, Random(0)) for kernel in (mapped, stretched))
    np.testing.assert_allclose(*frequencies, rtol=1e-12)


def test_a_rotation_does_not_show_in_a_euclidean_kernel():
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    for kernel in (gaussian, matern):
        np.testing.assert_allclose(Mapped(kernel, rotation)(A, B), kernel(A, B), rtol=1e-12)
    assert not np.allclose(Mapped(laplacian, rotation)(A, B), laplacian(A, B))


def test_maps_follow_each_other():
    second = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    twice, once = Mapped(Mapped(laplacian, second), MATRIX), Mapped(laplacian, MATRIX @ second)
    np.testing.assert_allclose(twice(A, B), once(A, B), rtol=1e-12)
    frequencies = (kernel.frequencies(3, 50, Random(0)) for kernel in (twice, once))
    np.testing.assert_allclose(*frequencies, rtol=1e-10)


def test_frequencies_are_the_matrix_times_those_of_the_directions():
    expected = MATRIX @ gaussian.frequencies(2, 50, Random(0))
    np.testing.assert_allclose(KERNEL.frequencies(3, 50, Random(0)), expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_bandwidth_is_measured_on_the_mapped_rows(kind):
    kernel = Mapped(Laplacian(), MATRIX).resolved(kind(A), Random(0))
    expected = Laplacian().resolved(A @ MATRIX, Random(0)).bandwidth
    np.testing.assert_allclose(kernel.kernel.bandwidth, expected)


@pytest.mark.parametrize(
    "matrix", [MATRIX, np.float32(MATRIX), MATRIX.tolist(), np.asfortranarray(MATRIX)]
)
def test_the_dtype_of_the_rows_is_kept_for_every_matrix(matrix):
    for dtype in (np.float32, np.float64):
        assert Mapped(gaussian, matrix)(A.astype(dtype), B.astype(dtype)).dtype == dtype


def test_sparse_rows_in_float32_far_from_the_origin_are_told_apart():
    far = np.array([0.0, 0.0, 4096.0])
    left, right = sp.csr_array(np.float32(A + far)), sp.csr_array(np.float32(B + far))
    np.testing.assert_allclose(KERNEL(left, right), KERNEL(A, B), rtol=0, atol=1e-3)


def test_values_do_not_depend_on_the_number_of_threads():
    X = np.float32(np.random.default_rng(3).normal(size=(1100, 3)))
    with threads(1):
        alone = Mapped(matern, MATRIX)(X)
    with threads(3):
        np.testing.assert_array_equal(Mapped(matern, MATRIX)(X), alone)


def test_it_has_no_pitches():
    assert not is_separable(Mapped(laplacian, np.eye(3)))


def test_maps_with_other_matrices_are_not_equal():
    assert Mapped(gaussian, MATRIX.tolist()) == KERNEL
    for other in (Mapped(gaussian, 2 * MATRIX), Mapped(gaussian, MATRIX.T), gaussian):
        assert other != KERNEL
    assert Mapped(laplacian, MATRIX) != KERNEL


def test_it_survives_pickling_and_says_what_it_is():
    kernel = Mapped(gaussian, [[1.0], [2.0]])
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert repr(kernel) == f"Mapped(kernel={gaussian!r}, directions=[[1.0], [2.0]])"


def test_parameters_are_set_by_name():
    kernel = Mapped(Matern(), MATRIX).set_params(kernel__nu=0.5, directions=2 * MATRIX)
    assert kernel == Mapped(Matern(nu=0.5), 2 * MATRIX)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_features_of_a_mapped_kernel_are_features_of_the_mapped_rows(kind):
    mapped, plain = (RandomFourier(k, 64, random_state=0) for k in (KERNEL, gaussian))
    expected = plain.fit_transform(kind(A @ MATRIX))
    np.testing.assert_allclose(mapped.fit_transform(kind(A)), expected, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_machine_of_a_mapped_kernel_is_the_machine_of_the_mapped_rows(kind):
    X = np.random.default_rng(4).normal(size=(200, 3))
    y, settings = np.sin(X[:, 0] - X[:, 2]), {"solver": "direct", "alpha": 1e-3}
    mapped = KernelRegressor(KERNEL, **settings).fit(kind(X), y).predict(kind(X))
    X = kind(X @ MATRIX)
    plain = KernelRegressor(gaussian, **settings).fit(X, y).predict(X)
    np.testing.assert_allclose(mapped, plain, atol=1e-4)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([1.0, 1.0, 1.0], r"real numbers.*got an array of shape \(3,\)"),
        (1.0, r"real numbers.*got an array of shape \(\)"),
        (np.ones((1, 3, 1)), r"real numbers.*got an array of shape \(1, 3, 1\)"),
        ([["a"], ["b"], ["c"]], "real numbers.*dtype <U1"),
        (1j * MATRIX, "real numbers.*dtype complex128"),
        (None, "real numbers.*dtype object"),
        ([[1.0], [np.nan], [np.inf]], "be finite; got 2 numbers"),
        (np.zeros((3, 2)), r"not all be zero.*\(3, 2\)"),
        (np.zeros((3, 0)), r"not all be zero.*\(3, 0\)"),
    ],
)
def test_a_matrix_that_is_no_map_is_refused(matrix, reason):
    for use in (lambda kernel: kernel(A), lambda kernel: kernel.resolved(A, Random(0))):
        with pytest.raises(ValueError, match=f"directions of Mapped must .*{reason}"):
            use(Mapped(gaussian, matrix))


def test_a_matrix_for_other_columns_is_refused():
    kernel = Mapped(gaussian, MATRIX.T)
    for use in (
        lambda: kernel(A),
        lambda: kernel(sp.csr_array(A)),
        lambda: kernel.resolved(A, Random(0)),
        lambda: kernel.prepared(B),
        lambda: kernel.frequencies(3, 10, Random(0)),
    ):
        with pytest.raises(ValueError, match="one row for each of the 3 columns; got 2 rows"):
            use()
