"""Sums over columns of a function of two entries, for the rows of one tile and some of another."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.elementwise.entropy_sums import COLUMNS, WIDTH, entropy_sums

Array = NDArray[Any]
ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)


class Term(IntEnum):
    """The functions t(a, b) of two entries that can be summed."""

    MINIMUM = 0  # min(a, b)
    HARMONIC = 1  # 2 a b / (a + b)
    ENTROPY = 2  # a / 2 log2((a + b) / a) + b / 2 log2((a + b) / b)
    ROOT = 3  # sqrt(a + b)
    UNEQUAL = 4  # 1 where a and b differ, else 0

    # a + b - 2 t(a, b) for the first three and for sqrt(a b), without cancellation.
    ABSOLUTE = 5  # |a - b|
    CHI_SQUARED = 6  # (a - b)^2 / (a + b)
    DIVERGENCE = 7  # a + b - 2 ENTROPY
    ROOTS = 8  # (sqrt(a) - sqrt(b))^2


MINIMUM, HARMONIC, _, ROOT, UNEQUAL, ABSOLUTE, CHI_SQUARED, _, ROOTS = (int(t) for t in Term)


def pairwise_sums(term: Term, A: Array, transposed: Array, start: int, out: Array) -> None:
    """Write sum_k t(a_ik, b_kj) into `out`.

    The b_j are the columns of `transposed` from `start` on. All arrays are C-contiguous and of one
    dtype, float32 or float64. Entries are from 0 on, but for UNEQUAL.
    """
    _require(A, transposed, start, out)
    if term == Term.ENTROPY:
        entropy_sums(A, transposed, start, -0.5, 0.5, out)
    elif term == Term.DIVERGENCE:
        entropy_sums(A, transposed, start, 1.0, 0.0, out)
    else:
        _sums(int(term), A, transposed, start, out)


def reciprocal_products(A: Array, transposed: Array, start: int, out: Array) -> None:
    """Write prod_k 1 / (1 + a_ik + b_kj) into `out`, for entries from 0 on."""
    _require(A, transposed, start, out)
    _products(False, A, transposed, start, out)


def harmonic_products(A: Array, transposed: Array, start: int, out: Array) -> None:
    """Write prod_k 2 a_ik b_kj / (a_ik^2 + b_kj^2) into `out`, for positive entries."""
    _require(A, transposed, start, out)
    _products(True, A, transposed, start, out)


def _require(A: Array, transposed: Array, start: int, out: Array) -> None:
    stop = start + out.shape[1]
    fits = len(transposed) == A.shape[1] and start >= 0 and stop <= transposed.shape[1]
    if not fits or len(out) != len(A):
        raise ValueError(
            f"Sums over the columns of an array of shape {A.shape} and the columns {start} to "
            f"{stop} of one of shape {transposed.shape} do not fit into {out.shape}."
        )


# The inner loops run over the rows of B, which are contiguous in the transposed array: LLVM
# vectorises them if division by 0 is not checked. Where a is 0 the minimum and the mean are 0, and
# distances are b.
@compiled(
    "void(int64, float32[:, ::1], float32[:, ::1], int64, float32[:, ::1])",
    "void(int64, float64[:, ::1], float64[:, ::1], int64, float64[:, ::1])",
    error_model="numpy",
)
def _sums(term: int, A: Array, transposed: Array, start: int, out: Array) -> None:
    sums = np.empty(min(WIDTH, out.shape[1]), A.dtype)
    for first in range(0, out.shape[1], WIDTH):
        width = min(WIDTH, out.shape[1] - first)
        at = slice(start + first, start + first + width)
        for i in range(A.shape[0]):
            row = out[i, first : first + width]
            row[:] = 0
            for top in range(0, A.shape[1], COLUMNS):
                sums[:] = 0
                for k in range(top, min(top + COLUMNS, A.shape[1])):
                    a, b = A[i, k], transposed[k, at]
                    if term == ROOT:
                        for j in range(width):
                            sums[j] += np.sqrt(a + b[j])
                    elif term == UNEQUAL:
                        for j in range(width):
                            sums[j] += ZERO if a == b[j] else ONE
                    elif a == 0:
                        if term >= ABSOLUTE:
                            for j in range(width):
                                sums[j] += b[j]
                    elif term == MINIMUM:
                        for j in range(width):
                            sums[j] += a if a < b[j] else b[j]
                    elif term == HARMONIC:
                        for j in range(width):
                            sums[j] += TWO * a * b[j] / (a + b[j])
                    elif term == ABSOLUTE:
                        for j in range(width):
                            sums[j] += abs(a - b[j])
                    elif term == CHI_SQUARED:
                        for j in range(width):
                            d = a - b[j]
                            sums[j] += d * (d / (a + b[j]))
                    elif term == ROOTS:
                        root = np.sqrt(a)
                        for j in range(width):
                            d = root - np.sqrt(b[j])
                            sums[j] += d * d
                for j in range(width):
                    row[j] += sums[j]


@compiled(
    "void(boolean, float32[:, ::1], float32[:, ::1], int64, float32[:, ::1])",
    "void(boolean, float64[:, ::1], float64[:, ::1], int64, float64[:, ::1])",
    error_model="numpy",
)
def _products(harmonic: bool, A: Array, transposed: Array, start: int, out: Array) -> None:
    for first in range(0, out.shape[1], WIDTH):
        width = min(WIDTH, out.shape[1] - first)
        at = slice(start + first, start + first + width)
        for i in range(A.shape[0]):
            row = out[i, first : first + width]
            row[:] = ONE
            for k in range(A.shape[1]):
                a, b = A[i, k], transposed[k, at]
                twice, square = a + a, a * a
                if harmonic:
                    for j in range(width):
                        row[j] *= twice * b[j] / (square + b[j] * b[j])
                else:
                    for j in range(width):
                        row[j] /= ONE + (a + b[j])
