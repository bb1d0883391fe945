"""Laws of single kernels: distances, functions of users, values that are given."""

import pickle
from functools import partial
from threading import Lock

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone

from bochner import KernelClassifier
from bochner.compute.linear_algebra.distances import manhattan_distances
from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.kernels import (
    EuclideanLaplacian,
    FunctionKernel,
    Gaussian,
    Kernel,
    Matern,
    Precomputed,
    ShiftInvariant,
)
from bochner.kernels.distances import euclidean, manhattan

rng = np.random.default_rng(0)
A, B = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))


def polynomial(A, B, degree=2):
    return (1 + A @ B.T) ** degree


@pytest.mark.parametrize("columns", [0, 1, 3, 4, 7, 64, 65, 130, 1000])
@pytest.mark.parametrize("width", [1, 255, 256, 300])
def test_manhattan_distances_are_those_of_scipy(columns, width):
    A, B = rng.normal(size=(9, columns)), rng.normal(size=(310, columns))
    expected = 0.5 * cdist(A, B[7 : 7 + width], "cityblock") if columns else np.zeros((9, width))
    for dtype, tolerance in ((np.float32, 5e-7), (np.float64, 1e-14)):
        out, left = np.empty((9, width), dtype), A.astype(dtype)
        right = np.ascontiguousarray(B.T.astype(dtype))
        exact = 0.5 * np.abs(np.float64(left)[:, None] - np.float64(right.T)[7 : 7 + width]).sum(2)
        manhattan_distances(left, right, 7, 0.5, out)
        np.testing.assert_allclose(out, exact, rtol=tolerance)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-4 * max(columns, 1) ** 0.5)


def test_manhattan_distances_of_rows_that_are_not_there_are_refused():
    transposed, out = np.zeros((3, 10)), np.zeros((2, 5))
    for shape, start in (((2, 3), 6), ((2, 3), -1), ((2, 4), 0), ((3, 3), 0)):
        with pytest.raises(ValueError, match=r"do not fit into \(2, 5\)"):
            manhattan_distances(np.zeros(shape), transposed, start, 1.0, out)


@pytest.mark.parametrize("distances", [euclidean, manhattan])
def test_a_nan_stays_one(distances):
    spoiled = A.copy()
    spoiled[3, 2] = np.nan
    wrong = np.isnan(distances(spoiled, B))
    assert wrong[3].all()
    assert wrong.sum() == len(B)


def test_rows_in_the_order_of_columns_give_the_same():
    for kernel in (Gaussian(1.0), Matern(2.0), Kernel.resolve("laplacian").resolved(A, Random(0))):
        in_order = np.asfortranarray(A), np.asfortranarray(B)
        np.testing.assert_allclose(kernel(*in_order), kernel(A, B), rtol=1e-12)


def test_the_euclidean_laplacian_draws_what_matern_1_2_draws():
    ours = EuclideanLaplacian(3.0).frequencies(4, 100, Random(0))
    np.testing.assert_array_equal(ours, Matern(3.0, nu=0.5).frequencies(4, 100, Random(0)))


def test_a_function_resolves_to_a_kernel():
    kernel = Kernel.resolve(polynomial)
    assert kernel == FunctionKernel(polynomial)
    np.testing.assert_allclose(kernel(A, B), polynomial(A, B))
    np.testing.assert_allclose(kernel.diagonal(A), (1 + (A * A).sum(axis=1)) ** 2)
    assert kernel.diagonal(A[:0]).shape == (0,)
    assert kernel(np.float32(A), np.float32(B)).dtype == np.float32


@pytest.mark.parametrize("given", [Gaussian, dict, int])
def test_a_class_is_no_kernel_function(given):
    with pytest.raises(ValueError, match="kernel must be one of"):
        Kernel.resolve(given)


def test_a_function_is_no_kernel_with_a_spectral_measure():
    with pytest.raises(ValueError, match="kernel must be one of"):
        ShiftInvariant.resolve(polynomial)
    assert not isinstance(2 * FunctionKernel(polynomial), ShiftInvariant)


@pytest.mark.parametrize(
    "function", [polynomial, lambda A, B: A @ B.T, partial(polynomial, degree=3)]
)
def test_a_kernel_function_is_cloned_as_it_is(function):
    kernel = FunctionKernel(function)
    assert clone(kernel) == kernel
    assert clone(kernel) is not kernel
    assert clone(kernel).function is function
    assert kernel.get_params() == {"function": function}
    model = clone(KernelClassifier(kernel=kernel))
    assert model.kernel.function is function


def test_a_kernel_of_a_module_function_is_pickled():
    kernel = FunctionKernel(np.matmul)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_kernel_function_sees_few_rows_at_a_time():
    seen = []
    kernel = FunctionKernel(lambda A, B: seen.append(A.shape) or A @ B.T)
    X = rng.normal(size=(1100, 2))
    np.testing.assert_allclose(kernel(X, X[:3]), X @ X[:3].T)
    assert seen == [(512, 2), (512, 2), (76, 2)]


def test_a_kernel_function_is_called_by_one_thread_at_a_time():
    busy = Lock()

    def alone(A, B):
        assert busy.acquire(blocking=False)
        try:
            return Gaussian(1.0)(A, B) + FunctionKernel(polynomial)(A, B)
        finally:
            busy.release()

    prepared, out = FunctionKernel(alone).prepared(B), np.empty((40, 30))
    each_tile(lambda i, j: prepared.fill(A[i:j], 0, 30, out[i:j]), 40, 1)
    assert np.isfinite(out).all()


def test_a_kernel_function_gets_sparse_rows_as_they_are_and_may_return_such():
    kernel = FunctionKernel(lambda A, B: A @ B.T)
    values = kernel(sp.csr_array(A), sp.csr_array(B))
    np.testing.assert_allclose(values, A @ B.T)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda A, B: (A @ B.T).T,
            r"40 rows and of 30 .* shape \(40, 30\).*returned float64.*\(30, 40\)",
        ),
        (lambda A, B: 1.0, r"returned float64 of the shape \(\)"),
        (lambda A, B: (A @ B.T).astype(str), "must return real numbers"),
        (lambda A, B: (A @ B.T) * 1j, "returned complex128"),
        (lambda A, B: A @ B.T * np.nan, "finite numbers"),
    ],
)
def test_what_a_kernel_function_returns_is_checked(function, message):
    with pytest.raises(ValueError, match=message):
        FunctionKernel(function)(A, B)


def test_values_too_large_for_single_precision_are_refused():
    large = FunctionKernel(lambda A, B: 1e300 * np.float64(A @ B.T))
    assert large(A, B).dtype == np.float64
    with pytest.raises(ValueError, match="too large for float32"):
        large(np.float32(A), np.float32(B))


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match=r"FunctionKernel needs a function.*got 3"):
        FunctionKernel(3)(A)


def test_a_precomputed_kernel_says_that_it_cannot_be_evaluated():
    kernel = Kernel.resolve("precomputed")
    kernel.check()
    assert isinstance(kernel, Precomputed)
    assert not kernel.centred
    assert kernel.resolved(A, Random(0)) == Precomputed()
    for evaluate in (kernel, kernel.diagonal, lambda X: kernel.tile(X, X)):
        with pytest.raises(ValueError, match="only the values"):
            evaluate(A)
