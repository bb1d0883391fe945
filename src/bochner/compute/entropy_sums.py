"""Sums over columns of (a + b) times the entropy, in bits, of the shares of a and b in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

COLUMNS = 64  # summed at once, so that rounding does not grow with their number
WIDTH = 512  # rows of B at once: a block of them, 128 kB in float32, stays in the cache

# log2(x) = e + log2(m) with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 artanh(s) with
# s = (m - 1) / (m + 1), |s| <= 0.1716: its series needs few terms. The bits of sqrt(1/2) are
# subtracted from those of x, so that what is left above the mantissa is e. At x = 0 the result is
# finite, as x log2(x) = 0 needs it; the two shares 1/2 have 1 bit exactly.
BITS, MANTISSA = np.int32(0x3F3504F3), np.int32(23)
L1, L3, L5, L7, L9 = (np.float32(2 / np.log(2) / n) for n in (1, 3, 5, 7, 9))
BITS_DOUBLE, MANTISSA_DOUBLE = np.int64(0x3FE6A09E667F3BCD), np.int64(52)
M1, M3, M5, M7, M9, M11, M13, M15, M17, M19, M21 = (
    float(2 / np.log(2) / n) for n in range(1, 22, 2)
)
ONE, HALF = np.float32(1), np.float32(0.5)


def entropy_sums(
    A: NDArray[Any],
    transposed: NDArray[Any],
    start: int,
    factor: float,
    total: float,
    out: NDArray[Any],
) -> None:
    """Write sum_k (factor t(a_ik, b_kj) + total (a_ik + b_kj)) into `out`.

    t(a, b) = a/2 log2((a + b) / a) + b/2 log2((a + b) / b), for entries from 0 on. The b_j are the
    columns of `transposed` from `start` on; all arrays fit and are C-contiguous, of one dtype,
    float32 or float64.
    """
    loop = _single if out.dtype == np.float32 else _double
    loop(A, transposed, start, out.dtype.type(factor), out.dtype.type(total), out)


@compiled(
    "void(float32[:, ::1], float32[:, ::1], int64, float32, float32, float32[:, ::1])",
    error_model="numpy",
)
def _single(A, transposed, start, factor, total, out):  # type: ignore[no-untyped-def]
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
                            sums[j] += total * b[j]
                        continue
                    for j in range(width):
                        s = a + b[j]
                        u, v = np.float32(a / s), np.float32(b[j] / s)
                        x, y = u.view(np.int32), v.view(np.int32)
                        d = np.int32(np.int32(x - BITS) >> MANTISSA)
                        e = np.int32(np.int32(y - BITS) >> MANTISSA)
                        m = np.int32(x - (d << MANTISSA)).view(np.float32)
                        n = np.int32(y - (e << MANTISSA)).view(np.float32)
                        p, q = (m - ONE) / (m + ONE), (n - ONE) / (n + ONE)
                        g, h = p * p, q * q
                        p *= (((L9 * g + L7) * g + L5) * g + L3) * g + L1
                        q *= (((L9 * h + L7) * h + L5) * h + L3) * h + L1
                        bits = u * (np.float32(d) + p) + v * (np.float32(e) + q)
                        sums[j] += total * s - factor * (HALF * s * bits)
                for j in range(width):
                    row[j] += sums[j]


@compiled(
    "void(float64[:, ::1], float64[:, ::1], int64, float64, float64, float64[:, ::1])",
    error_model="numpy",
)
def _double(A, transposed, start, factor, total, out):  # type: ignore[no-untyped-def]
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
                            sums[j] += total * b[j]
                        continue
                    for j in range(width):
                        s = a + b[j]
                        u, v = np.float64(a / s), np.float64(b[j] / s)
                        x, y = u.view(np.int64), v.view(np.int64)
                        d = (x - BITS_DOUBLE) >> MANTISSA_DOUBLE
                        e = (y - BITS_DOUBLE) >> MANTISSA_DOUBLE
                        m = np.int64(x - (d << MANTISSA_DOUBLE)).view(np.float64)
                        n = np.int64(y - (e << MANTISSA_DOUBLE)).view(np.float64)
                        p, q = (m - 1.0) / (m + 1.0), (n - 1.0) / (n + 1.0)
                        g, h = p * p, q * q
                        c = ((((M21 * g + M19) * g + M17) * g + M15) * g + M13) * g + M11
                        f = ((((M21 * h + M19) * h + M17) * h + M15) * h + M13) * h + M11
                        p *= ((((c * g + M9) * g + M7) * g + M5) * g + M3) * g + M1
                        q *= ((((f * h + M9) * h + M7) * h + M5) * h + M3) * h + M1
                        bits = u * (np.float64(d) + p) + v * (np.float64(e) + q)
                        sums[j] += total * s - factor * (0.5 * s * bits)
                for j in range(width):
                    row[j] += sums[j]
