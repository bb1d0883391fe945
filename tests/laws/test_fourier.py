"""Random Fourier features approximate their kernel, and depend on nothing but seed and number."""

import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.transformers.fourier import RandomFourier
from bochner.features import SAMPLE_ROWS, FeatureMap, Fourier, prepare
from bochner.features.codes.kept_columns import RememberedBasis
from bochner.features.random.fourier import PAIRS
from bochner.kernels import Gaussian, Kernel, Laplacian, Matern
from bochner.validation import seed_of

EXACT = {np.float32: 2e-6, np.float64: 1e-13}
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows(n_rows=50, n_columns=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def built(size=1024, kernel=None, X=None, seed=0, **options):
    sample = ArraySource(rows() if X is None else X).sample(SAMPLE_ROWS)
    return Fourier(size).build(kernel or Gaussian(2.0), sample, seed, **options)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0), Laplacian(3.0), Matern(2.0), 2.5 * Gaussian(1.5), Gaussian(2.0) + Matern(1.0)],
    ids=["gaussian", "laplacian", "matern", "scaled", "sum"],
)
def test_products_of_features_approximate_the_kernel(kernel):
    X = rows()
    basis = built(16_384, kernel, dtype=np.float64)
    Phi = basis.columns(basis.encode(X))
    error = Phi @ Phi.T - kernel(X)
    assert np.abs(error).max() < 6 * kernel.variance / np.sqrt(16_384 / 2)
    np.testing.assert_allclose(np.diagonal(error), 0, atol=1e-12)


@both_dtypes
def test_features_are_waves_of_the_kernels_frequencies(dtype):
    X, kernel = rows(), Gaussian(2.0)
    basis = built(1000, kernel, dtype=dtype)
    omega = np.concatenate([basis.parameters(i).astype(float) for i in (0, 1)], axis=1)[:, :500]
    angles = 2 * np.pi * (X - X.mean(axis=0)) @ omega
    Phi = basis.columns(basis.encode(X))
    assert Phi.dtype == dtype
    scale = np.sqrt(2 / 1000)
    np.testing.assert_allclose(Phi[:, ::2], scale * np.cos(angles), atol=EXACT[dtype])
    np.testing.assert_allclose(Phi[:, 1::2], scale * np.sin(angles), atol=EXACT[dtype])


def test_a_smaller_size_is_a_prefix_of_a_larger_one_and_of_the_endless_one():
    X = rows()
    small, large, endless = built(300), built(2000), built(None)
    code = small.encode(X)
    Phi = small.columns(code)
    np.testing.assert_allclose(large.columns(code, 0, 300) * large.gain(300), Phi, atol=1e-6)
    np.testing.assert_allclose(endless.columns(code, 0, 300) * endless.gain(300), Phi, atol=1e-6)
    assert endless.size is None


@pytest.mark.parametrize("size", [None, 2048])
def test_any_block_times_its_gain_approximates_the_kernel(size):
    X, basis = rows(20), built(size)
    block = basis.gain(1024) * basis.columns(basis.encode(X), 512, 1536)
    np.testing.assert_allclose(block @ block.T, Gaussian(2.0)(X), atol=6 / np.sqrt(512))


def test_values_are_the_same_whatever_is_kept_in_memory():
    X, weights = rows(200), rows(3000, 2)
    kept, redrawn, some = built(None), built(None, memory=0), built(None, memory=5 * 4 * PAIRS * 4)
    code = kept.encode(X)
    for basis in (redrawn, some):
        np.testing.assert_array_equal(basis.evaluate(code, weights), kept.evaluate(code, weights))
        np.testing.assert_array_equal(basis.columns(code, 0, 3000), kept.columns(code, 0, 3000))
    assert len(kept._kept) == 6
    assert len(some._kept) == 5
    assert not redrawn._kept


