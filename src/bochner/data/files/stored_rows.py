"""Rows read from files, with random access: in memory, in temporary files, or in place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.paths import Stamp
from bochner.data.files.schema.layout import Layout
from bochner.data.files.split import Split
from bochner.data.storage import GrowingArray, Places, drop_pages, gather_rows

CHUNK_ROWS = 1 << 20


class StoredRows(ABC):
    """Parsed rows, read by their positions."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Append rows."""

    @abstractmethod
    def finish(self) -> None:
        """Prepare for reading, after the last rows."""

    @abstractmethod
    def take(self, places: Places) -> Batch:
        """Return the rows at these positions, which are their row numbers."""

    @abstractmethod
    def close(self) -> None:
        """Release memory and files."""

    def _index(self, places: Places) -> NDArray[np.int64]:
        if isinstance(places, slice):
            return np.arange(*places.indices(len(self)), dtype=np.int64)
        index = np.asarray(places, dtype=np.int64)
        return np.where(index < 0, index + len(self), index)


class StoredTable(StoredRows):
    """Dense rows: records of X, y and weight."""

    def __init__(self, layout: Layout, dtype: Any, memory: int) -> None:
        self._targets, self._weighted = len(layout.targets), layout.weight is not None
        fields: list[Any] = [("X", dtype, (len(layout.names),))]
        fields.append(("y", np.float64, (self._targets,)))
        if self._weighted:
            fields.append(("weight", np.float64))
        self._records = GrowingArray(fields, memory)

    def __len__(self) -> int:
        return len(self._records)

    def add(self, batch: Batch) -> None:
        """Append rows."""
        records = np.empty(len(batch), self._records.dtype)
        records["X"] = batch.X
        if self._targets:
            records["y"] = batch.y
        if self._weighted:
            records["weight"] = batch.weight
        self._records.append(records)

    def finish(self) -> None:
        """Prepare for reading."""
        self._records.finish()

    def take(self, places: Places) -> Batch:
        """Return the rows at these positions."""
        records = self._records.take(places)
        y = np.ascontiguousarray(records["y"]) if self._targets else None
        weight = np.ascontiguousarray(records["weight"]) if self._weighted else None
        return Batch(np.ascontiguousarray(records["X"]), y, self._index(places), weight)

    def close(self) -> None:
        """Release memory and file."""
        self._records.close()


class StoredSparse(StoredRows):
    """Sparse rows: their entries, and where each row ends.

    `first` is the index of the first column, 0 or 1, which may be known only after the last row.
    """

    def __init__(self, dtype: Any, memory: int) -> None:
        self._data = GrowingArray(dtype, memory // 2)
        self._columns = GrowingArray(np.int32, memory // 2)
        self._ends, self._y = GrowingArray(np.int64, memory), GrowingArray(np.float64, memory)
        self.n_columns, self.first, self._entries = 0, 0, 0

    def __len__(self) -> int:
        return len(self._y)

    def add(self, batch: Batch) -> None:
        """Append rows."""
        X, y = batch.X, batch.y
        assert y is not None  # svmlight files always have labels
        self._data.append(X.data)
        self._columns.append(X.indices.astype(np.int32, copy=False))
        self._ends.append(X.indptr[1:].astype(np.int64) + self._entries)
        self._y.append(y[:, 0])
        self._entries += X.nnz

    def finish(self) -> None:
        """Prepare for reading."""
        for part in self._parts():
            part.finish()

    def take(self, places: Places) -> Batch:
        """Return the rows at these positions."""
        index = self._index(places)
        stops = self._ends.take(index)
        starts = np.where(index > 0, self._ends.take(np.maximum(index - 1, 0)), 0)
        indptr = np.concatenate([[0], np.cumsum(stops - starts)])
        if isinstance(places, slice) and places.step in (None, 1) and len(index):
            entries: Places = slice(int(starts[0]), int(stops[-1]))
        else:
            entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], stops - starts)
        parts = self._data.take(entries), self._columns.take(entries) - self.first, indptr
        X = sp.csr_matrix(parts, (len(index), self.n_columns))
        return Batch(X, self._y.take(index)[:, None], index)

    def _parts(self) -> tuple[GrowingArray, ...]:
        return self._data, self._columns, self._ends, self._y

    def close(self) -> None:
        """Release memory and files."""
        for part in self._parts():
            part.close()


class ArrayFileRows(StoredRows):
    """Rows of an `ArrayTable`, read in place; only the positions that a split selects are stored.

    All columns of the layout hold numbers. The stamp shows whether the file has changed.
    """

    def __init__(
        self, table: ArrayTable, stamp: Stamp, layout: Layout, dtype: Any, split: Split | None
    ) -> None:
        self.table, self.stamp, self.layout, self.dtype = table, stamp, layout, np.dtype(dtype)
        self._columns = np.array([table.features.index(name) for name in layout.names])
        self._all = np.array_equal(self._columns, np.arange(table.X.shape[1]))
        self._selected = None if split is None else _selected(split, table.n_rows)

    def __len__(self) -> int:
        return self.table.n_rows if self._selected is None else len(self._selected)

    def add(self, batch: Batch) -> None:
        """Do nothing: the rows are in the file."""

    def finish(self) -> None:
        """Do nothing."""

    def take(self, places: Places) -> Batch:
        """Return the rows at these positions."""
        self.stamp.require_unchanged()
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
        if self._selected is not None:
            return self._selected[places]
        if isinstance(places, slice) and places.step not in (None, 1):
            return self._index(places)
        return places

    def _column(self, name: str, whole: NDArray[Any], rows: Places) -> NDArray[Any]:
        if name in self.table.features:
            return whole[:, self.table.features.index(name)]
        return self._read(self.table.columns[name], rows)

    def _read(self, array: NDArray[Any], rows: Places) -> NDArray[Any]:
        if not isinstance(rows, slice):
            return gather_rows(array, rows)
        found = np.array(array[rows])
        drop_pages(array)
        return found

    def close(self) -> None:
        """Do nothing: the file belongs to the user."""


def _selected(split: Split, rows: int) -> NDArray[np.int64]:
    starts = range(0, rows, CHUNK_ROWS)
    index = (np.arange(start, min(start + CHUNK_ROWS, rows)) for start in starts)
    return np.concatenate([part[split.among(part)] for part in index] or [np.empty(0, np.int64)])
