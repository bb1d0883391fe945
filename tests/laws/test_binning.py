"""What random binning promises, whatever the rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from bochner.compute.bins.fingerprints import BinTable, Columns, fingerprints
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Binning, BinningDiagnostics
from bochner.kernels import Gaussian, Laplacian, Product, Stretched


def rows(n, columns=3, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, columns)).astype(dtype)


def built(X, grids=32, kernel=None, seed=0, **options):
    kernel = Laplacian(2.0) if kernel is None else kernel
    return Binning(grids, **options).build(kernel, ArraySource(X).sample(len(X)), seed)


def approximated(X, kernel, grids, seed=0, **options):
    basis, code = built(X, grids, kernel, seed, **options).extended(X)
    matrix = basis.matrix(code)
    return (matrix @ matrix.T).toarray()


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(2.0),
        3.0 * Laplacian(1.0),
        Laplacian(0.5) + 2.0 * Laplacian(4.0),
        Stretched(Laplacian(1.0), [1.0, 2.0, 5.0]),
    ],
    ids=["laplacian", "scaled", "sum", "stretched"],
)
@pytest.mark.parametrize("grids", [64, 1024])
def test_the_share_of_common_bins_is_the_kernel_up_to_the_error_of_so_many_grids(kernel, grids):
    X, variance = rows(40), kernel.variance
    expected = kernel(X) / variance
    shares = [approximated(X, kernel, grids, seed) / variance for seed in range(12)]
    # Each grid is a coin of probability k: its mean square error is k (1 - k) / grids.
    error = np.mean((shares - expected) ** 2) / np.mean(expected * (1 - expected) / grids)
    assert 0.7 < error < 1.4


def test_two_categories_are_as_near_as_zero_and_one_of_a_column_of_numbers():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [7.0, 0.0], [7.0, 1.0]])
    share = approximated(X, Laplacian(1.5), 20_000, categorical=(0,))
    near = np.exp(-1 / 1.5)
    expected = [
        [1, near, near, near**2],
        [near, 1, near, near**2],
        [near, near, 1, near],
        [near**2, near**2, near, 1],
    ]
    np.testing.assert_allclose(share, expected, atol=0.02)


def test_bins_are_those_of_the_grid():
    X = rows(500)
    basis, code = built(X, 5).extended(X)
    for grid, numbers in zip(basis.grids, code.T, strict=True):
        cells = np.round(X * grid.inverse - grid.shift)
        _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))  # numbered in the order of appearance
        np.testing.assert_array_equal(numbers, order[inverse.ravel()])


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_dense_and_sparse_single_and_double_rows_lie_in_the_same_bins(share):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 6)) * (rng.random((3000, 6)) < share)).astype(np.float32)
    basis, code = built(X, 8).extended(X)
    for other in (X.astype(np.float64), sp.csr_array(X), sp.csr_array(X.astype(np.float64))):
        np.testing.assert_array_equal(basis.encode(other), code)


def test_a_changed_column_changes_one_term_of_the_fingerprint():
    X, Y = rows(100), rows(100)
    Y[:, 1:] = X[:, 1:]
    grid = built(X, 1).grids[0]
    alone = type(grid)(grid.inverse[:1], grid.shift[:1], grid.multiplier[:1])

    def prints(grid, X):
        return fingerprints(Columns.of(X), grid.inverse, grid.shift, grid.multiplier)

    np.testing.assert_array_equal(
        prints(grid, Y) - prints(grid, X), prints(alone, Y[:, :1]) - prints(alone, X[:, :1])
    )


def test_codes_do_not_depend_on_threads_or_pieces():
    X = rows(40_000, dtype=np.float32)
    with threads(1):
        one, code = built(X, 4).extended(X)
    two = built(X, 4)
    pieces = []
    for start in range(0, len(X), 7001):
        two, piece = two.extended(X[start : start + 7001])
        pieces.append(piece)
    np.testing.assert_array_equal(np.concatenate(pieces), code)
    np.testing.assert_array_equal(two.starts, one.starts)


def test_bins_that_were_not_met_are_unknown_and_weigh_nothing():
    X, far = rows(200), rows(50) + 1000.0
    basis, _ = built(X, 4).extended(X)
    assert (basis.encode(far) == -1).all()
    assert not basis.evaluate(basis.encode(far), np.ones((basis.size, 2))).any()
    assert basis.matrix(basis.encode(far)).nnz == 0


def test_a_basis_stays_what_it_is_while_a_larger_one_is_made_from_it():
    X, Y = rows(300), rows(300, seed=1)
    small, code = built(X, 6).extended(X)
    large, _ = small.extended(Y)
    assert large.size > small.size
    np.testing.assert_array_equal(small.encode(X), code)
    np.testing.assert_array_equal(small.encode(Y) >= 0, large.encode(Y) < small.counts)
    weights = rows(small.size, 2)
    np.testing.assert_allclose(
        large.evaluate(large.encode(X), large.embed_weights(weights, small)),
        small.evaluate(code, weights),
    )


def test_more_grids_keep_the_function():
    X = rows(300)
    small, code = built(X, 4).extended(X)
    large = Binning("auto").larger_basis(small, Laplacian(2.0), seed=0)
    large, larger_code = large.extended(X)
    assert len(large.grids) == 8
    weights = rows(small.size, 1)
    np.testing.assert_allclose(
        large.evaluate(larger_code, large.embed_weights(weights, small)),
        small.evaluate(code, weights),
    )
    np.testing.assert_array_equal(larger_code, built(X, 8).extended(X)[1])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evaluate_and_project_are_products_with_the_matrix(outputs, dtype):
    X = rows(700)
    basis, code = built(X, 9).extended(X)
    matrix = basis.matrix(code)
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    weights, values = rows(basis.size, outputs).astype(dtype), rows(len(X), outputs)
    np.testing.assert_allclose(
        basis.evaluate(code, weights), matrix @ weights, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(basis.project(code, values), matrix.T @ values, atol=1e-12)
    np.testing.assert_allclose(
        basis.project(code, values, 5, 50), (matrix.T @ values)[5:50], atol=1e-12
    )
    expected = (matrix.power(2)).T @ values[:, 0]
    total = np.ones(basis.size)
    basis.squares(code, values[:, 0], total)
    np.testing.assert_allclose(total, 1 + expected, atol=1e-12)


def test_a_pickled_basis_knows_the_same_bins():
    X = rows(300)
    basis, code = built(X, 5).extended(X)
    basis.extended(rows(300, seed=3))  # the tables know more bins than this basis
    again = pickle.loads(pickle.dumps(basis))
    assert again.size == basis.size
    np.testing.assert_array_equal(again.encode(X), code)


def test_a_restricted_basis_forgets_the_other_bins():
    X = rows(300)
    basis, code = built(X, 5).extended(X)
    kept = np.random.default_rng(0).random(basis.size) < 0.3
    small, weights = basis.restricted(kept), rows(basis.size, 1)
    weights[~kept] = 0
    np.testing.assert_allclose(
        small.evaluate(small.encode(X), weights[kept]), basis.evaluate(code, weights)
    )


def test_kernels_without_a_law_of_pitches_are_refused_by_name():
    X = rows(10)
    for kernel in (Gaussian(1.0), Product(Laplacian(1.0), Gaussian(1.0)), 2.0 * Gaussian(1.0)):
        with pytest.raises(ValueError, match="'laplacian'"):
            built(X, 2, kernel)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_numbers_whose_bins_would_overflow_are_refused_not_misplaced(kind):
    X = rows(10)
    basis = built(X, 4)
    X[3, 1] = 1e17
    with pytest.raises(ValueError, match=r"Column 1 must have numbers below .*; got 1e\+17"):
        basis.encode(kind(X))


@pytest.mark.parametrize("grids", [0, -1, 2.5, "many", True])
def test_numbers_of_grids_out_of_range_are_refused(grids):
    with pytest.raises(ValueError, match="grids must be"):
        built(rows(10), grids)


@pytest.mark.parametrize("categorical", [(3,), (-1,), (0.5,), "all"])
def test_categorical_columns_out_of_range_are_refused(categorical):
    with pytest.raises(ValueError, match="categorical must be"):
        built(rows(10), 2, categorical=categorical)


def test_a_table_numbers_fingerprints_like_a_dictionary():
    rng = np.random.default_rng(0)
    prints = rng.integers(0, 5000, 20_000).astype(np.uint64) * np.uint64(2**40 + 1)
    table, known = BinTable(), {}
    numbers = np.concatenate([table.admit(part) for part in np.array_split(prints, 7)])
    expected = [known.setdefault(value, len(known)) for value in prints.tolist()]
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(table.fingerprints(), list(known))
    assert len(table) == len(known)


def test_a_full_table_admits_no_more():
    prints = np.arange(100, dtype=np.uint64)
    table = BinTable()
    np.testing.assert_array_equal(table.admit(prints, most=30), [*range(30), *[-1] * 70])
    np.testing.assert_array_equal(table.admit(prints[:40], most=30), [*range(30), *[-1] * 10])


def test_diagnostics_are_those_of_the_paper():
    X = rows(500)
    basis, code = built(X, 3).extended(X)
    matrix = (basis.matrix(code) > 0).astype(float)
    shares = matrix.mean(axis=0)
    rows_in_bins = np.zeros(basis.size, np.int32)
    basis.count(code, rows_in_bins)
    diagnostics = BinningDiagnostics.of(basis, rows_in_bins)
    grids = np.split(shares, basis.starts[1:-1])
    assert diagnostics.kappa == pytest.approx(np.mean([1 / grid.max() for grid in grids]))
    assert diagnostics.collision_probability == pytest.approx(shares.mean())
    assert diagnostics.bins_per_grid == basis.size / 3
    assert diagnostics.speedup(1) == 1.0
    assert diagnostics.speedup(4) == pytest.approx(4 / (1 + 2 * 3 / (basis.size - 1)))


@dataclass
class Hat(Laplacian):
    """A user's kernel: max(0, 1 - |a - b| / bandwidth), whose pitch is always the bandwidth."""

    def pitches(self, n_columns, size, rng):
        return np.full((n_columns, size), float(self.bandwidth))


def test_a_users_law_of_pitches_gives_a_users_kernel():
    X = np.array([[0.0], [0.5], [1.5]])
    expected = [[1, 0.75, 0.25], [0.75, 1, 0.5], [0.25, 0.5, 1]]
    np.testing.assert_allclose(approximated(X, Hat(2.0), 20_000), expected, atol=0.02)
