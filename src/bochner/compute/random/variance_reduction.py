"""Random numbers whose means vary less: stratified, orthogonal and quasi-random ones."""

from __future__ import annotations

from math import log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.compiled import compiled
from bochner.compute.random.counter_based import Random, Shape, gamma_quantiles

HALTON = 0x48616C746F6E  # the path of the scrambling numbers
DIGITS = 40  # binary digits of a number


class StratifiedRandom(Random):
    """A stream in which n uniform numbers lie in n equal intervals, one in each, in random order.

    Each number is uniform, and sums over them have a smaller variance; the orders of two calls are
    independent (McKay, Beckman and Conover 1979, A comparison of three methods for selecting values
    of input variables in the analysis of output from a computer code: Latin hypercube sampling).
    Exponential, Cauchy and Gamma numbers use inverse distribution functions; normal ones are
    independent.

    Parameters
    ----------
    rng : Random
        The underlying stream.
    """

    def __init__(self, rng: Random) -> None:
        self.seed, self.path, self.bits = rng.seed, rng.path, rng.bits
        self.rng = rng

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers in (0, 1), one in each of as many intervals."""
        within = self.rng.uniform(shape)
        places = self.rng.permutation(within.size).reshape(within.shape)
        return np.minimum((places + within) / max(within.size, 1), 1 - 2.0**-53)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return independent normal numbers."""
        return self.rng.normal(shape)

    def gamma(self, shape_parameter: float, shape: Shape) -> NDArray[np.float64]:
        """Return Gamma(shape_parameter, scale 1) numbers."""
        return gamma_quantiles(shape_parameter, self.uniform(shape))


class OrthogonalRandom(StratifiedRandom):
    """A stream of random numbers in which the columns of a normal matrix are orthogonal.

    Every column of `normal((n, size))` is a standard normal vector; n of them at a time have
    orthogonal directions (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016, Orthogonal random
    features, section 3). With G = Q R for a normal G and a positive diagonal of R, Q is uniform
    among the matrices with orthonormal columns and independent of R. The norms of the columns of G
    are those of R, so they serve as the lengths.

    Other numbers are drawn only for whole vectors, and stratified: most of the variance of a scale
    mixture is that of the lengths, so orthogonal directions alone would gain little.

    Parameters
    ----------
    rng : Random
        The underlying stream.
    user : object
        The kernel, for the message if it draws a matrix that is not normal.
    """

    def __init__(self, rng: Random, user: Any) -> None:
        super().__init__(rng)
        self.user = user

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return stratified numbers, one for each vector."""
        if isinstance(shape, tuple) and len(shape) > 1:
            raise ValueError(
                "Orthogonal frequencies exist for kernels that draw normal vectors and multiply "
                "them by random lengths, as Gaussian, Matern, RationalQuadratic and "
                f"ExponentialPower do; {self.user!r} draws each column by itself. Give "
                "drawing='plain' or 'quasi_monte_carlo', or another kernel."
            )
        return super().uniform(shape)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return normal numbers; the columns of a matrix are orthogonal, n at a time."""
        numbers = self.rng.normal(shape)
        if numbers.ndim != 2:
            return numbers
        out, n = np.empty_like(numbers), max(len(numbers), 1)
        full = numbers.shape[1] // n * n
        blocks = numbers[:, :full].reshape(n, -1, n).swapaxes(0, 1)
        with single_blas():  # the same bits for any number of threads
            out[:, :full] = _orthogonal(blocks).swapaxes(0, 1).reshape(n, full)
            out[:, full:] = _orthogonal(numbers[:, full:])
        return out


