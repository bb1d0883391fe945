"""A kernel given as a function, and one whose values are given instead of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, NoReturn, Self

import numpy as np

from bochner.kernels.kernel import CONSTRUCTORS, Kernel
from bochner.kernels.rows import Array, Rows, checked_rows, checked_values, dense, tiles

ROWS = 512  # for which the function is called at once
BLOCK = 32  # rows whose k(a, a) is taken from a matrix of all their pairs

# The function may not be thread-safe. It may evaluate other kernels, so the lock is re-entrant.
_one_at_a_time = RLock()


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
        """Return k(A, B), of at most `ROWS` rows of `A` at a time."""
        K = np.empty((A.shape[0], B.shape[0]), A.dtype)
        for rows in tiles(A.shape[0], ROWS):
            K[rows] = self.tile(A[rows], B)
        return K

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the checked values of the function in the dtype of the rows."""
        shape = (A.shape[0], B.shape[0])
        if 0 in shape:
            return np.empty(shape, A.dtype)
        with _one_at_a_time:
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
