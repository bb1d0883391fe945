"""Counter-based random numbers: any draw can be made again from its seed and path alone."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.compute.elementwise.waves import cosine_sine

Shape = int | tuple[int, ...]
WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, the increment of splitmix64
LANES = (0x243F6A8885A308D3, 0x13198A2E03707344)  # digits of pi: two unrelated starting points
MOST_HALVES = 16  # halves of a Gamma shape parameter that are summed


class Random:
    """The stream of random numbers of a seed and a path of integers.

    Streams of different seed or path are independent; `Random(seed, block)` generates a block
    without those before it. Successive calls continue the stream. The integers come from the
    counter-based generator Philox (Salmon et al. 2011, Parallel random numbers: as easy as 1, 2,
    3); they are the same on every machine, and the floats are the same up to rounding.

    Parameters
    ----------
    seed : int
        Any integer of at most 64 bits.
    *path : int
        Identifies the stream, e.g. the number of a block.

    Examples
    --------
    >>> from bochner.compute.random.counter_based import Random
    >>> Random(7, 3).integers(2)
    array([17350226370433720104,  7838392086619169829], dtype=uint64)
    """

    # Models store seeds, so a seed must always give the same numbers. NumPy guarantees that for
    # the raw bits of a bit generator but not for the distributions of Generator (its NEP 19):
    # hence the transforms to floats are implemented here.

    def __init__(self, seed: int, *path: int) -> None:
        self.seed, self.path = int(seed), tuple(int(step) for step in path)
        self.bits = np.random.Philox(key=_key(self.seed, self.path))

    def __repr__(self) -> str:
        return f"Random({', '.join(map(str, (self.seed, *self.path)))})"

    def child(self, *path: int) -> Random:
        """Return the stream, from its beginning, of a longer path."""
        return Random(self.seed, *self.path, *path)

    def integers(self, size: int) -> NDArray[np.uint64]:
        """Return `size` integers of 64 random bits."""
        return np.atleast_1d(np.asarray(self.bits.random_raw(size), dtype=np.uint64))

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers in the open interval (0, 1), symmetric about 1/2."""
        # 52 bits plus one half: with 53 bits the largest value would round to 1.
        bits = self.integers(prod(_sides(shape))) >> np.uint64(12)
        return ((bits.astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)

    def exponential(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers of the density exp(-x), x > 0."""
        return -np.log(self.uniform(shape))

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return standard normal numbers (Box and Muller 1958)."""
        size = prod(_sides(shape))
        pairs = (size + 1) // 2
        radius = np.sqrt(2.0 * self.exponential(pairs))
        numbers = cosine_sine(self.uniform((1, pairs)), np.empty((1, 2 * pairs)))
        numbers = numbers.reshape(pairs, 2) * radius[:, None]
        return numbers.reshape(-1)[:size].reshape(shape)

    def cauchy(self, shape: Shape) -> NDArray[np.float64]:
        """Return standard Cauchy numbers."""
        return np.tan(np.pi * (self.uniform(shape) - 0.5))

    def gamma(self, shape_parameter: float, shape: Shape) -> NDArray[np.float64]:
        """Return Gamma(shape_parameter, scale 1) numbers.

        Gamma(n) is a sum of n exponentials, and Gamma(1/2) half a squared normal number. Other and
        large shape parameters use the inverse distribution function of uniform numbers.
        """
        if not 0 < shape_parameter < inf:
            raise ValueError(
                f"gamma needs a finite shape parameter above 0; got {shape_parameter!r}."
            )
        halves = round(2 * shape_parameter)
        if halves != 2 * shape_parameter or halves > MOST_HALVES:
            return gamma_quantiles(shape_parameter, self.uniform(shape))
        total = np.zeros(shape)
        for _ in range(halves // 2):
            total += self.exponential(shape)
        return total + 0.5 * self.normal(shape) ** 2 if halves % 2 else total

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return 0, ..., n - 1 in random order."""
        return np.argsort(self.integers(n), kind="stable").astype(np.int64, copy=False)


def row_hash(seed: int, index: ArrayLike) -> NDArray[np.uint64]:
    """Return 64 random bits for each row number, independent of other rows (splitmix64)."""
    z = np.asarray(index).astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(_mix(seed & WORD))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def gamma_quantiles(shape_parameter: float, share: NDArray[Any]) -> NDArray[np.float64]:
    """Return the quantiles of Gamma(shape_parameter) at these probabilities."""
    from scipy.special import gammaincinv  # slow to import, rarely needed

    return np.asarray(gammaincinv(shape_parameter, share), dtype=np.float64)


def _sides(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _key(seed: int, path: tuple[int, ...]) -> NDArray[np.uint64]:
    """Mix seed, length of the path and path into 128 bits."""
    return np.array([_absorbed(lane, (seed, len(path), *path)) for lane in LANES], dtype=np.uint64)


def _absorbed(state: int, words: tuple[Any, ...]) -> int:
    for word in words:
        state = _mix(((state + GOLDEN) & WORD) ^ (word & WORD))
    return state


def _mix(z: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection of 64-bit words."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)
