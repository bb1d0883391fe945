"""Distances between all rows of one tile and all rows of another.

The rows are centred (or sparse): inner products of rows far from the origin would lose the digits
of their differences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from bochner.compute.linear_algebra.distances import manhattan_distances, squared_distances
from bochner.kernels.rows import Array, Rows, alike, dense, fill_product, tiles

# Squared distances below this many rounding errors of |a|^2 are computed again from a - b.
ROUNDINGS = 64


class Distances(ABC):
    """Distances of any rows from fixed rows `B`, of which norms and the like are computed once.

    Rows c times as long have c^degree times the distances.
    """

    degree: ClassVar[int] = 1

    @abstractmethod
    def __init__(self, B: Rows) -> None: ...

    @abstractmethod
    def fill(self, A: Rows, start: int, stop: int, factor: float, out: Array) -> None:
        """Write factor * distance(A, B[start:stop]) into `out`, C-contiguous, of A's dtype."""


class SquaredEuclidean(Distances):
    """|a - b|^2 = |a|^2 + |b|^2 - 2 a'b, clipped at 0.

    Sparse rows are not centred, so they are multiplied in float64.
    """

    degree: ClassVar[int] = 2

    def __init__(self, B: Rows) -> None:
        self.B = B.astype(np.float64) if sp.issparse(B) else np.ascontiguousarray(B)
        self.squares = _finite_squared_norms(self.B)

    def fill(self, A: Rows, start: int, stop: int, factor: float, out: Array) -> None:
        """Write factor |a - b|^2."""
        A, values = alike(A, self.B), out
        if sp.issparse(A):
            A, values = A.astype(np.float64), np.empty(out.shape)
        squares = _finite_squared_norms(A)
        fill_product(A, self.B[start:stop].T, values)
        squared_distances(values, squares, self.squares[start:stop], factor)
        if values is not out:
            out[...] = values


class Euclidean(Distances):
    """|a - b|, computed from a - b for (nearly) equal rows.

    The root turns a rounding error of 1e-7 in the square into 3e-4: for a kernel that is not flat
    at 0, equal rows would differ.
    """

    def __init__(self, B: Rows) -> None:
        self.squared = SquaredEuclidean(B)

    def fill(self, A: Rows, start: int, stop: int, factor: float, out: Array) -> None:
        """Write factor |a - b|."""
        A = alike(A, self.squared.B)
        self.squared.fill(A, start, stop, 1.0, out)
        self._recompute_small(A, start, stop, out)
        np.sqrt(out, out=out)
        out *= out.dtype.type(factor)

    def _recompute_small(self, A: Rows, start: int, stop: int, squares: Array) -> None:
        """Compute squared distances again from a - b where they may be rounding errors."""
        noise = ROUNDINGS * np.finfo(squares.dtype).eps * squared_norms(A)
        near = np.flatnonzero(squares < noise.astype(squares.dtype)[:, None])
        B = self.squared.B[start:stop]
        for pairs in tiles(len(near), 4096):
            a, b = np.divmod(near[pairs], stop - start)
            squares[a, b] = squared_norms(A[a] - B[b])


class Manhattan(Distances):
    """|a - b|_1, of dense rows."""

    def __init__(self, B: Rows) -> None:
        self.transposed = np.ascontiguousarray(dense(B).T)

    def fill(self, A: Rows, start: int, stop: int, factor: float, out: Array) -> None:
        """Write factor |a - b|_1."""
        A = np.ascontiguousarray(dense(A))
        manhattan_distances(A, self.transposed, start, factor, out)


def squared_norms(X: Rows) -> Array:
    """Return |x|^2 of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)  # a matrix sums to a matrix
    return np.einsum("ij,ij->i", X, X)  # type: ignore[no-any-return]


def _finite_squared_norms(X: Rows) -> Array:
    """Return |x|^2 of each row, or refuse rows for which it overflows."""
    squares = squared_norms(X)
    if np.isinf(squares).any():
        dtype = squares.dtype
        raise ValueError(
            "Some rows are too far from the others: squares of distances, in bandwidths of the "
            f"kernel, must be at most {np.finfo(dtype).max:.2g}, as {dtype} has. Scale the columns "
            "(scale='standard'), or drop or clip the rows far off."
        )
    return squares


def euclidean(A: Rows, B: Rows) -> Array:
    """Return |a - b|, in the dtype of the rows."""
    return _between(Euclidean(B), A, B.shape[0])


def manhattan(A: Rows, B: Rows) -> Array:
    """Return |a - b|_1, in the dtype of the rows."""
    return _between(Manhattan(B), A, B.shape[0])


def _between(distances: Distances, A: Rows, width: int) -> Array:
    out = np.empty((A.shape[0], width), A.dtype)
    distances.fill(A, 0, width, 1.0, out)
    return out
