"""RowCache: rows of the kernel matrix of all centres in double precision, some of them stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import add_column_products
from bochner.compute.pool import each_tile
from bochner.features.dense_basis import BLOCK, DenseBasis

ENTRY = 8  # bytes of a value


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
