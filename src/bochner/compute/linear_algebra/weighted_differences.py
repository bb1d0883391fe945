"""Weighted sums over columns of the differences between rows, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile, sum_tiles

Array = NDArray[Any]
ROWS = 64  # of a tile
ZERO = np.float32(0)
ABSOLUTE, SQUARED, UNEQUAL = range(3)  # |a - b|, (a - b)^2, and 1 where a and b differ


def weighted_differences(kind: int, A: Array, B: Array, weights: Array) -> Array:
    """Return sum_j w_j d(a_ij, b_kj) for the rows of A and B, in float32."""
    rows, columns = np.ascontiguousarray(A), np.ascontiguousarray(B.T)
    factors = np.ascontiguousarray(weights, np.float32)
    out = np.empty((len(A), len(B)), np.float32)

    def fill(start: int, stop: int) -> None:
        _weighted(kind, rows[start:stop], columns, factors, out[start:stop])

    each_tile(fill, len(A), ROWS)
    return out


def difference_sums(kind: int, M: Array, A: Array, B: Array) -> NDArray[np.float64]:
    """Return sum_ik M_ik d(a_ij, b_kj) for each column j: the derivatives in the weights."""
    rows, columns = np.ascontiguousarray(A), np.ascontiguousarray(B.T)
    factors = np.ascontiguousarray(M, np.float32)

    def part(start: int, stop: int) -> Array:
        sums = np.zeros(columns.shape, np.float32)
        _column_sums(kind, factors[start:stop], rows[start:stop], columns, sums)
        return np.asarray(sums.sum(axis=1, dtype=np.float64))

    return sum_tiles(part, len(A), ROWS, (A.shape[1],))


# The inner loops run over the rows of B, which are contiguous, so that LLVM vectorises them.
@compiled("void(int64, float32[:, ::1], float32[:, ::1], float32[::1], float32[:, ::1])")
def _weighted(kind: int, A: Array, columns: Array, weights: Array, out: Array) -> None:
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = ZERO
        for j in range(A.shape[1]):
            a, b, w = A[i, j], columns[j], weights[j]
            if kind == ABSOLUTE:
                for k in range(row.size):
                    row[k] += w * abs(b[k] - a)
            elif kind == SQUARED:
                for k in range(row.size):
                    d = b[k] - a
                    row[k] += w * d * d
            else:
                for k in range(row.size):
                    row[k] += ZERO if b[k] == a else w


@compiled("void(int64, float32[:, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1])")
def _column_sums(kind: int, M: Array, A: Array, columns: Array, sums: Array) -> None:
    for i in range(A.shape[0]):
        m = M[i]
        for j in range(A.shape[1]):
            a, b, row = A[i, j], columns[j], sums[j]
            if kind == ABSOLUTE:
                for k in range(row.size):
                    row[k] += m[k] * abs(b[k] - a)
            elif kind == SQUARED:
                for k in range(row.size):
                    d = b[k] - a
                    row[k] += m[k] * d * d
            else:
                for k in range(row.size):
                    row[k] += ZERO if b[k] == a else m[k]