def test_threads_may_share_a_basis_that_keeps_nothing():
    basis = built(None, memory=0)
    code, weights = basis.encode(rows(300)), rows(2000, 1)
    expected, results = basis.evaluate(code, weights), []
    callers = [
        threading.Thread(target=lambda: results.append(basis.evaluate(code, weights)))
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((result == expected).all() for result in results)
    assert len(results) == 4


def test_another_seed_gives_other_features():
    X = rows()
    one, other = (built(64, seed=seed).columns(built(64).encode(X)) for seed in (0, 1))
    assert np.abs(one - other).max() > 0.1


def test_a_basis_survives_pickling():
    basis, X = built(600), rows()
    expected = basis.columns(basis.encode(X))
    copy = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(copy.columns(copy.encode(X)), expected)


def test_a_far_away_centre_costs_no_accuracy():
    X = rows()
    near, far = built(512), built(512, X=X + 1e6)
    np.testing.assert_allclose(
        far.columns(far.encode(X + 1e6)), near.columns(near.encode(X)), atol=1e-6
    )


@both_dtypes
def test_sparse_rows_give_the_features_of_dense_rows_at_the_same_place(dtype):
    X = sp.random_array((300, 40), density=0.1, format="csr", random_state=0)
    basis = built(1000, Gaussian(3.0), X, dtype=dtype)
    code = basis.encode(X)
    assert sp.issparse(code)
    assert code.dtype == dtype
    Phi = basis.columns(code)
    np.testing.assert_allclose(Phi, basis.columns(basis.encode(X.toarray())), atol=1e-6)
    G = rows(300, 2)
    np.testing.assert_allclose(basis.project(code, G), Phi.T @ G, rtol=1e-3, atol=1e-4)


def test_sparse_rows_may_follow_a_dense_sample():
    X = sp.random_array((30, 4), density=0.3, format="csr", random_state=0)
    basis = built(64, X=X.toarray() + 0.0)
    np.testing.assert_array_equal(basis.encode(X), basis.encode(X.toarray()))


def test_integer_rows_are_fine():
    X = np.arange(20).reshape(5, 4)
    basis = built(64, X=X)
    np.testing.assert_array_equal(basis.encode(X), basis.encode(X.astype(float)))


@pytest.mark.parametrize("size", [0, 3, -2, 2.0, "many"])
def test_sizes_that_are_not_even_are_refused(size):
    with pytest.raises(ValueError, match="even number"):
        built(size)


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="rows of 4 columns"):
        built().encode(np.ones((3, 5)))


def test_an_infinite_basis_needs_to_know_where_to_stop():
    basis = built(None)
    with pytest.raises(ValueError, match="infinite: give the number of functions"):
        basis.columns(basis.encode(rows()))


def test_a_kernel_without_spectral_measure_is_refused_by_name():
    @dataclass
    class Linear(Kernel):
        matrix = diagonal = check = resolved = None

    with pytest.raises(ValueError, match=r"'gaussian', 'laplacian'.*got .*Linear"):
        built(kernel=Linear())


def test_prepare_resolves_names_and_the_bandwidth():
    sample = ArraySource(rows()).sample(SAMPLE_ROWS)
    kernel, basis = prepare("gaussian", "fourier", sample, 0)
    assert kernel.bandwidth > 0
    assert basis.size is None
    assert isinstance(FeatureMap.resolve("fourier"), Fourier)


@parametrize_with_checks([RandomFourier(size=64)])
def test_the_transformer_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@both_dtypes
def test_the_transformer_gives_the_columns_of_the_basis(dtype):
    X = rows(200).astype(dtype)
    transformer = RandomFourier(size=300, random_state=3)
    sample = ArraySource(X).sample(SAMPLE_ROWS, 3)
    kernel, basis = prepare("gaussian", Fourier(300), sample, 3, dtype)
    Z = transformer.fit_transform(X)
    assert Z.dtype == dtype
    assert transformer.kernel_ == kernel
    np.testing.assert_array_equal(Z, basis.columns(basis.encode(X)))


def test_the_transformer_gives_the_same_for_any_number_of_threads():
    X = rows(700)
    one, two = (RandomFourier(size=600, random_state=0, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.fit_transform(X), two.fit_transform(X))


def test_the_transformer_names_its_features():
    frame = (
        RandomFourier(size=4, random_state=0).set_output(transform="pandas").fit_transform(rows())
    )
    assert list(frame.columns) == [f"randomfourier{i}" for i in range(4)]


def test_seeds_are_integers():
    assert seed_of(7) == 7
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    assert seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    assert seed_of(None) != seed_of(None)
    with pytest.raises(ValueError):
        seed_of("seven")


def test_a_thread_limit_of_the_caller_is_kept():
    with threads(1):
        assert RandomFourier(size=8, random_state=0).fit_transform(rows()).shape == (50, 8)


def test_columns_that_are_not_kept_yet_take_no_part():
    """A tile that is not full has room for more rows, which must not be unknown ones."""
    source = ArraySource(np.linspace(0, 1, 300)[:, None])
    inner = Fourier(32).build(Gaussian(1.0), source.sample(10), seed=0)
    kept = RememberedBasis(inner, rows=300)
    kept._matrix = np.full((300, 32), np.nan, np.float32)  # as memory that was never written may be
    batch = next(source.batches(200, start=1))
    code, values = kept.encode_batch(batch), np.ones((100, 3), np.float32)
    np.testing.assert_array_equal(
        kept.project(code, values), inner.project(inner.encode(batch.X), values)
    )