def _orthogonal(normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return orthogonal columns with the lengths of the given ones, for each matrix of a stack."""
    q, r = np.linalg.qr(normal)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    lengths = signs * np.linalg.norm(normal, axis=-2)
    return q * lengths[..., None, :]  # type: ignore[no-any-return]


class QuasiRandom(Random):
    """Coordinates of Halton points in place of random numbers.

    Distributions are obtained by their inverse distribution functions. The last side of a shape is
    the points first, ..., first + size - 1 of an infinite sequence; other lengths are refused. The
    other sides are coordinates; each call uses the next ones.

    Coordinate j of point i has the digits of i in the j-th prime base b, reversed after the point
    (Halton 1960, On the efficiency of certain quasi-random sequences of points in evaluating
    multi-dimensional integrals). Digit k is scrambled to (a_k digit + c_k) mod b with random a_k
    and c_k (Matousek 1998, On the L2-discrepancy for anchored boxes), so that every point is
    uniform, and coordinates of large neighbouring primes are not correlated.

    Parameters
    ----------
    rng : Random
        Its seed determines the scrambling; integers come from it.
    first : int
        The number of the first point.
    size : int
        The number of points.
    """

    def __init__(self, rng: Random, first: int, size: int) -> None:
        self.seed, self.path, self.bits = rng.seed, rng.path, rng.bits
        self.first, self.size, self.used = first, size, 0
        self.scrambling = Random(rng.seed, HALTON)

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return the next coordinates of the points."""
        *sides, size = (shape,) if isinstance(shape, int) else shape
        if size != self.size:
            raise ValueError(
                f"Quasi-random numbers are drawn for {self.size} points, which must be the last "
                f"side of a shape; got the shape {shape}. Draw (n_columns, size), or give "
                "drawing='plain' for independent numbers."
            )
        count = prod(sides)
        bases = primes(self.used + count)[self.used :]
        self.used += count
        words = self.scrambling.integers(2 * DIGITS * count).reshape(count, 2, DIGITS)
        out = np.empty((count, size))
        _radical_inverses(bases, _scrambling(words, bases), self.first, out)
        return out.reshape(shape)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return normal numbers."""
        from scipy.special import ndtri  # slow to import, rarely needed

        return np.asarray(ndtri(self.uniform(shape)), dtype=np.float64)

    def gamma(self, shape_parameter: float, shape: Shape) -> NDArray[np.float64]:
        """Return Gamma(shape_parameter, scale 1) numbers."""
        return gamma_quantiles(shape_parameter, self.uniform(shape))


def primes(count: int) -> NDArray[np.int64]:
    """Return the first prime numbers, by the sieve of Eratosthenes."""
    # The n-th prime is below n (log n + log log n) for n >= 6.
    limit = 15 if count < 6 else int(count * (log(count) + log(log(count)))) + 1
    is_prime = np.ones(limit + 1, dtype=bool)
    is_prime[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = False
    return np.flatnonzero(is_prime)[:count].astype(np.int64)


def _scrambling(words: NDArray[np.uint64], bases: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return factors from 1, ..., b - 1 and shifts from 0, ..., b - 1, (coordinates, 2, digits)."""
    b = bases.astype(np.uint64)[:, None]
    factors = words[:, 0] % (b - np.uint64(1)) + np.uint64(1)
    return np.stack([factors, words[:, 1] % b], axis=1).astype(np.int64)


@compiled("void(int64[::1], int64[:, :, ::1], int64, float64[:, ::1])")
def _radical_inverses(bases: Any, scrambling: Any, first: int, out: Any) -> None:
    for j in range(out.shape[0]):
        b = bases[j]
        # Digits worth 40 bits, so that every number lies inside (0, 1).
        digits = int(np.ceil(DIGITS / np.log2(b)))
        factors, shifts = scrambling[j, 0], scrambling[j, 1]
        for i in range(out.shape[1]):
            rest, unit, value = first + i, 1.0, 0.0
            for k in range(digits):
                next_rest = rest // b
                unit /= b
                value += ((factors[k] * (rest - next_rest * b) + shifts[k]) % b) * unit
                rest = next_rest
            out[j, i] = value + 0.5 * unit
