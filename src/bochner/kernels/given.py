"""Kernels that the user gives: a function, its values, a spectral measure, random functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import pi
from threading import RLock
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.waves import cosine_sine
from bochner.compute.linear_algebra.products import product
from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import CONSTRUCTORS, Kernel, ShiftInvariant, Weight, parts
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, checked_rows, checked_values, dense, tiles
from bochner.validation import require_count

CALLED_ROWS = 512  # for which a function is called at once
BLOCK = 32  # rows whose k(a, a) is taken from a matrix of all their pairs
SIZE = 16_384  # frequencies of the Monte Carlo mean
PIECE = 1024  # of them at a time
NUMBERS = 1 << 20  # of differences at a time
SEED = 0x5370656374  # of the frequencies of the mean, which are always the same
UNIT = 64  # draws that are sampled and evaluated together; another number changes every model
PROCESS = 0x92C355  # makes the draws of the matrix differ from those of features of the same seed

# Functions may not be thread-safe. They may evaluate other kernels, so each kind has a lock of its
# own, which is re-entrant.
_one_function_at_a_time, _one_measure_at_a_time, _one_process_at_a_time = RLock(), RLock(), RLock()


@dataclass
class FunctionKernel(Kernel):
    """A kernel that a function computes, k(A, B) = function(A, B).

    The function gets rows as arrays of shapes (n, columns) and (m, columns), or as two CSR arrays
    if the data are sparse, and returns the (n, m) values, as for ``SVC(kernel=function)`` of
    scikit-learn. It must be symmetric and positive semi-definite, which is not checked. It is
    called in one thread at a time, for at most 512 rows of `A`.

    Parameters
    ----------
    function : callable
        Takes two arrays of rows and returns the matrix of their kernel.

    Examples
    --------
    >>> kernel = FunctionKernel(lambda A, B: (1 + A @ B.T) ** 2)
    >>> kernel([[0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    array([[4., 1.]])
    """

    function: Callable[[Any, Any], Any]

    def __sklearn_clone__(self) -> Self:
        """Return a kernel of the same function, which has no parameters to clone."""
        return replace(self)

    def check(self) -> None:
        """Raise a ValueError if the function cannot be called."""
        if not callable(self.function):
            raise ValueError(
                "FunctionKernel needs a function of two arrays of rows that returns the matrix of "
                f"their kernel; got {self.function!r}."
            )

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B), of at most `CALLED_ROWS` rows of `A` at a time."""
        K = np.empty((A.shape[0], B.shape[0]), A.dtype)
        for rows in tiles(A.shape[0], CALLED_ROWS):
            K[rows] = self.tile(A[rows], B)
        return K

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the checked values of the function in the dtype of the rows."""
        shape = (A.shape[0], B.shape[0])
        if 0 in shape:
            return np.empty(shape, A.dtype)
        with _one_function_at_a_time:
            values = np.asarray(dense(self.function(A, B)))
        what = f"A kernel function of {shape[0]} rows and of {shape[1]} other rows"
        return checked_values(values, shape, A.dtype, what, self.function)

    def diagonal(self, A: Rows) -> Array:
        """Return k(a, a) of each row, from the values of all pairs of a few rows."""
        A = checked_rows(A)
        blocks = [np.diagonal(self.tile(A[b], A[b])) for b in tiles(A.shape[0], BLOCK)]
        return np.concatenate([np.empty(0, A.dtype), *blocks])


CONSTRUCTORS["from_function"] = FunctionKernel


@dataclass
class Precomputed(Kernel, name="precomputed"):
    """The kernel of rows that hold its values: column j of a row x is k(x, c_j).

    The c_j are the rows of the training data, of which X at fit is the square matrix of k; X at
    prediction has a row for each new point and the same columns, as for
    ``SVC(kernel="precomputed")`` of scikit-learn. Since no function is known, this kernel cannot be
    evaluated: a basis of centres uses the columns themselves.

    Examples
    --------
    >>> from bochner.kernels import Kernel
    >>> Kernel.resolve("precomputed")
    Precomputed()
    """

    def matrix(self, A: Rows, B: Rows) -> NoReturn:
        """Raise a ValueError: only the values in the rows are known."""
        raise _unknown()

    def diagonal(self, A: Rows) -> NoReturn:
        """Raise a ValueError: only the values in the rows are known."""
        raise _unknown()


def _unknown() -> ValueError:
    return ValueError(
        "A precomputed kernel knows only the values k(x, c_j) that are the columns of X, so it "
        "cannot be evaluated for other pairs of rows. Use it with features='centers', or give the "
        "kernel itself: its name, a component of bochner.kernels, or a function k(A, B)."
    )


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
        with _one_measure_at_a_time:
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
        with _one_measure_at_a_time:
            values = np.asarray(self.function(differences))
        shape, what = (len(differences),), "The function of Spectral"
        return checked_values(values, shape, np.float64, what, self.function)


def _waves(X: Rows, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    turns = np.ascontiguousarray(X.astype(np.float64) @ frequencies)
    return cosine_sine(turns, np.empty((len(turns), 2 * turns.shape[1])))


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
        with _one_process_at_a_time:
            return self.sampler(n_columns, UNIT, rng)

    def values(self, omega: Any, X: Rows) -> NDArray[np.float64]:
        """Return phi of a unit of draws at rows, (rows, UNIT), to the precision of the rows."""
        parts = [np.empty((0, UNIT))]
        for rows in tiles(X.shape[0], CALLED_ROWS):
            some = dense(X[rows])
            with _one_process_at_a_time:
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
