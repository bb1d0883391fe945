"""Parsing: the rows of files as batches of raw numbers, in which text is a number of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.formats.chunk import BadRow, Chunk, Coded, SparseChunk
from bochner.data.files.formats.parquet import ParquetTable
from bochner.data.files.formats.paths import Stamp
from bochner.data.files.schema.layout import Layout
from bochner.data.files.schema.summary import Tally
from bochner.data.files.schema.vocabulary import Vocabulary
from bochner.data.files.split import Order, Split

Vocabularies = dict[str, Vocabulary]


@dataclass(frozen=True, eq=False)
class Parsing(ABC):
    """Files, and what is read of them.

    The batches have raw targets as columns of float64, and rows are numbered as they come.
    """

    tables: tuple[Any, ...]
    stamps: tuple[Stamp, ...]
    split: Split | None
    skips: bool

    @property
    def once(self) -> bool:
        """Whether a file is a stream that cannot be read again."""
        return any(table.once for table in self.tables)

    def bytes_read(self) -> int:
        """Return about how much of the files the last walk has read so far."""
        return sum(table.bytes_read for table in self.tables)

    @cached_property
    def parts(self) -> list[tuple[Any, int]]:
        """What can be read by itself: row groups of Parquet files, other files as a whole."""
        numbers = (range(t.parts) if isinstance(t, ParquetTable) else [0] for t in self.tables)
        return [(t, k) for t, part in zip(self.tables, numbers, strict=True) for k in part]

    def batches(
        self, tally: Tally, names: Vocabularies, order: Order | None = None
    ) -> Iterator[Batch]:
        """Read all parts in their order, or in a given one; the tally is told what is wrong.

        In their order it is also told where each part begins, which other orders rely on.
        """
        met = given = 0
        for number in range(len(self.parts)) if order is None else order.numbers:
            table, part = self.parts[number]
            if order is None:
                tally.starts.append((met, given))
            else:
                met, given = order.starts[number]
            for chunk in self._chunks(table, part):
                tally.malformed(chunk.bad, chunk.n_bad)
                places = np.flatnonzero(self._good(chunk, table.name, tally))
                index = np.arange(met, met + len(places), dtype=np.int64)
                met += len(places)
                if self.split is not None:
                    places = places[self.split.among(index)]
                batch = self._decoded(chunk, places, table.name, tally, names)
                numbers = np.arange(given, given + len(batch), dtype=np.int64)
                yield replace(batch, index=numbers)
                given += len(batch)
        for stamp in self.stamps:
            stamp.require()

    @abstractmethod
    def _chunks(self, table: Any, part: int) -> Iterator[Any]: ...

    @abstractmethod
    def _good(self, chunk: Any, file: str, tally: Tally) -> NDArray[np.bool_]: ...

    @abstractmethod
    def _decoded(
        self,
        chunk: Any,
        places: NDArray[np.int64],
        file: str,
        tally: Tally,
        names: Vocabularies,
    ) -> Batch: ...


@dataclass(frozen=True, eq=False)
class TableParsing(Parsing):
    """Columns of numbers and of text, which becomes the numbers of its vocabularies."""

    layout: Layout
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def _chunks(self, table: Any, part: int) -> Iterator[Chunk]:
        if isinstance(table, ParquetTable):
            return table.part(part, self.layout.wanted)
        return table.chunks(self.layout.wanted)  # type: ignore[no-any-return]

    def _good(self, chunk: Chunk, file: str, tally: Tally) -> NDArray[np.bool_]:
        """Refuse infinity, also that of the dtype, and rows whose target or weight is none."""
        layout, good = self.layout, np.ones(len(chunk), bool)
        needed = {*layout.targets, *(() if layout.weight is None else (layout.weight,))}
        for name in layout.wanted:
            cells = _cells(chunk, name)
            if isinstance(cells, Coded):
                bad = cells.codes < 0 if name in needed else np.zeros(len(chunk), bool)
            elif name in needed:
                bad = ~np.isfinite(cells)
                bad = bad | (cells < 0) if name == layout.weight else bad
            else:
                bad = np.abs(cells) > np.finfo(self.dtype).max
            bad &= good  # so that a row is counted once
            if bad.any():
                good[bad] = False
                self._tell(chunk, name, bad, file, tally)
        return good

    def _tell(
        self, chunk: Chunk, name: str, bad: NDArray[np.bool_], file: str, tally: Tally
    ) -> None:
        place, cells = int(bad.argmax()), _cells(chunk, name)
        text = isinstance(cells, Coded)
        expected = "a finite number" if name != self.layout.weight else "a finite number from 0 on"
        found = "nothing" if text or np.isnan(cells[place]) else f"{cells[place]:g}"
        if not text and name in self.layout.names and np.isfinite(cells[place]):
            expected = f"a number of at most {np.finfo(self.dtype).max:.2g}, as {self.dtype} has"
        expected = "a label" if text else expected
        row = BadRow(file, int(chunk.lines[place]), name, expected, found)
        tally.malformed([row], int(bad.sum()))

    def _decoded(
        self,
        chunk: Chunk,
        places: NDArray[np.int64],
        file: str,
        tally: Tally,
        names: Vocabularies,
    ) -> Batch:
        X = np.empty((len(places), len(self.layout.names)), self.dtype)
        whole = len(places) == len(chunk)
        for column, name in enumerate(self.layout.names):
            cells = _cells(chunk, name)
            if name in self.layout.categorical:
                cells = _coded(cells)
                codes = cells.codes if whole else cells.codes[places]
                missing = codes < 0
                X[:, column] = names[name].codes(Coded(codes, cells.vocabulary))
            else:
                X[:, column] = cells if whole else cells[places]
                missing = np.isnan(X[:, column])
            if missing.any():
                line = int(chunk.lines[places[missing.argmax()]])
                tally.miss(name, int(missing.sum()), file, line)
        return Batch(X, self._targets(chunk, places, names), places, self._weight(chunk, places))

    def _targets(
        self, chunk: Chunk, places: NDArray[np.int64], names: Vocabularies
    ) -> NDArray[np.float64] | None:
        if not self.layout.targets:
            return None
        y = np.empty((len(places), len(self.layout.targets)))
        for column, name in enumerate(self.layout.targets):
            cells = _cells(chunk, name)
            if self.layout.label:
                cells = _coded(cells)
                cells = names[name].codes(Coded(cells.codes[places], cells.vocabulary))
                y[:, column] = cells
            else:
                y[:, column] = cells[places]
        return y

    def _weight(self, chunk: Chunk, places: NDArray[np.int64]) -> NDArray[np.float64] | None:
        name = self.layout.weight
        return None if name is None else np.ascontiguousarray(_cells(chunk, name)[places])


@dataclass(frozen=True, eq=False)
class SparseParsing(Parsing):
    """Sparse rows with one number as target; `n_columns` None means as many as a chunk has."""

    n_columns: int | None = None
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def _chunks(self, table: Any, part: int) -> Iterator[SparseChunk]:
        return table.chunks()  # type: ignore[no-any-return]

    def _good(self, chunk: SparseChunk, file: str, tally: Tally) -> NDArray[np.bool_]:
        good = np.isfinite(chunk.labels)
        odd = ~np.isfinite(chunk.data)
        if odd.any():
            good[np.searchsorted(chunk.indptr, np.flatnonzero(odd), side="right") - 1] = False
        if not good.all():
            line = int(chunk.lines[good.argmin()])
            row = BadRow(file, line, None, "finite numbers", "infinity or NaN")
            tally.malformed([row], int((~good).sum()))
        return good

    def _decoded(
        self,
        chunk: SparseChunk,
        places: NDArray[np.int64],
        file: str,
        tally: Tally,
        names: Vocabularies,
    ) -> Batch:
        if self.n_columns is not None and chunk.n_columns > self.n_columns:
            raise ValueError(
                f"{file} has a column {chunk.n_columns - 1} (counted from 0), but the model was "
                f"fitted with {self.n_columns} columns. Give rows of the same columns."
            )
        width = chunk.n_columns if self.n_columns is None else self.n_columns
        X = chunk.matrix(width).astype(self.dtype, copy=False)
        X = X if len(places) == len(chunk) else X[places]
        return Batch(X, chunk.labels[places][:, None], places)


def _cells(chunk: Chunk, name: str) -> Any:
    if name in chunk.number_names:
        return chunk.numbers[:, chunk.number_names.index(name)]
    return chunk.texts[chunk.text_names.index(name)]


def _coded(cells: NDArray[np.float64] | Coded) -> Coded:
    """Return numbers as text, in which whole ones have no fraction."""
    if isinstance(cells, Coded):
        return cells
    numbers, codes = np.unique(cells, return_inverse=True)
    known = ~np.isnan(numbers)
    texts = tuple(str(int(n) if n.is_integer() else n) for n in numbers[known].tolist())
    return Coded(np.where(known[codes], codes, -1), texts)
