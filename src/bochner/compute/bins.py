"""Bins: fingerprints of the cells that rows lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

Codes = NDArray[np.int32]  # (grids, rows): the number of a row's bin in each grid, -1 if unknown

# Adding 1.5 * 2^52 rounds to a whole number, which then stands in the low bits of the double.
ROUND = 6755399441055744.0
ROUND_BITS = int(np.float64(ROUND).view(np.uint64))
FURTHEST = 2.0**51  # whole numbers beyond would be misread
TILE = 1024  # rows whose fingerprints stay in the L1 cache
FILLED = 4  # a column is worked on as a whole if more than a quarter of it is not zero


@dataclass(frozen=True)
class Columns:
    """Rows by columns: `filled` ones as (columns, rows), and the entries of the others one by one.

    Entry e of the others is `values[e]` at row `rows[e]` and column `columns[e]`; what is not
    listed is 0. A table of one-hot columns costs no more than its non-zeros.
    """

    filled: NDArray[Any]
    filled_columns: NDArray[np.int32]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Sort dense or CSR rows of float32 or float64 by columns."""
        if sp.issparse(X):
            return cls._of_sparse(X)
        X = writable(X)
        counts = np.zeros(X.shape[1], np.int64)
        _count(X, counts)
        many = counts * FILLED > len(X)
        filled = np.empty((int(many.sum()), len(X)), X.dtype)
        entries = int(counts[~many].sum())
        rows, columns = np.empty(entries, np.int32), np.empty(entries, np.int32)
        values = np.empty(entries, X.dtype)
        places = np.where(many, np.cumsum(many) - 1, -1).astype(np.int64)
        _sort(X, places, filled, rows, columns, values)
        return cls(filled, np.flatnonzero(many).astype(np.int32), rows, columns, values)

    @classmethod
    def _of_sparse(cls, X: Any) -> Columns:
        rows = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))
        nothing = np.empty((0, X.shape[0]), X.dtype)
        columns = X.indices.astype(np.int32, copy=False)
        return cls(nothing, np.empty(0, np.int32), rows, writable(columns), writable(X.data))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.filled.shape[1])


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as contiguous memory that may be written to, as compiled loops expect it."""
    return np.require(array, requirements=["C", "W"])


def fingerprints(
    columns: Columns,
    inverse: NDArray[np.float64],
    shift: NDArray[np.float64],
    multiplier: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """Return sum_j multiplier_j * round(x_j * inverse_j - shift_j) modulo 2^64 of every row.

    For random multipliers two different vectors of whole numbers have the same sum with
    probability 2^-64, or little more if all their differences are even (multilinear hashing).
    """
    out = np.empty(columns.n_rows, np.uint64)
    _fingerprints(
        columns.filled,
        columns.filled_columns,
        columns.rows,
        columns.columns,
        columns.values,
        writable(inverse),
        writable(shift),
        writable(multiplier),
        out,
    )
    return out


@compiled(
    "void(float32[:, ::1], int64[::1])",
    "void(float64[:, ::1], int64[::1])",
)
def _count(X, counts):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            counts[j] += X[i, j] != 0


@compiled(
    "void(float32[:, ::1], int64[::1], float32[:, ::1], int32[::1], int32[::1], float32[::1])",
    "void(float64[:, ::1], int64[::1], float64[:, ::1], int32[::1], int32[::1], float64[::1])",
)
def _sort(X, places, filled, rows, columns, values):  # type: ignore[no-untyped-def]
    entry = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if places[j] >= 0:
                filled[places[j], i] = X[i, j]
            elif X[i, j] != 0:
                rows[entry], columns[entry], values[entry] = i, j, X[i, j]
                entry += 1


# Contracted products would round differently in the two loops below, and one row in two bins.
@compiled(
    "void(float32[:, ::1], int32[::1], int32[::1], int32[::1], float32[::1], "
    "float64[::1], float64[::1], uint64[::1], uint64[::1])",
    "void(float64[:, ::1], int32[::1], int32[::1], int32[::1], float64[::1], "
    "float64[::1], float64[::1], uint64[::1], uint64[::1])",
    fastmath=False,
)
def _fingerprints(filled, filled_columns, rows, columns, values, inverse, shift, multiplier, out):  # type: ignore[no-untyped-def]
    zeros = np.empty(len(inverse), np.uint64)
    total = np.uint64(0)
    for j in range(len(inverse)):
        zeros[j] = np.uint64(np.int64((-shift[j] + ROUND) - ROUND))
        total += zeros[j] * multiplier[j]
    for c in range(len(filled_columns)):
        j = filled_columns[c]
        total -= (zeros[j] + np.uint64(ROUND_BITS)) * multiplier[j]
    space = np.empty(TILE)
    bits = space.view(np.uint64)
    for top in range(0, len(out), TILE):
        height = min(TILE, len(out) - top)
        sums = out[top : top + height]
        sums[:] = total
        for c in range(len(filled_columns)):
            j = filled_columns[c]
            column, scale, offset, factor = filled[c], inverse[j], shift[j], multiplier[j]
            for i in range(height):
                space[i] = (column[top + i] * scale - offset) + ROUND
            for i in range(height):
                sums[i] += bits[i] * factor
    for e in range(len(rows)):
        j = columns[e]
        number = np.uint64(np.int64(((values[e] * inverse[j] - shift[j]) + ROUND) - ROUND))
        out[rows[e]] += (number - zeros[j]) * multiplier[j]
