"""Sums over columns of a function of two entries, for the rows of one tile and some of another."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

Array = NDArray[Any]
COLUMNS = 64  # summed at once, to limit rounding errors
WIDTH = 512  # rows of B at once: a block, 128 kB in float32, fits into the cache

# With H the entropy in bits of the shares of a and b, the term of an entropy is (a + b) (1 - H).
# Twice the shares are y = 2 min(a, b) / (a + b) and h = 2 - y, and h log2(h) + y log2(y) is
# 2 (1 - H): 0 where a = b, and 2 where b = 0, exactly.
# log2(y) = e + log2(m) with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 artanh(q) with
# q = (m - 1) / (m + 1), |q| <= 0.1716: its series needs few terms. The bits of sqrt(1/2) are
# subtracted from those of y, so that what is left above the mantissa is e; TINY, which is lost in
# other sums, keeps y from 0. For h, from 1 to 2, the exponent d is 0 or 1. Where it is 0 it is
# x = |a - b| / (a + b) that has the digits of h - 1 and 1 - y.
BITS, MANTISSA = np.int32(0x3F3504F3), np.int32(23)
L1, L3, L5, L7, L9 = (np.float32(2 / np.log(2) / n) for n in (1, 3, 5, 7, 9))
BITS_DOUBLE, MANTISSA_DOUBLE = np.int64(0x3FE6A09E667F3BCD), np.int64(52)
M1, M3, M5, M7, M9, M11, M13, M15, M17, M19, M21 = (
    float(2 / np.log(2) / n) for n in range(1, 22, 2)
)
ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)
BEND, TINY = np.float32(np.sqrt(2)), np.float32(1e-30)
BEND_DOUBLE, TINY_DOUBLE = float(np.sqrt(2)), 1e-300


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
        _entropy_sums(A, transposed, start, -0.5, 0.5, out)
    elif term == Term.DIVERGENCE:
        _entropy_sums(A, transposed, start, 1.0, 0.0, out)
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


def subset_products(
    factors: tuple[float, float], A: Array, transposed: Array, start: int, out: Array
) -> None:
    """Write prod_k (1 - share + share exp(-slope |a_ik - b_kj|)) for factors (share, slope)."""
    _require(A, transposed, start, out)
    _subset_products(*factors, A, transposed, start, out)


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


def _entropy_sums(
    A: Array, transposed: Array, start: int, factor: float, total: float, out: Array
) -> None:
    """Write sum_k (factor d(a_ik, b_kj) + total (a_ik + b_kj)) into `out`.

    d(a, b) = a + b - a log2((a + b) / a) - b log2((a + b) / b), for entries from 0 on. The b_j are
    the columns of `transposed` from `start` on; all arrays fit and are C-contiguous, of one dtype,
    float32 or float64.
    """
    loop = _entropies if out.dtype == np.float32 else _entropies_in_double
    loop(A, transposed, start, out.dtype.type(factor / 2), out.dtype.type(total), out)


@compiled(
    "void(float32[:, ::1], float32[:, ::1], int64, float32, float32, float32[:, ::1])",
    error_model="numpy",
)
def _entropies(A, transposed, start, factor, total, out):  # type: ignore[no-untyped-def]
    sums = np.empty(min(WIDTH, out.shape[1]), A.dtype)
    for first in range(0, out.shape[1], WIDTH):
        width = min(WIDTH, out.shape[1] - first)
        for i in range(A.shape[0]):
            row = out[i, first : first + width]
            row[:] = 0
            for top in range(0, A.shape[1], COLUMNS):
                sums[:] = 0
                for k in range(top, min(top + COLUMNS, A.shape[1])):
                    a, b = A[i, k], transposed[k, start + first : start + first + width]
                    if a == 0:
                        for j in range(width):
                            sums[j] += b[j] * (total + TWO * factor)
                        continue
                    for j in range(width):
                        s = a + b[j]
                        over = ONE / s
                        x = abs(a - b[j]) * over
                        y = np.float32(TWO * (a if a < b[j] else b[j]) * over + TINY)
                        h = TWO - y
                        d = ONE if h > BEND else ZERO
                        e = np.int32(np.int32(y.view(np.int32) - BITS) >> MANTISSA)
                        m = np.int32(y.view(np.int32) - (e << MANTISSA)).view(np.float32)
                        p = (x if d == ZERO else -y) / (h + d + ONE)
                        q = (-x if e == 0 else m - ONE) / (m + ONE)
                        g, r = p * p, q * q
                        p *= (((L9 * g + L7) * g + L5) * g + L3) * g + L1
                        q *= (((L9 * r + L7) * r + L5) * r + L3) * r + L1
                        lack = h * (d + p) + y * (np.float32(e) + q)
                        sums[j] += s * (total + factor * lack)
                for j in range(width):
                    row[j] += sums[j]


@compiled(
    "void(float64[:, ::1], float64[:, ::1], int64, float64, float64, float64[:, ::1])",
    error_model="numpy",
)
def _entropies_in_double(A, transposed, start, factor, total, out):  # type: ignore[no-untyped-def]
    sums = np.empty(min(WIDTH, out.shape[1]), A.dtype)
    for first in range(0, out.shape[1], WIDTH):
        width = min(WIDTH, out.shape[1] - first)
        for i in range(A.shape[0]):
            row = out[i, first : first + width]
            row[:] = 0
            for top in range(0, A.shape[1], COLUMNS):
                sums[:] = 0
                for k in range(top, min(top + COLUMNS, A.shape[1])):
                    a, b = A[i, k], transposed[k, start + first : start + first + width]
                    if a == 0:
                        for j in range(width):
                            sums[j] += b[j] * (total + 2.0 * factor)
                        continue
                    for j in range(width):
                        s = a + b[j]
                        over = 1.0 / s
                        x = abs(a - b[j]) * over
                        y = np.float64(2.0 * (a if a < b[j] else b[j]) * over + TINY_DOUBLE)
                        h = 2.0 - y
                        d = 1.0 if h > BEND_DOUBLE else 0.0
                        e = (y.view(np.int64) - BITS_DOUBLE) >> MANTISSA_DOUBLE
                        m = np.int64(y.view(np.int64) - (e << MANTISSA_DOUBLE)).view(np.float64)
                        p = (x if d == 0.0 else -y) / (h + d + 1.0)
                        q = (-x if e == 0 else m - 1.0) / (m + 1.0)
                        g, r = p * p, q * q
                        c = ((((M21 * g + M19) * g + M17) * g + M15) * g + M13) * g + M11
                        f = ((((M21 * r + M19) * r + M17) * r + M15) * r + M13) * r + M11
                        p *= ((((c * g + M9) * g + M7) * g + M5) * g + M3) * g + M1
                        q *= ((((f * r + M9) * r + M7) * r + M5) * r + M3) * r + M1
                        lack = h * (d + p) + y * (np.float64(e) + q)
                        sums[j] += s * (total + factor * lack)
                for j in range(width):
                    row[j] += sums[j]


@compiled(
    "void(float64, float64, float32[:, ::1], float32[:, ::1], int64, float32[:, ::1])",
    "void(float64, float64, float64[:, ::1], float64[:, ::1], int64, float64[:, ::1])",
    error_model="numpy",
)
def _subset_products(
    share: float, slope: float, A: Array, transposed: Array, start: int, out: Array
) -> None:
    taken, left, factor = A.dtype.type(share), A.dtype.type(1.0 - share), A.dtype.type(slope)
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = ONE
        for k in range(A.shape[1]):
            a, b = A[i, k], transposed[k, start : start + out.shape[1]]
            for j in range(len(row)):
                row[j] *= left + taken * np.exp(-abs(a - b[j]) * factor)
