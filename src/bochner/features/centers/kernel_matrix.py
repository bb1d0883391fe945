"""The kernel matrix of all centres: computed whole, or by rows of which some are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.linear_algebra.products import add_column_products
from bochner.compute.pool import each_tile
from bochner.features.dense_basis import BLOCK, TILE_ROWS, DenseBasis, padded

COLUMNS, ODD = 32, 8
ENTRY = 8  # bytes of a value


def kernel_matrix(basis: DenseBasis, centers: Any) -> NDArray[Any]:
    """Return k(c_i, c_j) of all centres; one half is computed, and mirrored.

    The tiles are those of a basis, so the values are the same in every bit.
    """
    size = basis.end(None)
    matrix = np.empty((size, size), basis.dtype)
    tops = range(0, size, TILE_ROWS)
    tiles = [(top, begin) for top in tops for begin in range(top // BLOCK * BLOCK, size, BLOCK)]

    def fill(number: int, _: int) -> None:
        top, begin = tiles[number]
        bottom, end = min(top + TILE_ROWS, size), min(begin + BLOCK, size)
        tile = np.empty((TILE_ROWS, end - begin), basis.dtype)
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


class RowCache:
    """Rows k(c_i, c_j), j = 1, ..., n, for centres c_i that are asked for.

    As many rows as fit into `memory` bytes are stored; those that were not used for the longest
    time make room for others. The values do not depend on what is stored.

    Parameters
    ----------
    basis : DenseBasis
        The functions k(., c_j), in double precision.
    code : array or CSR rows
        The code of the centres.
    memory : int
        Bytes for stored rows; the rows of one call are stored in any case.
    """

    def __init__(self, basis: DenseBasis, code: Any, memory: int) -> None:
        self.basis, self.code = basis, code
        size = basis.end(None)
        self.room = min(size, memory // (ENTRY * size))
        self._place = np.full(size, -1, np.int64)  # of each row in the store
        self._owner = np.full(self.room, -1, np.int64)  # the row at each place
        self._used = np.zeros(self.room, np.int64)  # the number of the last call that used it
        self._store = np.empty((self.room, size))
        self._calls = 0

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where in the store these different rows are, having computed what is missing."""
        self._calls += 1
        if len(numbers) > self.room:
            self._grow(len(numbers))
        known = self._place[numbers] >= 0
        self._used[self._place[numbers[known]]] = self._calls
        missing = numbers[~known]
        if len(missing):
            oldest = np.argsort(self._used, kind="stable")[: len(missing)]
            gone = self._owner[oldest]
            self._place[gone[gone >= 0]] = -1
            self._store[oldest] = self.basis.columns(self.code[missing])
            self._place[missing], self._owner[oldest] = oldest, missing
            self._used[oldest] = self._calls
        return self._place[numbers]

    def square(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values of pairs of these rows, of which some may be equal."""
        rows, inverse = np.unique(numbers, return_inverse=True)
        places = self._places(rows)[inverse]
        return self._store[np.ix_(places, numbers)]

    def add_products(
        self, numbers: NDArray[np.int64], weights: NDArray[np.float64], out: NDArray[np.float64]
    ) -> None:
        """Add sum_i k(c_j, c_i) weights_i of these different rows to `out`, (n, outputs)."""
        places = self._places(numbers)

        def add(begin: int, end: int) -> None:
            part = np.zeros((weights.shape[1], end - begin))
            add_column_products(self._store, places, begin, weights, part)
            out[begin:end] += part.T

        each_tile(add, len(out), BLOCK)

    def _grow(self, room: int) -> None:
        more = room - self.room
        self._owner = np.concatenate([self._owner, np.full(more, -1, np.int64)])
        self._used = np.concatenate([self._used, np.zeros(more, np.int64)])
        self._store = np.concatenate([self._store, np.empty((more, self._store.shape[1]))])
        self.room = room
