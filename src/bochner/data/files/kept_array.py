"""KeptArray: rows of an array file, which is used where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.array_table import ArrayTable
from bochner.data.files.growing import DROP, Places, gathered
from bochner.data.files.kept import KeptRows
from bochner.data.files.layout import Layout
from bochner.data.files.paths import Stamp
from bochner.data.files.split import Split

CHUNK_ROWS = 1 << 20


class KeptArray(KeptRows):
    """Rows of an `ArrayTable`: nothing is kept but the numbers of those that a split leaves.

    Parameters
    ----------
    table : ArrayTable
    stamp : Stamp
        Of the file, by which it is seen that it has changed.
    layout : Layout
        Without text.
    dtype : dtype
    split : Split or None
    """

    def __init__(
        self, table: ArrayTable, stamp: Stamp, layout: Layout, dtype: Any, split: Split | None
    ) -> None:
        self.table, self.stamp, self.layout, self.dtype = table, stamp, layout, np.dtype(dtype)
        self._columns = np.array([table.features.index(name) for name in layout.names])
        self._all = np.array_equal(self._columns, np.arange(table.X.shape[1]))
        self._chosen = None if split is None else _chosen(split, table.n_rows)

    def __len__(self) -> int:
        return self.table.n_rows if self._chosen is None else len(self._chosen)

    def add(self, batch: Batch) -> None:
        """Do nothing: the rows are in the file."""

    def settle(self) -> None:
        """Do nothing."""

    def take(self, places: Places) -> Batch:
        """Return the raw rows at these places."""
        self.stamp.require()
        rows = self._rows(places)
        whole = self._read(self.table.X, rows)
        X = whole if self._all else whole[:, self._columns]
        y = [self._column(name, whole, rows) for name in self.layout.targets]
        weight = self.layout.weight
        return Batch(
            np.ascontiguousarray(X, self.dtype),
            np.stack(y, axis=1, dtype=np.float64) if y else None,
            self._index(places),
            None if weight is None else self._column(weight, whole, rows).astype(np.float64),
        )

    def _rows(self, places: Places) -> Places:
        if self._chosen is not None:
            return self._chosen[places]
        if isinstance(places, slice) and places.step not in (None, 1):
            return self._index(places)
        return places

    def _column(self, name: str, whole: NDArray[Any], rows: Places) -> NDArray[Any]:
        if name in self.table.features:
            return whole[:, self.table.features.index(name)]
        return self._read(self.table.columns[name], rows)

    def _read(self, array: NDArray[Any], rows: Places) -> NDArray[Any]:
        pages = self.table.pages
        if not isinstance(rows, slice):
            return gathered(array, rows, pages)
        found = np.array(array[rows])
        if DROP is not None and pages is not None:
            pages.madvise(DROP)
        return found

    def close(self) -> None:
        """Do nothing: the file is not ours."""


def _chosen(split: Split, rows: int) -> NDArray[np.int64]:
    starts = range(0, rows, CHUNK_ROWS)
    index = (np.arange(start, min(start + CHUNK_ROWS, rows)) for start in starts)
    return np.concatenate([part[split.among(part)] for part in index] or [np.empty(0, np.int64)])
