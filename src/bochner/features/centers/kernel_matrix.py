"""The kernel matrix of all centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile
from bochner.features.dense_basis import BLOCK, ROWS, DenseBasis, padded

COLUMNS, ODD = 32, 8


def kernel_matrix(basis: DenseBasis, centers: Any) -> NDArray[Any]:
    """Return k(c_i, c_j) of all centres; one half is computed, and mirrored.

    The tiles are those of a basis, so the values are the same in every bit.
    """
    size = basis.end(None)
    matrix = np.empty((size, size), basis.dtype)
    tops = range(0, size, ROWS)
    tiles = [(top, begin) for top in tops for begin in range(top // BLOCK * BLOCK, size, BLOCK)]

    def fill(number: int, _: int) -> None:
        top, begin = tiles[number]
        bottom, end = min(top + ROWS, size), min(begin + BLOCK, size)
        tile = np.empty((ROWS, end - begin), basis.dtype)
        basis.fill(padded(centers, top, bottom), begin, end, tile)
        matrix[top:bottom, begin:end] = tile[: bottom - top]
        if begin > top // BLOCK * BLOCK:
            _transpose(tile[: bottom - top], matrix, begin, top)

    each_tile(fill, len(tiles), 1)
    return matrix


@compiled(
    "void(float32[:, ::1], float32[:, ::1], int64, int64)",
    "void(float64[:, ::1], float64[:, ::1], int64, int64)",
)
def _transpose(tile, matrix, first_row, first_column):  # type: ignore[no-untyped-def]
    # Through a buffer whose rows are no power of two long, which avoids conflicts in the cache.
    rows, columns = tile.shape
    some = np.empty((COLUMNS, rows + ODD), tile.dtype)
    for left in range(0, columns, COLUMNS):
        right = min(left + COLUMNS, columns)
        for i in range(rows):
            for j in range(right - left):
                some[j, i] = tile[i, left + j]
        for j in range(right - left):
            out = matrix[first_row + left + j, first_column:]
            for i in range(rows):
                out[i] = some[j, i]
