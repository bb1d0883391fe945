"""Hadamard products, waves of columns, orthogonal and quasi-random numbers are what they say."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard

from bochner.compute.elementwise.waves import column_waves
from bochner.compute.linear_algebra.hadamard import hadamard_products, power_of_two
from bochner.compute.random.counter_based import Random
from bochner.compute.random.variance_reduction import (
    OrthogonalRandom,
    QuasiRandom,
    StratifiedRandom,
    primes,
)
from bochner.data import ArraySource
from bochner.features import Fourier
from bochner.features.drawings import Fastfood, StructuredOrthogonal
from bochner.kernels import Gaussian

EXACT = {np.float32: 1e-4, np.float64: 1e-12}
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def plain_product(rows, n, blocks=1):
    """Return H x: no signs, no permutations, no lengths."""
    ones, orders = np.ones((blocks, n), rows.dtype), np.empty((blocks, 0, n), np.int32)
    return hadamard_products(rows, ones[:, None].copy(), orders, ones)


@both_dtypes
@pytest.mark.parametrize("n", [1, 2, 8, 64, 1024])
def test_the_fast_transform_is_the_product_with_the_hadamard_matrix(n, dtype):
    rows = np.random.default_rng(0).normal(size=(5, n)).astype(dtype)
    exact = rows.astype(float) @ hadamard(n)
    np.testing.assert_allclose(plain_product(rows, n), exact, atol=EXACT[dtype] * np.sqrt(n))


@pytest.mark.parametrize("columns", [0, 1, 7, 9, 15, 16])
def test_rows_are_filled_up_with_zeros(columns):
    rows = np.random.default_rng(0).normal(size=(5, columns))
    exact = rows @ hadamard(16)[:columns]
    found = plain_product(rows, 16, blocks=3)
    np.testing.assert_allclose(found, np.tile(exact, 3), atol=1e-13)
    assert plain_product(rows[:0], 16).shape == (0, 16)


def test_lengths_of_transforms_are_powers_of_two():
    assert [power_of_two(n) for n in (0, 1, 8, 9, 784, 1024)] == [1, 1, 8, 16, 1024, 1024]


def test_factors_that_do_not_fit_are_refused():
    rows = np.ones((2, 20))
    with pytest.raises(ValueError, match=r"not below the columns; got .* and 20 columns"):
        plain_product(rows, 16)
    with pytest.raises(ValueError, match="power of two"):
        plain_product(rows[:, :5], 12)


@both_dtypes
@pytest.mark.parametrize("drawing", [Fastfood(), StructuredOrthogonal()])
def test_units_are_the_products_of_their_factors(drawing, dtype):
    n, columns = 64, 50
    unit = drawing.draw(Gaussian(0.7), columns, Random(0, 5), dtype)
    rows = np.random.default_rng(0).normal(size=(7, columns)).astype(dtype)
    for block in range(drawing.pairs(columns) // n):
        matrix = np.diag(unit.diagonals[block, 0])
        for order, diagonal in zip(unit.orders[block], unit.diagonals[block, 1:], strict=True):
            matrix = np.diag(diagonal) @ np.eye(n)[order] @ hadamard(n) @ matrix
        matrix = np.diag(unit.lengths[block]) @ hadamard(n) @ matrix
        out = np.empty((7, 20), dtype)
        drawing.turns(rows, unit, n * block + 3, n * block + 23, out)
        np.testing.assert_allclose(out, rows @ matrix[3:23, :columns].T, atol=10 * EXACT[dtype])
        frequencies = 2 * np.pi * 0.7 * matrix
        lengths = np.linalg.norm(frequencies, axis=1)
        assert stats.kstest(lengths, stats.chi(n).cdf).pvalue > 1e-4
        if isinstance(drawing, StructuredOrthogonal):
            gram = frequencies @ frequencies.T
            np.testing.assert_allclose(gram, np.diag(lengths**2), atol=1e-4 * n)


@both_dtypes
@pytest.mark.parametrize("order", ["one after the other", "at random"])
def test_waves_of_columns_are_cosines(order, dtype):
    rng = np.random.default_rng(0)
    logarithms, roots = rng.normal(size=(2, 5, 20)).astype(dtype)
    columns = np.concatenate([np.arange(20), np.arange(3, 17)])
    if order == "at random":
        columns = rng.permutation(columns)
    waves, out = rng.normal(size=(3, 34)).astype(dtype), np.empty((5, 34), dtype)
    column_waves(logarithms, roots, columns, waves, out)
    phases = waves[0] * logarithms[:, columns].astype(float) - waves[1]
    exact = waves[2] * roots[:, columns] * np.cos(2 * np.pi * phases)
    np.testing.assert_allclose(out, exact, atol=EXACT[dtype])


@pytest.mark.parametrize("shape", [(1, 10), (3, 7), (4, 8), (9, 5), (6, 0)])
def test_orthogonal_numbers_come_in_every_shape(shape):
    found = OrthogonalRandom(Random(0), "test").normal(shape)
    assert found.shape == shape
    plain = Random(0).normal(shape)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), np.linalg.norm(plain, axis=0))
    np.testing.assert_allclose(found[:, :1], plain[:, :1])
    if shape[0] == 1:
        np.testing.assert_allclose(found, plain)


def test_other_orthogonal_numbers_are_random_ones():
    orthogonal, plain = OrthogonalRandom(Random(0), "test"), Random(0)
    np.testing.assert_array_equal(orthogonal.normal(3), plain.normal(3))
    assert orthogonal.cauchy(4).shape == (4,)
    with pytest.raises(ValueError, match="'test' draws each column by itself"):
        orthogonal.cauchy((3, 4))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_stratified_numbers_lie_in_intervals_of_their_own(n):
    numbers = StratifiedRandom(Random(0)).uniform(n)
    np.testing.assert_array_equal(np.sort(np.floor(n * numbers)), np.arange(n))
    assert ((numbers > 0) & (numbers < 1)).all()


def test_stratified_numbers_have_their_law_closely_and_no_order():
    even = StratifiedRandom(Random(1))
    first, second = even.gamma(0.7, 2000), even.exponential(2000)
    assert stats.kstest(first, stats.gamma(0.7).cdf).statistic < 1e-3
    assert stats.kstest(second, stats.expon.cdf).statistic < 1e-3
    assert abs(stats.spearmanr(first, second).statistic) < 0.1
    assert abs(stats.spearmanr(first[1:], first[:-1]).statistic) < 0.1


def test_products_with_columns_transform_a_block_once(monkeypatch):
    X, seen = np.random.default_rng(0).normal(size=(256, 1500)), []
    sample = ArraySource(X).sample(256)
    basis = Fourier(4096, "fastfood").build(Gaussian(40.0), sample, 0, np.float64)

    def counted(rows, *factors):
        seen.append(len(rows))
        return hadamard_products(rows, *factors)

    monkeypatch.setattr("bochner.features.drawings.hadamard_products", counted)
    projected = basis.project(basis.encode(X), X[:, :2])
    assert sum(seen) == 256
    np.testing.assert_allclose(projected, basis.columns(basis.encode(X)).T @ X[:, :2], atol=1e-9)


def test_quasi_random_numbers_are_numbered():
    whole = QuasiRandom(Random(7, 0), 0, 600)
    first, second = whole.uniform((5, 600)), whole.uniform(600)
    part = QuasiRandom(Random(7, 3), 300, 300)
    np.testing.assert_array_equal(part.uniform((5, 300)), first[:, 300:])
    np.testing.assert_array_equal(part.uniform(300), second[300:])
    other = QuasiRandom(Random(8, 0), 0, 600).uniform((5, 600))
    assert np.abs(other - first).max() > 0.1


def test_every_interval_of_a_base_gets_its_share():
    points = QuasiRandom(Random(0, 0), 2**12, 3**5 * 64).uniform((6, 3**5 * 64))
    assert points.min() > 0
    assert points.max() < 1
    for base, coordinate in zip((2, 3, 5, 7, 11, 13), points, strict=True):
        digits = int(np.log(200) / np.log(base))
        block = coordinate[: base**digits]
        places = np.sort(np.floor(block * base**digits))
        np.testing.assert_array_equal(places, np.arange(base**digits))


def test_pairs_of_quasi_random_coordinates_are_more_even_than_random_ones():
    points = QuasiRandom(Random(0, 0), 0, 4096).uniform((40, 4096))
    for pair in (points[:2], points[7:9], points[38:]):
        counts, *_ = np.histogram2d(*pair, bins=16, range=[[0, 1], [0, 1]])
        assert counts.var() < 0.8 * 16  # of random points it is the mean, 16


def test_a_quasi_random_point_is_uniform_by_itself():
    numbers = [QuasiRandom(Random(seed, 0), 5, 1).uniform((3, 1))[:, 0] for seed in range(500)]
    for coordinate in np.transpose(numbers):
        assert stats.kstest(coordinate, stats.uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda rng: rng.normal((2, 4000)), stats.norm),
        (lambda rng: rng.exponential((2, 4000)), stats.expon),
        (lambda rng: rng.cauchy((2, 4000)), stats.cauchy),
        (lambda rng: rng.gamma(0.3, (2, 4000)), stats.gamma(0.3)),
        (lambda rng: rng.gamma(2, (2, 4000)), stats.gamma(2)),
    ],
)
def test_quasi_random_numbers_have_their_law_closely(draw, law):
    for numbers in draw(QuasiRandom(Random(1, 0), 0, 4000)):
        assert stats.kstest(numbers, law.cdf).statistic < 0.005  # of random ones about 0.014


def test_primes_are_prime():
    assert list(primes(8)) == [2, 3, 5, 7, 11, 13, 17, 19]
    assert list(primes(1)) == [2]
    assert primes(1000)[-1] == 7919
    assert len(primes(6)) == 6
