"""Products of tall matrices, the same for any number of threads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile, sum_tiles

Array = NDArray[Any]
SIDE = 256  # of a square tile of the result
FEW = 64  # columns of A for a tile
NARROW, TILE = 16, 512  # most columns of a narrow B; rows of a tile then
SUMMED_ROWS = 1024  # summed in the precision of the arrays; such sums are added in float64


def gram(A: Array) -> NDArray[np.float64]:
    """Return A'A in float64; only one half is computed."""
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


def transposed_product(A: Array, B: Array) -> NDArray[np.float64]:
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


def product(A: Array, B: Array) -> NDArray[np.float64]:
    """Return AB in float64, for a tall A."""
    out, narrow = np.zeros((len(A), B.shape[1])), _is_narrow(A, B)
    # The loops need writable arrays; a mapped file is not.
    weights = np.array(B.T, order="C") if narrow else B

    def fill(start: int, stop: int) -> None:
        if narrow:
            add_row_products(A, np.arange(start, stop), 0, weights, out[start:stop])
        else:
            out[start:stop] = A[start:stop] @ B

    each_tile(fill, len(A), TILE if narrow else SUMMED_ROWS)
    return out


def _is_narrow(A: Array, B: Array) -> bool:
    """Whether B has few columns, so that reading A once, row by row, is fastest."""
    known = A.dtype == B.dtype and A.dtype in (np.float32, np.float64)
    return known and 0 < B.shape[1] <= NARROW and A.size > 0 and A.flags.carray


def _columns(A: Array, B: Array, start: int, stop: int) -> Array:
    out = np.zeros((B.shape[1], A.shape[1]), A.dtype)
    add_column_products(A, np.arange(start, stop), 0, B[start:stop], out)
    return out


def _summed(A: Array, B: Array) -> NDArray[np.float64]:
    """Return A'B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), SUMMED_ROWS):
        total += A[start : start + SUMMED_ROWS].T @ B[start : start + SUMMED_ROWS]
    return total


def add_row_products(
    matrix: Array, rows: NDArray[np.int64], start: int, weights: Array, out: Any
) -> None:
    """Add to `out` the products of some rows of a matrix, from column `start` on, with weights.

    `weights` has shape (outputs, columns). Rows are read in place: with few outputs the product is
    limited by memory bandwidth, and a copy for BLAS would double the time. Two or four rows at a
    time read the weights less often; the sums of a row do not depend on other rows. Weights in
    double precision give sums in double precision.
    """
    mixed = matrix.dtype == np.float32 and weights.dtype == np.float64
    loop = _add_by_fours if mixed else _add_by_twos
    loop(matrix, rows, start, weights, out)


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1], float64[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract", "reassoc"},
)
def _add_by_twos(matrix, rows, start, weights, out):  # type: ignore[no-untyped-def]
    """Add the products of two rows at a time; the last of an odd number is paired with itself."""
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
    "void(float32[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract", "reassoc"},
)
def _add_by_fours(matrix, rows, start, weights, out):  # type: ignore[no-untyped-def]
    """Add the products of four rows at a time; the last row replaces missing ones."""
    outputs, width = weights.shape
    end, sums, more = len(rows) - 1, np.empty(4), np.empty(4)
    for i in range(0, len(rows), 4):
        second, third, fourth = min(i + 1, end), min(i + 2, end), min(i + 3, end)
        w = matrix[rows[i], start : start + width]
        x = matrix[rows[second], start : start + width]
        y = matrix[rows[third], start : start + width]
        z = matrix[rows[fourth], start : start + width]
        for k in range(0, outputs, 2):
            last = min(k + 1, outputs - 1)
            a, b = weights[k], weights[last]
            s = t = u = v = S = T = U = V = 0.0
            for j in range(width):
                s += w[j] * a[j]
                t += x[j] * a[j]
                u += y[j] * a[j]
                v += z[j] * a[j]
                S += w[j] * b[j]
                T += x[j] * b[j]
                U += y[j] * b[j]
                V += z[j] * b[j]
            sums[0], sums[1], sums[2], sums[3] = s, t, u, v
            more[0], more[1], more[2], more[3] = S, T, U, V
            for r in range(min(4, len(rows) - i)):
                out[i + r, k] += sums[r]
                if last > k:
                    out[i + r, last] += more[r]


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1], float32[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    "void(float32[:, ::1], int64[::1], int64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract"},
)
def add_column_products(matrix, rows, start, values, out):  # type: ignore[no-untyped-def]
    """Add to `out`, (outputs, columns), the products of columns from `start` on with values.

    `values`, (rows, outputs), belong to some rows of the matrix. Four rows at a time read and write
    the sums less often, and two outputs at a time read the rows less often.
    """
    outputs, width = out.shape
    i = 0
    while i + 4 <= len(rows):
        a = matrix[rows[i], start : start + width]
        b = matrix[rows[i + 1], start : start + width]
        c = matrix[rows[i + 2], start : start + width]
        d = matrix[rows[i + 3], start : start + width]
        k = 0
        while k + 2 <= outputs:
            total, other = out[k], out[k + 1]
            s, t, u, v = values[i, k], values[i + 1, k], values[i + 2, k], values[i + 3, k]
            S, T = values[i, k + 1], values[i + 1, k + 1]
            U, V = values[i + 2, k + 1], values[i + 3, k + 1]
            for j in range(width):
                p, q, x, y = a[j], b[j], c[j], d[j]
                total[j] += (p * s + q * t) + (x * u + y * v)
                other[j] += (p * S + q * T) + (x * U + y * V)
            k += 2
        while k < outputs:
            total = out[k]
            s, t, u, v = values[i, k], values[i + 1, k], values[i + 2, k], values[i + 3, k]
            for j in range(width):
                total[j] += (a[j] * s + b[j] * t) + (c[j] * u + d[j] * v)
            k += 1
        i += 4
    while i < len(rows):
        a = matrix[rows[i], start : start + width]
        for k in range(outputs):
            total, s = out[k], values[i, k]
            for j in range(width):
                total[j] += a[j] * s
        i += 1
