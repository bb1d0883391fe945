"""Spectral: a kernel given by its spectral measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.waves import cosine_sine
from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import ShiftInvariant, Weight
from bochner.kernels.rows import Array, Rows, checked_rows, checked_values, dense, tiles

SIZE = 16_384  # frequencies of the Monte Carlo mean
PIECE = 1024  # of them at a time
NUMBERS = 1 << 20  # of differences at a time
SEED = 0x5370656374  # of the frequencies of the mean, which are always the same
_one_at_a_time = RLock()  # functions may not be thread-safe


@dataclass
class Spectral(ShiftInvariant):
    """The kernel of a spectral measure that a function draws from, k(a, b) = E cos(omega'(a - b)).

    By Bochner's theorem every shift-invariant kernel with k(a, a) = 1 is of this form. Features
    need the sampler alone. Values k(a, b) come from `function` if it is given. If not, they are a
    Monte Carlo mean over 16,384 fixed frequencies: this is a kernel itself, differs from the exact
    one by about 0.006 (1 / sqrt(2 * 16,384)), and is slow. `is_exact` says which of the two.
    `2 * Spectral(...)` has another variance, `ColumnScaled` and `Mapped` have another metric.

    Parameters
    ----------
    sampler : callable
        `sampler(n_columns, size, rng)` returns angular frequencies as an array of the shape
        (n_columns, size). Random numbers come from `rng` (`rng.normal((n_columns, size))`,
        `rng.uniform(size)`, ...) and from nothing else: frequencies are drawn again from seeds.
        `size` is the last side of every shape: "quasi_monte_carlo" relies on it.
    function : callable or None
        The kernel as a function of differences: `function(D)` of an array (n, n_columns) returns
        the n values of k.

    Examples
    --------
    Frequencies on a ring of radius 3 make ripples:

    >>> import numpy as np
    >>> def ring(n_columns, size, rng):
    ...     normal = rng.normal((n_columns, size))
    ...     return 3 * normal / np.linalg.norm(normal, axis=0)
    >>> kernel = Spectral(ring)
    >>> kernel.is_exact
    False
    >>> kernel([[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).round(1)  # J_0(0) = 1, J_0(3) = -0.26
    array([[ 1. , -0.3]])
    """

    sampler: Callable[[int, int, Random], Any]
    function: Callable[[Any], Any] | None = None

    def __sklearn_clone__(self) -> Self:
        """Return a kernel of the same functions, which have no parameters to clone."""
        return replace(self)

    @property
    def variance(self) -> float:
        """The value at 0, which is 1."""
        return 1.0

    @property
    def is_exact(self) -> bool:
        """Whether values come from a function and not from a Monte Carlo mean."""
        return self.function is not None

    def check(self) -> None:
        """Raise a ValueError if one of the functions cannot be called."""
        if not callable(self.sampler):
            raise ValueError(
                "Spectral needs a sampler(n_columns, size, rng) that returns frequencies of the "
                f"shape (n_columns, size); got {self.sampler!r}."
            )
        if not (self.function is None or callable(self.function)):
            raise ValueError(
                "The function of Spectral must take differences (n, n_columns) and return n "
                f"values, or be None for a Monte Carlo mean; got {self.function!r}."
            )

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy, or raise a ValueError if the function is not 1 at 0."""
        self.check()
        if self.function is not None:
            self._require_one(checked_rows(X).shape[1])
        return replace(self)

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the values of the function, or the Monte Carlo mean."""
        if self.function is None:
            return self._mean(A, B)
        A, B = dense(A), dense(B)
        out = np.empty((len(A), len(B)), A.dtype)
        if out.size == 0:
            return out
        self._require_one(B.shape[1])
        for rows in tiles(len(A), max(1, NUMBERS // B.size)):
            differences = A[rows, None] - B
            out[rows] = self._values(differences.reshape(-1, B.shape[1])).reshape(-1, len(B))
        return out

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw by the sampler, and check what it returns."""
        with _one_at_a_time:
            drawn = np.asarray(self.sampler(n_columns, size, rng))
        what = f"The sampler of Spectral, for {n_columns} columns and {size} frequencies,"
        return checked_values(drawn, (n_columns, size), np.float64, what, self.sampler)

    def _mean(self, A: Rows, B: Rows) -> Array:
        """Return sum_j cos(omega_j'a) cos(omega_j'b) + sin(omega_j'a) sin(omega_j'b) over SIZE."""
        total = np.zeros((A.shape[0], B.shape[0]))
        rng = Random(SEED)
        for _ in range(SIZE // PIECE):
            frequencies = self.frequencies(A.shape[1], PIECE, rng) / (2 * pi)
            total += _waves(A, frequencies) @ _waves(B, frequencies).T
        return (total / SIZE).astype(A.dtype)

    def _require_one(self, n_columns: int) -> None:
        value = float(self._values(np.zeros((1, n_columns)))[0])
        if abs(value - 1) > 1e-6:
            raise ValueError(
                f"The function of Spectral must be 1 at 0, as the mean of cosines is; got "
                f"{value}. Divide it by this, and multiply the kernel: {value} * Spectral(...)."
            )

    def _values(self, differences: Array) -> Array:
        assert self.function is not None
        with _one_at_a_time:
            values = np.asarray(self.function(differences))
        shape, what = (len(differences),), "The function of Spectral"
        return checked_values(values, shape, np.float64, what, self.function)


def _waves(X: Rows, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    turns = np.ascontiguousarray(X.astype(np.float64) @ frequencies)
    return cosine_sine(turns, np.empty((len(turns), 2 * turns.shape[1])))
