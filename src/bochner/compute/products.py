"""Products of tall arrays with themselves and each other, the same for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile

SIDE = 256  # of a square tile of the result
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
    out = np.empty((A.shape[1], B.shape[1]))

    def fill(start: int, stop: int) -> None:
        out[start:stop] = _summed(A[:, start:stop], B)

    each_tile(fill, A.shape[1], SIDE)
    return out


def product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return AB in float64, for a tall A."""
    out = np.empty((len(A), B.shape[1]))

    def fill(start: int, stop: int) -> None:
        out[start:stop] = A[start:stop] @ B

    each_tile(fill, len(A), ROWS)
    return out


def _summed(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return A'B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), ROWS):
        total += A[start : start + ROWS].T @ B[start : start + ROWS]
    return total
