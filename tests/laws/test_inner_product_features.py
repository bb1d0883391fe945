"""Random features of inner-product kernels have these kernels as their means."""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import ArcCosine as ArcCosineFeatures
from bochner import RandomMaclaurin, TensorSketch
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import (
    ExponentialFourier,
    Fourier,
    Harmonics,
    Maclaurin,
    Rectified,
    Sketch,
    map_of,
    prepare,
)
from bochner.features.random.random_basis import UNIT
from bochner.kernels import (
    ArcCosine,
    DotProduct,
    Exponential,
    FunctionKernel,
    Gaussian,
    Polynomial,
    Zonal,
)

PAIRS = [
    (Sketch, Polynomial(1, 0.5, 0.3)),
    (Sketch, Polynomial(2, 0.0, 0.3)),
    (Sketch, Polynomial(3, 1.0, 0.2)),
    (Maclaurin, Polynomial(3, 1.0, 0.2)),
    (Maclaurin, DotProduct([0.5, 0.0, 0.25])),
    (Maclaurin, Exponential(2.0)),
    (Rectified, ArcCosine(0)),
    (Rectified, ArcCosine(1)),
    (Rectified, ArcCosine(2)),
    (Harmonics, Zonal()),
    (Harmonics, Zonal([0.0, 0.0, 1.0])),
    (ExponentialFourier, Exponential(2.0)),
]
every_pair = pytest.mark.parametrize(("Map", "kernel"), PAIRS, ids=repr)
one_kernel_each = pytest.mark.parametrize(
    ("Map", "kernel"), {Map: (Map, kernel) for Map, kernel in PAIRS}.values(), ids=repr
)
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows(n_rows=12, n_columns=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def built(features, kernel, X=None, seed=0, dtype=np.float64, **options):
    sample = ArraySource(rows() if X is None else X).sample(4096)
    return features.build(kernel, sample, seed, dtype, **options)


def assert_unbiased(basis, X, K, width=UNIT // 2, pieces=200):
    """Pieces are drawn alike: their mean is within five standard errors of the kernel.

    A piece is half a unit, so that a function's place in its unit is seen not to matter.
    """
    code, products = basis.encode(X), []
    for piece in range(pieces):
        Phi = basis.gain(width) * basis.columns(code, piece * width, (piece + 1) * width)
        products.append(Phi @ Phi.T)
    error = np.std(products, axis=0) / np.sqrt(pieces)
    assert (np.abs(np.mean(products, axis=0) - K) < 5 * error + 1e-10).all()


@every_pair
def test_features_have_the_kernel_as_their_mean(Map, kernel):
    X = rows()
    assert_unbiased(built(Map(), kernel), X, kernel(X))


@pytest.mark.parametrize("kernel", [Exponential(2.0), Polynomial(2, 1.0, 0.3)], ids=repr)
def test_so_they_have_with_the_law_of_the_paper(kernel):
    X = rows()
    assert_unbiased(built(Maclaurin(None, "geometric"), kernel), X, kernel(X))


@pytest.mark.parametrize("n_columns", [40, 300])  # by roots of unity, by transforms
def test_sketches_of_many_columns_have_the_kernel_as_their_mean(n_columns):
    X = rows(8, n_columns) / np.sqrt(n_columns)
    kernel = Polynomial(2, 0.5, 1.0)
    assert_unbiased(built(Sketch(), kernel, X), X, kernel(X), pieces=50)


@pytest.mark.parametrize("n_columns", [4, 100])
def test_sketches_of_any_size_come_as_close_as_that_promises(n_columns):
    """The variance of a tensor sketch of D buckets is at most (3^p - 1) k(x, x) k(y, y) / D."""
    X, kernel = rows(12, n_columns), Polynomial(2, 0.0, 1.0)
    bound = 8 * np.outer(kernel.diagonal(X), kernel.diagonal(X))
    for size in (100, 701, 5000):
        errors = []
        for seed in range(20):
            basis = built(Sketch(size), kernel, X, seed)
            Phi = basis.columns(basis.encode(X))
            errors.append((Phi @ Phi.T - kernel(X)) ** 2 / bound)
        assert np.mean(errors) < 1.5 / size


@pytest.mark.parametrize("n_columns", [5, 300])
def test_a_sketch_has_the_products_of_convolved_count_sketches(n_columns, monkeypatch):
    """Pham and Pagh's Algorithm 1, written out."""
    monkeypatch.setattr("bochner.features.random.sketch.NARROW", 0)
    X, kernel = rows(6, n_columns), Polynomial(3, 2.0, 0.1)
    basis = built(Sketch(UNIT), kernel, X)
    U = np.hstack([np.sqrt(0.1) * X, np.full((6, 1), np.sqrt(2.0))])
    spectrum = 1
    for buckets, signs in basis.parameters(0):
        counts = np.zeros((6, UNIT))
        for column in range(n_columns + 1):
            counts[:, buckets[column]] += signs[column] * U[:, column]
        spectrum = spectrum * np.fft.fft(counts)
    sketch = np.fft.ifft(spectrum).real
    Phi = basis.columns(basis.encode(X))
    np.testing.assert_allclose(Phi @ Phi.T, sketch @ sketch.T, rtol=1e-9)


@both_dtypes
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_few_columns_are_sketched_as_many_are(dtype, kind, degree, monkeypatch):
    X, kernel = rows(300, 6), Polynomial(degree, 2.0, 0.1)
    few = built(Sketch(UNIT), kernel, X, dtype=dtype)
    monkeypatch.setattr("bochner.features.random.sketch.NARROW", 0)
    many = built(Sketch(UNIT), kernel, X, dtype=dtype)
    assert type(few) is not type(many)
    code = few.encode(kind(X))
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    for part in ((0, UNIT), (3, 400)):
        np.testing.assert_allclose(
            many.columns(code, *part), few.columns(code, *part), atol=tolerance
        )


def test_few_columns_have_no_collisions_in_many_buckets():
    X, kernel = rows(20, 2), Polynomial(2, 1.0, 1.0)
    for size, tolerance in ((16_384, 1e-10), (16_383, 1e-2)):  # an odd size leaves one out
        basis = built(Sketch(size), kernel, X)
        Phi = basis.columns(basis.encode(X))
        np.testing.assert_allclose(Phi @ Phi.T, kernel(X), atol=tolerance)


@one_kernel_each
@both_dtypes
def test_sparse_rows_have_the_features_of_dense_rows(Map, kernel, dtype):
    X = rows(300, 6)
    X[X < 0.3] = 0
    basis = built(Map(1000), kernel, X, dtype=dtype)
    code = basis.encode(sp.csr_matrix(X))
    assert sp.issparse(code)
    assert code.dtype == dtype
    dense = basis.columns(basis.encode(X))
    assert dense.dtype == dtype
    np.testing.assert_allclose(basis.columns(code), dense, atol=2e-5)
    assert (X == 0).all(axis=1).any()


@one_kernel_each
def test_a_smaller_size_is_a_prefix_of_a_larger_one_and_of_the_endless_one(Map, kernel):
    if Map is Sketch:
        pytest.skip("a sketch has as many buckets as there are functions")
    X = rows()
    small, large, endless = (built(Map(size), kernel, X) for size in (300, 2000, None))
    Phi = small.columns(small.encode(X))
    for basis in (large, endless):
        part = basis.gain(300) * basis.columns(basis.encode(X), 0, 300)
        np.testing.assert_allclose(part, Phi, rtol=1e-9, atol=1e-9)


@one_kernel_each
def test_values_are_the_same_whatever_is_kept_in_memory_and_for_any_threads(Map, kernel):
    X, weights = rows(700), rows(3000, 2)
    kept, redrawn = built(Map(), kernel), built(Map(), kernel, memory=0)
    code = kept.encode(X)
    expected = kept.evaluate(code, weights)
    with threads(1):
        np.testing.assert_array_equal(redrawn.evaluate(code, weights), expected)
    assert kept._kept
    assert not redrawn._kept


@one_kernel_each
def test_other_kernels_are_refused_with_the_names_of_those_that_are_not(Map, kernel):
    for other in (Gaussian(1.0), FunctionKernel(lambda A, B: A @ B.T)):
        with pytest.raises(ValueError, match=r"exist for .* such as '.*; got .*'centers'"):
            built(Map(64), other)
    with pytest.raises(ValueError, match="shift-invariant kernels, such as 'anova', 'cauchy'"):
        built(Fourier(64), kernel)


@one_kernel_each
@pytest.mark.parametrize("size", [0, -2, 2.0, True, "many"])
def test_sizes_that_are_none_are_refused(Map, kernel, size):
    with pytest.raises(ValueError, match="size must be"):
        built(Map(size), kernel)


def test_cosines_have_sines_beside_them():
    with pytest.raises(ValueError, match="even number"):
        built(ExponentialFourier(5), Exponential(1.0))


def test_an_unknown_law_of_degrees_is_refused():
    with pytest.raises(ValueError, match="'proportional' or 'geometric'; got 'uniform'"):
        built(Maclaurin(64, "uniform"), Exponential(1.0))


@pytest.mark.parametrize(("Map", "kernel"), PAIRS, ids=repr)
def test_each_kernel_knows_its_random_features(Map, kernel):
    features = map_of(kernel)
    assert built(features, kernel).size is None


@pytest.mark.parametrize(
    ("Transformer", "Map", "kernel"),
    [
        (TensorSketch, Sketch, Polynomial()),
        (RandomMaclaurin, Maclaurin, Exponential()),
        (ArcCosineFeatures, Rectified, ArcCosine()),
    ],
)
@both_dtypes
def test_the_transformers_give_the_columns_of_the_basis(Transformer, Map, kernel, dtype):
    X = rows(200).astype(dtype)
    transformer = Transformer(size=300, random_state=3)
    Z = transformer.fit_transform(X)
    kernel, basis = prepare(kernel, Map(300), ArraySource(X).sample(4096, 3), 3, dtype)
    assert Z.dtype == dtype
    assert transformer.kernel_ == kernel
    np.testing.assert_array_equal(Z, basis.columns(basis.encode(X)))
    with pytest.raises(ValueError, match="exist for"):
        Transformer("gaussian").fit(X)
