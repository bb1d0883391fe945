"""Distances between all rows of one tile and all rows of another.

The rows come centred (or sparse): products of far-off rows would lose the digits of their
differences.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from bochner.kernels.rows import Array, Rows, dense, tiles

# Squared distances below this many roundings of |a|^2 are computed again from a - b.
ROUNDINGS = 64


def squared_norms(X: Rows) -> Array:
    """Return |x|^2 of each row."""
    if sp.issparse(X):
        return X.multiply(X).sum(axis=1)  # type: ignore[no-any-return]
    return np.einsum("ij,ij->i", X, X)  # type: ignore[no-any-return]


def products(A: Rows, B: Rows) -> tuple[Array, Array, Array]:
    """Return a'b of all pairs, |a|^2 and |b|^2, of which squared distances are made.

    Sparse rows are not centred, so they are multiplied in float64.
    """
    if sp.issparse(A):
        A, B = A.astype(np.float64), B.astype(np.float64)
    return dense(A @ B.T), squared_norms(A), squared_norms(B)


def euclidean(A: Rows, B: Rows) -> Array:
    """Return |a - b|, with the digits of a - b for (nearly) equal rows.

    The root turns a rounding of 1e-7 in the square into 3e-4: a kernel that is not flat at 0
    would see equal rows as different.
    """
    squares, left, right = products(A, B)
    squares *= -2
    squares += left[:, None]
    squares += right
    np.maximum(squares, 0, out=squares)
    noise = ROUNDINGS * np.finfo(squares.dtype).eps * left
    near = np.nonzero(squares < noise[:, None])
    for pairs in tiles(len(near[0]), 4096):
        a, b = near[0][pairs], near[1][pairs]
        squares[a, b] = squared_norms(A[a] - B[b])
    return np.sqrt(squares, out=squares).astype(A.dtype, copy=False)


def manhattan(A: Rows, B: Rows) -> Array:
    """Return |a - b|_1."""
    return cdist(dense(A), dense(B), "cityblock").astype(A.dtype, copy=False)  # type: ignore[no-any-return]
