"""The kernel matrix of all centres, and codes that are rows of a stored matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile
from bochner.features.dense_basis import BLOCK, ROWS, DenseBasis, NumberedRows, padded

COLUMNS, ODD = 32, 8


@dataclass(frozen=True, eq=False)
class KernelRows(NumberedRows):
    """The code of rows whose columns are stored: their numbers in a matrix."""

    matrix: NDArray[Any]
    numbers: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of functions."""
        return len(self.numbers), self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the matrix."""
        return self.matrix.dtype

    def __getitem__(self, rows: Any) -> KernelRows:
        return KernelRows(self.matrix, self.numbers[rows])

    def padded(self, height: int) -> KernelRows:
        """Return these rows, padded to `height` by repeating the first.

        Other rows of the matrix may not be computed yet and hold NaN.
        """
        numbers = np.full(height, self.numbers[0] if len(self.numbers) else 0, np.int64)
        numbers[: len(self.numbers)] = self.numbers
        return KernelRows(self.matrix, numbers)

    def fill(self, start: int, out: NDArray[Any]) -> None:
        """Copy the columns start, start + 1, ... into `out`."""
        _gather(self.matrix, self.numbers, start, out)


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


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1])",
)
def _gather(matrix, numbers, start, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        row = matrix[numbers[i], start:]
        for j in range(out.shape[1]):
            out[i, j] = row[j]
