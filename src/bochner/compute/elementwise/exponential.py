"""The exponential function, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

# exp(x) = 2^n exp(r) with n = rint(x / log 2). Adding 1.5 * 2^(mantissa bits) rounds x / log 2 and
# leaves n in the low bits, so that a NaN never has to become an integer. 2^n is applied in two
# halves: n may lie just outside the exponents of the type. Results below the smallest normal
# number become 0, since subnormal numbers slow down products.
# The coefficients are minimax (Remez exchange) for |r| <= log(2) / 2, relative errors 2e-9, 3e-18.
A2, A3, A4, A5, A6 = (
    np.float32(c)
    for c in (
        0.499999920798165,
        0.16666420169850127,
        0.04166822556955699,
        0.008374815804344068,
        0.0013836845989333483,
    )
)
B2, B3, B4, B5, B6, B7, B8, B9, B10, B11 = (
    0.5000000000000018,
    0.16666666666666172,
    0.04166666666649253,
    0.008333333333557564,
    0.00138888889512562,
    0.00019841269436619805,
    2.4801486504204844e-05,
    2.755761888623274e-06,
    2.7632296023668834e-07,
    2.4995486460270893e-08,
)
ROUND, ROUND_BITS = np.float32(1.5 * 2**23), np.float32(1.5 * 2**23).view(np.int32)
ROUND_DOUBLE, ROUND_DOUBLE_BITS = 1.5 * 2**52, np.float64(1.5 * 2**52).view(np.int64)
ZERO, ONE = np.float32(0), np.float32(1)
LOWEST, HIGHEST = np.float32(-87.336), np.float32(89)
BIAS, BITS, HALF = np.int32(127), np.int32(23), np.int32(1)
LOG2E = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)


def exponential(values: NDArray[Any]) -> NDArray[Any]:
    """Replace the C-contiguous float32 or float64 `values` by their exponentials; return them.

    The relative error is below 3e-7 or 1e-15. NaN stays NaN, an overflow gives infinity.
    """
    if not values.flags.c_contiguous or values.dtype not in (np.float32, np.float64):
        raise ValueError(
            "exponential works in place on C-contiguous float32 or float64 arrays; "
            f"got {values.dtype} with strides {values.strides}: copy or cast it first."
        )
    loop = _exponential_single if values.dtype == np.float32 else _exponential_double
    loop(values.reshape(-1))
    return values


@compiled("void(float32[::1])")
def _exponential_single(values: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        given = values[i]
        x = LOWEST if given < LOWEST else given
        x = HIGHEST if x > HIGHEST else x
        rounded = np.float32(x * LOG2E + ROUND)
        n = np.int32(rounded.view(np.int32) - ROUND_BITS)
        k = rounded - ROUND
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        p = (((((A6 * r + A5) * r + A4) * r + A3) * r + A2) * r + ONE) * r + ONE
        half = np.int32(n >> HALF)
        low = np.int32((half + BIAS) << BITS).view(np.float32)
        high = np.int32((n - half + BIAS) << BITS).view(np.float32)
        values[i] = ZERO if given < LOWEST else p * low * high


@compiled("void(float64[::1])")
def _exponential_double(values: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        given = values[i]
        x = -708.39 if given < -708.39 else given
        x = 710.0 if x > 710.0 else x
        rounded = np.float64(x * 1.4426950408889634 + ROUND_DOUBLE)
        n = rounded.view(np.int64) - ROUND_DOUBLE_BITS
        k = rounded - ROUND_DOUBLE
        r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        p = ((((B11 * r + B10) * r + B9) * r + B8) * r + B7) * r + B6
        p = (((((p * r + B5) * r + B4) * r + B3) * r + B2) * r + 1.0) * r + 1.0
        half = n >> 1
        low = np.int64((half + 1023) << 52).view(np.float64)
        high = np.int64((n - half + 1023) << 52).view(np.float64)
        values[i] = 0.0 if given < -708.39 else p * low * high
