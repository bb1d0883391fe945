"""What every kernel promises, for every kernel in the registry and for kernels made of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.kernels import (
    ArcCosine,
    ChiSquared,
    Delta,
    DotProduct,
    EuclideanLaplacian,
    ExponentialPower,
    Exponentiated,
    FunctionKernel,
    Hellinger,
    Kernel,
    Laplacian,
    Mapped,
    Matern,
    Overlap,
    Polynomial,
    Precomputed,
    Radial,
    RandomProcess,
    RationalQuadratic,
    ShiftInvariant,
    Spectral,
    Stretched,
    Zonal,
)

ATOL = {np.float32: 2e-6, np.float64: 1e-12}
MATRIX = np.array(
    [[1.0, 0.5, -0.3, 0.2], [0.0, 2.0, 0.4, -1.0], [0.3, 0.1, 0.5, 0.0], [1, 0, 1, 2]]
)


def normal_frequencies(n_columns, size, rng):
    return 0.3 * rng.normal((n_columns, size))


def gaussian_of_differences(differences):
    return np.exp(-0.045 * (differences**2).sum(axis=1))


named = {
    name: kernel
    for name in sorted(Kernel.registry)
    if not isinstance(kernel := Kernel.resolve(name), Precomputed)
}
composed = {
    "matern 1/2": Matern(nu=0.5),
    "matern 5/2": Matern(nu=2.5),
    "matern 7/2": Matern(nu=3.5),
    "rational quadratic 1/3": RationalQuadratic(shape=1 / 3),
    "exponential power 4/5": ExponentialPower(power=0.8),
    "exponential power 5/3": ExponentialPower(power=5 / 3),
    "spectral": Spectral(normal_frequencies, gaussian_of_differences),
    "spectral mean": Spectral(normal_frequencies),
    "sum": named["gaussian"] + 3 * named["laplacian"],
    "product": named["gaussian"] * Matern(4.0, nu=0.5),
    "product of cauchy": named["cauchy"] * named["euclidean_laplacian"],
    "scaled": 2.5 * named["matern"],
    "stretched": Stretched(named["gaussian"], [1.0, 2.0, 3.0, 0.5]),
    "mapped": Mapped(named["gaussian"], MATRIX),
    "mapped to fewer": 2 * Mapped(Laplacian(), MATRIX[:, :2]) + Mapped(Matern(), MATRIX.T @ MATRIX),
    "polynomial without a constant": Polynomial(2, 0.0, 0.5),
    "dot product": DotProduct([1.0, 0.5, 0.0, 0.25]),
    "arc-cosine 0": ArcCosine(0),
    "arc-cosine 2": ArcCosine(2),
    "zonal of one degree": Zonal([0.0, 0.0, 1.0]),
    "nested": 0.5 * (Stretched(Laplacian(), np.array([1.0, 2.0, 3.0, 0.5])) + Matern(nu=2.5)),
    "exponentiated hellinger": Exponentiated(Hellinger()),
    "some columns": named["gaussian"].on([2, 0]),
    "histograms on some columns": ChiSquared().on([1, 3]),
    "mixed": Delta(0.3).on([0, 1]) * named["gaussian"].on([2, 3]) + 0.5 * Overlap(),
}


def squared_product(A, B):
    return (1 + np.asarray((A @ B.T).todense() if sp.issparse(A) else A @ B.T)) ** 2


def rectified(omega, X):
    return np.maximum(X @ omega, 0)


def directions(n_columns, size, rng):
    return rng.normal((n_columns, size))


function, process = FunctionKernel(squared_product), RandomProcess(rectified, directions, draws=512)
general = {
    "function": function,
    "random process": process,
    "general sum": named["gaussian"] + function,
    "general product": process * named["laplacian"],
    "general multiple": 0.5 * function,
    "general stretch": process.stretched([1.0, 2.0, 3.0, 0.5]),
    "general nest": 0.5 * ((function + Matern()).stretched([2.0, 1.0], [0, 0, 1, 1]) * process),
}
kernels = {**named, **composed, **general}
every_kernel = pytest.mark.parametrize("kernel", kernels.values(), ids=kernels.keys())
every_shift_invariant = pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in kernels.values() if isinstance(kernel, ShiftInvariant)],
    ids=[name for name, kernel in kernels.items() if isinstance(kernel, ShiftInvariant)],
)
every_radial = pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in kernels.values() if isinstance(kernel, Radial)],
    ids=[name for name, kernel in kernels.items() if isinstance(kernel, Radial)],
)


made = [np.asarray]  # what normal numbers become for the kernel of the test that runs


@pytest.fixture(autouse=True)
def rows_that_the_kernel_takes(request):
    spec = getattr(request.node, "callspec", None)
    made[0] = kind(None if spec is None else spec.params.get("kernel"))


def kind(kernel):
    """Return histograms or whole numbers for kernels that refuse others."""
    normal = np.random.default_rng(0).normal(size=(60, 4))
    for change in (np.asarray, np.abs, np.rint):
        try:
            if kernel is not None:
                kernel.require(change(normal))
        except ValueError:
            continue
        return change
    raise AssertionError(f"There are no rows for {kernel}.")


def rows(n_rows=60, dtype=np.float64, seed=0):
    return made[0](np.random.default_rng(seed).normal(size=(n_rows, 4))).astype(dtype)


def resolved(kernel):
    return kernel.resolved(rows(), Random(0))


def test_the_registry_knows_the_kernels_by_name():
    known = {"cauchy", "euclidean_laplacian", "gaussian", "laplacian", "matern", "precomputed"}
    known |= {"arc_cosine", "dot_product", "exponential", "polynomial", "zonal"}
    assert known <= set(Kernel.registry)


@every_kernel
def test_the_matrix_is_symmetric_and_positive_semi_definite(kernel):
    X = rows()
    K = resolved(kernel)(X)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > -1e-14 * len(X) * np.trace(K)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_diagonal_is_the_kernel_of_each_row_with_itself(kernel, dtype):
    kernel, X = resolved(kernel), rows(dtype=dtype)
    diagonal = kernel.diagonal(X)
    assert diagonal.dtype == dtype
    np.testing.assert_allclose(diagonal, np.diagonal(kernel(X)), rtol=1e-6)
    np.testing.assert_allclose(diagonal, np.diagonal(kernel(X, X.copy())), rtol=ATOL[dtype])


@every_shift_invariant
def test_the_diagonal_of_a_shift_invariant_kernel_is_its_variance(kernel):
    kernel = resolved(kernel)
    np.testing.assert_allclose(kernel.diagonal(rows()), kernel.variance)


@every_shift_invariant
def test_float32_is_kept_and_close_to_float64_far_from_the_origin(kernel):
    kernel, A, B = resolved(kernel), rows(40), rows(30, seed=1)
    A, B = (np.float32(A) + np.float32(1000), np.float32(B) + np.float32(1000))
    K = kernel(A, B)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, kernel(np.float64(A), np.float64(B)), rtol=0, atol=1e-5)


@every_kernel
def test_tiles_do_not_show(kernel, monkeypatch):
    kernel, A, B = resolved(kernel), rows(50), rows(33, seed=1)
    whole, symmetric = kernel(A, B), kernel(A)
    monkeypatch.setattr("bochner.kernels.kernel.TILE", 16)
    np.testing.assert_allclose(kernel(A, B), whole, rtol=1e-13)
    np.testing.assert_allclose(kernel(A), symmetric, rtol=1e-13)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_a_prepared_kernel_fills_in_what_tile_gives(kernel, dtype, kind):
    kernel, A, B = resolved(kernel), rows(20, dtype), rows(33, dtype, seed=1)
    A[A < -1], B[B < -1] = 0, 0
    B[5] = A[7]
    other, A, B = A, kind(A), kind(B)
    prepared, out, mixed = kernel.prepared(B), np.empty((20, 19), dtype), np.empty((20, 19), dtype)
    prepared.fill(A, 4, 23, out)
    prepared.fill(other if sp.issparse(A) else sp.csr_array(A), 4, 23, mixed)
    np.testing.assert_allclose(out, kernel.tile(A, B[4:23]), rtol=ATOL[dtype])
    np.testing.assert_allclose(mixed, out, rtol=ATOL[dtype])
    assert kernel.tile(A, B).dtype == dtype
    prepared.fill(A[:0], 4, 23, out[:0])
    prepared.fill(A, 4, 4, np.empty((20, 0), dtype))


@every_kernel
def test_a_kernel_that_may_be_centred_does_not_see_a_shift(kernel):
    kernel, A, B = resolved(kernel), rows(20), rows(30, seed=1)
    assert kernel.centred == np.allclose(kernel.tile(A + 1, B + 1), kernel.tile(A, B))


@every_kernel
def test_k_of_A_is_k_of_A_with_a_copy_of_A(kernel):
    kernel, A = resolved(kernel), rows()
    np.testing.assert_allclose(kernel(A), kernel(A, A.copy()), rtol=0, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_what_dense_rows_give(kernel, dtype):
    kernel, A, B = resolved(kernel), rows(40, dtype), rows(30, dtype, seed=1)
    A[A < 0.5], B[B < 0.5] = 0, 0
    for left, right in [(sp.csr_array(A), sp.csr_array(B)), (A, sp.csr_matrix(B))]:
        K = kernel(left, right)
        assert K.dtype == dtype
        np.testing.assert_allclose(K, kernel(A, B), rtol=ATOL[dtype], atol=ATOL[dtype] * 2)
    K = kernel(sp.csr_array(A))
    np.testing.assert_allclose(K, kernel(A), rtol=ATOL[dtype], atol=ATOL[dtype] * 2)


@every_shift_invariant
def test_cosines_of_its_frequencies_converge_to_the_kernel(kernel):
    kernel, X, size = resolved(kernel), rows(30), 4000
    frequencies = kernel.frequencies(4, size, Random(1))
    assert frequencies.shape == (4, size)
    assert frequencies.dtype == np.float64
    phases = X @ frequencies
    cosines, sines = np.cos(phases), np.sin(phases)
    estimate = kernel.variance * (cosines @ cosines.T + sines @ sines.T) / size
    error = np.abs(estimate - kernel(X)) / kernel.variance
    # A cosine has a variance of at most 1; the maximum is over 435 pairs.
    assert error.max() < 4.5 / np.sqrt(size)
    assert np.sqrt(np.mean(error**2)) < 1 / np.sqrt(size)


@every_shift_invariant
def test_frequencies_are_a_function_of_the_random_numbers(kernel):
    kernel = resolved(kernel)
    first, again = (kernel.frequencies(4, 50, Random(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, kernel.frequencies(4, 50, Random(4)))


@every_kernel
def test_it_survives_cloning_and_a_round_trip_of_its_parameters(kernel):
    copy = clone(kernel)
    assert copy is not kernel
    assert copy == kernel
    assert clone(kernel).set_params(**kernel.get_params()) == kernel
    assert type(kernel)(**kernel.get_params(deep=False)) == kernel


@every_kernel
def test_resolved_leaves_no_default_open_and_is_idempotent(kernel):
    once = kernel.resolved(rows(), Random(0))
    assert not any(isinstance(value, str) for value in once.get_params().values())
    again = once.resolved(100 * rows(), Random(1))
    assert again == once
    assert again is not once


@every_kernel
def test_resolving_leaves_the_kernel_as_it_was(kernel):
    before = clone(kernel)
    kernel.resolved(rows(), Random(0))
    assert kernel == before


@every_kernel
def test_no_rows_give_an_empty_matrix(kernel):
    kernel = resolved(kernel)
    assert kernel(rows(0), rows(3)).shape == (0, 3)
    assert kernel(rows(3), rows(0)).shape == (3, 0)


@every_kernel
def test_rows_of_the_wrong_shape_are_refused(kernel):
    kernel = resolved(kernel)
    with pytest.raises(ValueError, match="two dimensions"):
        kernel(np.zeros(4))
    with pytest.raises(ValueError, match="same columns"):
        kernel(np.zeros((2, 4)), np.zeros((2, 3)))


def test_an_open_default_is_refused_with_what_to_do():
    for kernel in named.values():
        if not any(isinstance(value, str) for value in kernel.get_params().values()):
            continue
        with pytest.raises(ValueError, match=r"resolved\(X, rng\)"):
            kernel(np.abs(rows()))
        if isinstance(kernel, ShiftInvariant):
            with pytest.raises(ValueError, match=r"resolved\(X, rng\)"):
                kernel.frequencies(4, 10, Random(0))


@every_radial
def test_the_median_bandwidth_is_the_median_of_the_distances(kernel):
    X = rows(41)
    distances = kernel.distances(X, X)[np.triu_indices(41, 1)]
    number = clone(kernel).set_params(multiplier=3.0).resolved(X, Random(0)).bandwidth
    np.testing.assert_allclose(number, 3 * np.median(distances))


@every_radial
def test_the_median_of_a_large_sample_is_near_that_of_its_rows(kernel):
    large, small = rows(5000), rows(900, seed=1)
    ratio = (
        kernel.resolved(large, Random(0)).bandwidth / kernel.resolved(small, Random(0)).bandwidth
    )
    assert abs(ratio - 1) < 0.1
    sparse = kernel.resolved(sp.csr_array(large), Random(0)).bandwidth
    np.testing.assert_allclose(sparse, kernel.resolved(large, Random(0)).bandwidth)


@every_radial
def test_degenerate_samples_have_a_bandwidth(kernel):
    one, equal, rare = rows(1), np.full((20, 4), 1e6 / 3), np.zeros((20, 4))
    rare[0] = 1.0
    assert kernel.resolved(one, Random(0)).bandwidth == kernel.multiplier
    assert kernel.resolved(equal, Random(0)).bandwidth == kernel.multiplier
    distance = kernel.distances(rare[:1], rare[1:2])[0, 0]
    np.testing.assert_allclose(
        kernel.resolved(rare, Random(0)).bandwidth, kernel.multiplier * distance
    )


@every_radial
@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf, "mean", None, True, [1.0]])
def test_a_bandwidth_that_is_no_positive_number_is_refused(kernel, bandwidth):
    kernel = clone(kernel).set_params(bandwidth=bandwidth)
    with pytest.raises(ValueError, match=r"bandwidth of .* must be .*a finite positive number"):
        kernel.check()
    with pytest.raises(ValueError, match="bandwidth"):
        kernel.resolved(rows(), Random(0))
    with pytest.raises(ValueError, match="bandwidth"):
        kernel(rows())


@every_radial
def test_a_multiplier_that_is_no_positive_number_is_refused(kernel):
    with pytest.raises(ValueError, match="multiplier"):
        clone(kernel).set_params(multiplier=0).check()


@pytest.mark.parametrize("kernel", [Laplacian(1.0), EuclideanLaplacian(1.0), Matern(1.0, nu=2.5)])
def test_a_kernel_that_is_not_flat_at_0_sees_that_rows_are_equal_in_float32(kernel):
    X = rows(200, np.float32) * np.float32(100)
    np.testing.assert_allclose(np.diagonal(kernel(X, X.copy())), 1, rtol=1e-6)


def test_the_matrix_does_not_depend_on_the_number_of_threads():
    kernel, X = resolved(composed["nested"]), rows(1100, np.float32)
    with threads(1):
        alone = kernel(X)
    with threads(3):
        np.testing.assert_array_equal(kernel(X), alone)


def test_an_unknown_nu_is_refused():
    with pytest.raises(ValueError, match="nu of Matern"):
        Matern(1.0, nu=2.0)(rows())
