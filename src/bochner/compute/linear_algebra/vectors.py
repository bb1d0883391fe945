"""Updates of conjugate gradients on long arrays, with sums in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile, sum_tiles

Array = NDArray[Any]
TILE = 65_536  # rows


def ridge_product(p: Array, q: Array, ridge: float, share: float) -> NDArray[np.float64]:
    """Set q = q * share + ridge * p in place, and return sum(p q) of each column."""

    def sweep(top: int, bottom: int) -> NDArray[np.float64]:
        sums = np.zeros(p.shape[1])
        _ridge_product(p[top:bottom], q[top:bottom], ridge, share, sums)
        return sums

    return sum_tiles(sweep, len(p), TILE, (p.shape[1],))


def update_solution(
    x: Array, r: Array, p: Array, q: Array, diagonal: Array, length: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Set x += length p, r -= length q, q = 0 in place; return sum(r^2 / diagonal) by columns."""

    def sweep(top: int, bottom: int) -> NDArray[np.float64]:
        sums = np.zeros(len(length))
        part = slice(top, bottom)
        _update_solution(x[part], r[part], p[part], q[part], diagonal[part], length, sums)
        return sums

    return sum_tiles(sweep, len(x), TILE, (len(length),))


def update_direction(p: Array, r: Array, diagonal: Array, keep: NDArray[np.float64]) -> None:
    """Set p = r / diagonal + keep p in place."""

    def sweep(top: int, bottom: int) -> None:
        _update_direction(p[top:bottom], r[top:bottom], diagonal[top:bottom], keep)

    each_tile(sweep, len(p), TILE)


@compiled(
    "void(float32[:, ::1], float32[:, ::1], float64, float64, float64[::1])",
    "void(float64[:, ::1], float64[:, ::1], float64, float64, float64[::1])",
)
def _ridge_product(p, q, ridge, share, sums):  # type: ignore[no-untyped-def]
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            value = q[i, k] * share + ridge * p[i, k]
            sums[k] += value * p[i, k]
            q[i, k] = value


@compiled(
    "void(float32[:, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1], float32[::1], "
    "float64[::1], float64[::1])",
    "void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], "
    "float64[::1], float64[::1])",
)
def _update_solution(x, r, p, q, diagonal, length, sums):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            x[i, k] += length[k] * p[i, k]
            value = r[i, k] - length[k] * q[i, k]
            r[i, k] = value
            q[i, k] = 0
            sums[k] += value * value / diagonal[i]


@compiled(
    "void(float32[:, ::1], float32[:, ::1], float32[::1], float64[::1])",
    "void(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1])",
)
def _update_direction(p, r, diagonal, keep):  # type: ignore[no-untyped-def]
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            p[i, k] = r[i, k] / diagonal[i] + keep[k] * p[i, k]
