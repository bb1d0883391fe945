"""RandomProcess: a kernel made from random functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import product
from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import Kernel, parts
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, checked_rows, checked_values, dense, tiles
from bochner.validation import require_count

UNIT = 64  # draws that are sampled and evaluated together; another number changes every model
ROWS = 512  # for which the function is called at once
PROCESS = 0x92C355  # makes the draws of the matrix differ from those of features of the same seed

_one_at_a_time = RLock()  # functions may not be thread-safe


@dataclass
class RandomProcess(Kernel):
    """A kernel made from random functions, k(a, b) = E phi(omega, a) phi(omega, b).

    Any phi with a second moment gives a kernel (Dai et al. 2014, Scalable kernel methods via doubly
    stochastic gradients, Theorem 3). Doubly stochastic gradients need only the draws. The
    matrix k(A, B) has no closed form: it is a Monte Carlo mean over `draws` of omega, the same ones
    in every call. So it is exactly symmetric and positive semi-definite, of rank `draws` at most,
    and its error is about std(phi phi) / sqrt(draws).

    Both functions are called by one thread at a time, with dense rows, some of which may be zeros.

    Parameters
    ----------
    function : callable
        function(omega, X) returns phi of all draws at all rows, of shape (len(X), size), for rows
        X of shape (n, n_columns) and what the sampler gave for `size` draws.
    sampler : callable
        sampler(n_columns, size, rng) returns `size` independent draws of omega, in any form, from
        the random numbers `rng`, a `bochner.compute.random.Random`, and from nothing else.
    draws : int
        Draws for the matrix, rounded up to a multiple of 64. Features do not depend on it.
    seed : int
        A non-negative integer, which determines the draws for the matrix.

    Examples
    --------
    Steps at random places of the interval (0, 1) make the kernel min(a, b) of Brownian motion:

    >>> def step(omega, X):
    ...     return (X > omega).astype(float)
    >>> def place(n_columns, size, rng):
    ...     return rng.uniform((n_columns, size))
    >>> RandomProcess(step, place, draws=65_536)([[0.25]], [[0.5], [0.1]]).round(2)
    array([[0.25, 0.1 ]])
    """

    function: Callable[[Any, Any], Any]
    sampler: Callable[[int, int, Random], Any]
    draws: int = 4096
    seed: int = 0

    def __sklearn_clone__(self) -> Self:
        """Return a kernel of the same functions, which have no parameters to clone."""
        return replace(self)

    def check(self) -> None:
        """Raise a ValueError if a function cannot be called, or there are no draws or no seed."""
        if not callable(self.function) or not callable(self.sampler):
            raise ValueError(
                "RandomProcess needs two functions, function(omega, X) and sampler(n_columns, "
                f"size, rng); got {self.function!r} and {self.sampler!r}."
            )
        require_count("draws of RandomProcess", self.draws)
        require_count("seed of RandomProcess", self.seed, 0)

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the mean of phi(omega, a) phi(omega, b) over the draws."""
        total, units = np.zeros((A.shape[0], B.shape[0])), 0
        for omega in self._omegas(A.shape[1]):
            left = self.values(omega, A)
            right = left if B is A else self.values(omega, B)
            total += product(left, right.T)
            units += 1
        return (total / (units * UNIT)).astype(A.dtype)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with phi evaluated at the rows `B`."""
        return PreparedProcess.of(self, B)

    def diagonal(self, A: Rows) -> Array:
        """Return the mean of phi(omega, a)^2 over the draws."""
        A = checked_rows(A)
        squares = [
            np.square(self.values(omega, A)).mean(axis=1) for omega in self._omegas(A.shape[1])
        ]
        return np.mean(squares, axis=0).astype(A.dtype)  # type: ignore[no-any-return]

    def draw(self, n_columns: int, rng: Random) -> Any:
        """Return a unit of draws of omega."""
        with _one_at_a_time:
            return self.sampler(n_columns, UNIT, rng)

    def values(self, omega: Any, X: Rows) -> NDArray[np.float64]:
        """Return phi of a unit of draws at rows, (rows, UNIT), to the precision of the rows."""
        parts = [np.empty((0, UNIT))]
        for rows in tiles(X.shape[0], ROWS):
            some = dense(X[rows])
            with _one_at_a_time:
                values = np.asarray(self.function(omega, some))
            what = f"The function of RandomProcess, at {len(some)} rows and {UNIT} draws,"
            shape = len(some), UNIT
            parts.append(checked_values(values, shape, np.float64, what, self.function))
        return np.concatenate(parts).astype(X.dtype).astype(np.float64)

    def _omegas(self, n_columns: int) -> Iterator[Any]:
        """Yield the units of draws for the matrix."""
        return (
            self.draw(n_columns, Random(self.seed, PROCESS, number))
            for number in range(-(-self.draws // UNIT))
        )


@dataclass(frozen=True, eq=False)
class PreparedProcess(PreparedKernel):
    """The mean over draws whose functions are evaluated at fixed rows."""

    kernel: RandomProcess
    omegas: list[Any]
    values: list[Array]

    @classmethod
    def of(cls, kernel: RandomProcess, B: Rows) -> PreparedProcess:
        """Evaluate all draws at the rows `B`."""
        omegas = list(kernel._omegas(B.shape[1]))
        return cls(kernel, omegas, [kernel.values(omega, B).astype(B.dtype) for omega in omegas])

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the means."""
        total = np.zeros(out.shape)
        for omega, values in zip(self.omegas, self.values, strict=True):
            total += self.kernel.values(omega, A) @ values[start:stop].astype(np.float64).T
        out[...] = total / (len(self.omegas) * UNIT)


def is_random(kernel: Kernel) -> bool:
    """Whether a kernel, or one of its parts, is a `RandomProcess`."""
    return isinstance(kernel, RandomProcess) or any(map(is_random, parts(kernel).values()))
