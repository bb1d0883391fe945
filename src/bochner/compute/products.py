"""Products of tall arrays with themselves and each other, the same for any number of threads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile, sum_tiles

SIDE = 256  # of a square tile of the result
FEW = 64  # columns of A'B for a thread
NARROW, TILE = 16, 512  # columns of B that are few; rows for a thread then
ROWS = 1024  # summed in the arrays' own precision; such sums are added in float64


def gram(A: NDArray[Any]) -> NDArray[np.float64]:
    """Return A'A in float64; only one half is computed, the other is its mirror image."""
    size = A.shape[1]
    out = np.empty((size, size))
    corners = [(i, j) for i in range(0, size, SIDE) for j in range(i, size, SIDE)]

    def fill(first: int, _: int) -> None:
        i, j = corners[first]
        tile = _summed(A[:, i : i + SIDE], A[:, j : j + SIDE])
        out[i : i + SIDE, j : j + SIDE] = tile
        out[j : j + SIDE, i : i + SIDE] = tile.T

    each_tile(fill, len(corners), 1)
    return out


def transposed_product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return A'B in float64."""
    if len(A) != len(B):
        raise ValueError(f"A'B needs as many rows in A as in B; got {len(A)} and {len(B)}.")
    if _is_narrow(A, B):
        return sum_tiles(
            partial(_columns, A, np.ascontiguousarray(B)), len(A), TILE, (B.shape[1], A.shape[1])
        ).T
    out = np.empty((A.shape[1], B.shape[1]))

    def fill(start: int, stop: int) -> None:
        out[start:stop] = _summed(A[:, start:stop], B)

    each_tile(fill, A.shape[1], FEW)
    return out


def product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return AB in float64, for a tall A."""
    out, narrow = np.zeros((len(A), B.shape[1])), _is_narrow(A, B)
    weights = np.ascontiguousarray(B.T)

    def fill(start: int, stop: int) -> None:
        if narrow:
            add_row_products(A, np.arange(start, stop), 0, weights, out[start:stop])
        else:
            out[start:stop] = A[start:stop] @ B

    each_tile(fill, len(A), TILE if narrow else ROWS)
    return out


def _is_narrow(A: NDArray[Any], B: NDArray[Any]) -> bool:
    """Whether B has so few columns that A is best read once, row by row, and loops can do that."""
    known = A.dtype == B.dtype and A.dtype in (np.float32, np.float64)
    return known and 0 < B.shape[1] <= NARROW and A.size > 0 and A.flags.carray


def _columns(A: NDArray[Any], B: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    out = np.zeros((B.shape[1], A.shape[1]), A.dtype)
    add_column_products(A, np.arange(start, stop), 0, B[start:stop], out)
    return out


def _summed(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return A'B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), ROWS):
        total += A[start : start + ROWS].T @ B[start : start + ROWS]
    return total


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1], float64[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    "void(float32[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract", "reassoc"},
)
def add_row_products(matrix, rows, start, weights, out):  # type: ignore[no-untyped-def]
    """Add to `out` the products of some rows of a matrix, from column `start` on, with weights.

    `weights` is of shape (outputs, columns). Rows are read where they are: for few outputs a
    product is as fast as the memory, and a copy for BLAS would take as long again. They go by
    twos, so that weights are read half as often; the sums of a row do not depend on the other, and
    the last of an odd number is its own partner. Weights in double precision make sums in double
    precision.
    """
    outputs, width = weights.shape
    for i in range(0, len(rows), 2):
        last = min(i + 1, len(rows) - 1)
        x, y = matrix[rows[i], start : start + width], matrix[rows[last], start : start + width]
        k = 0
        while k + 4 <= outputs:
            a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            p, q = x[0], y[0]
            s, t, u, v = p * a[0], p * b[0], p * c[0], p * d[0]
            S, T, U, V = q * a[0], q * b[0], q * c[0], q * d[0]
            for j in range(1, width):
                p, q = x[j], y[j]
                s += p * a[j]
                t += p * b[j]
                u += p * c[j]
                v += p * d[j]
                S += q * a[j]
                T += q * b[j]
                U += q * c[j]
                V += q * d[j]
            out[i, k] += s
            out[i, k + 1] += t
            out[i, k + 2] += u
            out[i, k + 3] += v
            if last > i:
                out[last, k] += S
                out[last, k + 1] += T
                out[last, k + 2] += U
                out[last, k + 3] += V
            k += 4
        while k < outputs:
            a = weights[k]
            s, S = x[0] * a[0], y[0] * a[0]
            for j in range(1, width):
                s += x[j] * a[j]
                S += y[j] * a[j]
            out[i, k] += s
            if last > i:
                out[last, k] += S
            k += 1


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1], float32[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    "void(float32[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract"},
)
def add_column_products(matrix, rows, start, values, out):  # type: ignore[no-untyped-def]
    """Add to `out`, (outputs, columns), the products of columns from `start` on with values.

    `values`, (rows, outputs), belong to some rows of the matrix. Rows go by fours: the sums are
    then read and written a fourth as often.
    """
    outputs, width = out.shape
    i = 0
    while i + 4 <= len(rows):
        a = matrix[rows[i], start : start + width]
        b = matrix[rows[i + 1], start : start + width]
        c = matrix[rows[i + 2], start : start + width]
        d = matrix[rows[i + 3], start : start + width]
        for k in range(outputs):
            total = out[k]
            s, t, u, v = values[i, k], values[i + 1, k], values[i + 2, k], values[i + 3, k]
            for j in range(width):
                total[j] += (a[j] * s + b[j] * t) + (c[j] * u + d[j] * v)
        i += 4
    while i < len(rows):
        a = matrix[rows[i], start : start + width]
        for k in range(outputs):
            total, s = out[k], values[i, k]
            for j in range(width):
                total[j] += a[j] * s
        i += 1
