"""Distances between the rows of one tile and some rows of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

Array = NDArray[Any]
COLUMNS = 64  # summed at once, a multiple of 4
WIDTH = 512  # rows of B at once: a block, 128 kB in float32, fits into the cache


def manhattan_distances(A: Array, transposed: Array, start: int, factor: float, out: Array) -> None:
    """Write factor |a_i - b_j|_1 into `out`, for the columns b_j of `transposed` from `start` on.

    All arrays are C-contiguous and of one dtype, float32 or float64. Columns are summed in groups
    of 64: in float32 the largest relative error is about 4e-7 for 784 columns, 6e-7 for 4,000.
    """
    stop = start + out.shape[1]
    fits = len(transposed) == A.shape[1] and start >= 0 and stop <= transposed.shape[1]
    if not fits or len(out) != len(A):
        raise ValueError(
            f"Distances of an array of shape {A.shape} from the columns {start} to {stop} of one "
            f"of shape {transposed.shape} do not fit into {out.shape}."
        )
    _manhattan(A, transposed, start, out.dtype.type(factor), out)


def squared_distances(products: Array, left: Array, right: Array, factor: float) -> None:
    """Replace products a_i'b_j by factor |a_i - b_j|^2, given the squared norms of both sides.

    The squared distance left_i + right_j - 2 a_i'b_j is clipped at 0, since rounding may make it
    negative. All arrays are C-contiguous and of one dtype, float32 or float64.
    """
    _replace_products(products, left, right, products.dtype.type(factor))


# The inner loops run over the rows of B, which are contiguous in the transposed array: LLVM
# vectorises them. Four columns at a time need only one load and one store of the sum.
@compiled(
    "void(float32[:, ::1], float32[:, ::1], int64, float32, float32[:, ::1])",
    "void(float64[:, ::1], float64[:, ::1], int64, float64, float64[:, ::1])",
)
def _manhattan(A: Array, transposed: Array, start: int, factor: Any, out: Array) -> None:
    sums = np.empty(min(WIDTH, out.shape[1]), A.dtype)
    for first in range(0, out.shape[1], WIDTH):
        width = min(WIDTH, out.shape[1] - first)
        at = slice(start + first, start + first + width)
        for top in range(0, max(A.shape[1], 1), COLUMNS):
            bottom = min(top + COLUMNS, A.shape[1])
            fours = bottom - (bottom - top) % 4
            for i in range(A.shape[0]):
                sums[:] = 0
                for k in range(top, fours, 4):
                    a0, a1, a2, a3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                    b0, b1 = transposed[k, at], transposed[k + 1, at]
                    b2, b3 = transposed[k + 2, at], transposed[k + 3, at]
                    for j in range(width):
                        left, right = abs(a0 - b0[j]) + abs(a1 - b1[j]), abs(a2 - b2[j])
                        sums[j] += left + (right + abs(a3 - b3[j]))
                for k in range(fours, bottom):
                    a, b = A[i, k], transposed[k, at]
                    for j in range(width):
                        sums[j] += abs(a - b[j])
                row = out[i, first : first + width]
                for j in range(width):
                    row[j] = factor * sums[j] if top == 0 else row[j] + factor * sums[j]


@compiled(
    "void(float32[:, ::1], float32[::1], float32[::1], float32)",
    "void(float64[:, ::1], float64[::1], float64[::1], float64)",
)
def _replace_products(products: Array, left: Array, right: Array, factor: Any) -> None:
    zero = factor * 0
    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            square = left[i] + right[j] - products[i, j] - products[i, j]
            products[i, j] = factor * (zero if square < zero else square)
