"""Parsing: the rows of files as batches of numbers; texts become codes of vocabularies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.formats.chunk import BadRow, Chunk, Coded, SparseChunk, quoted_cell
from bochner.data.files.formats.parquet import ParquetTable
from bochner.data.files.formats.paths import Stamp
from bochner.data.files.formats.tables import TableOptions
from bochner.data.files.schema.layout import Layout
from bochner.data.files.schema.schema import Schema, Vocabulary
from bochner.data.files.split import PartOrder, Split
from bochner.data.transforms.times import days_of_text, expected_time, texts_of_days

Vocabularies = dict[str, Vocabulary]
SHOWN = 10
LARGEST = 2**31
TO_PREDICT = (
    "The model was fitted to rows without missing values: fill them in, or fit with "
    "missing='own', 'mean' or 'median'."
)


@dataclass(frozen=True)
class SkippedRows:
    """The number of malformed rows that were left out, and descriptions of the first ones."""

    count: int = 0
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingCells:
    """The number of missing cells of a column, and the file and line of the first."""

    count: int
    file: str
    line: int


@dataclass
class Tally:
    """Counts of malformed rows and missing cells, and the first row numbers of the parts read.

    `least_index` is the least index of sparse rows, whatever the split.

    Parameters
    ----------
    skips : bool
        Whether malformed rows are left out and counted; otherwise the first is an error.
    skips_missing_targets : bool
        The same for rows without a target, which are counted in `missing_targets`.
    """

    skips: bool
    skips_missing_targets: bool = False
    bad: int = 0
    missing_targets: int = 0
    first: list[str] = field(default_factory=list)
    missing: dict[str, MissingCells] = field(default_factory=dict)
    least_index: int = LARGEST
    starts: list[tuple[int, int]] = field(default_factory=list)

    def count_malformed(self, rows: Iterable[BadRow], count: int) -> None:
        """Count malformed rows and describe some of them, or raise an error."""
        for row in rows:
            if not self.skips:
                raise ValueError(f"{row} Correct the row, or leave such rows out: on_error='skip'.")
            if len(self.first) < SHOWN:
                self.first.append(str(row))
        self.bad += count

    def count_missing_targets(self, column: str, count: int, file: str, line: int) -> None:
        """Count rows without a target, the first of which is on this line, or raise an error."""
        if not self.skips_missing_targets:
            raise ValueError(
                f"{file}, line {line}: the target {column!r} is missing. Fill it in, or leave rows "
                "without a target out: missing_target='skip'."
            )
        self.missing_targets += count

    def count_missing(self, column: str, count: int, file: str, line: int) -> None:
        """Count missing cells, the first of which is on this line."""
        before = self.missing.get(column)
        if before is not None:
            count, file, line = count + before.count, before.file, before.line
        self.missing[column] = MissingCells(count, file, line)

    def require_complete(self, known: Schema | None) -> None:
        """Refuse missing cells; `known` is the schema of a model fitted without any."""
        if not self.missing:
            return
        column, cells = next(iter(self.missing.items()))
        others = len(self.missing) - 1
        also = f" {others} other column(s) have missing values, too." if others else ""
        raise ValueError(
            f"Column {column!r} has {cells.count} missing value(s), the first in {cells.file}, "
            f"line {cells.line}.{also} {_advice(column) if known is None else TO_PREDICT}"
        )

    @property
    def skipped(self) -> SkippedRows:
        """The malformed rows that were left out."""
        return SkippedRows(self.bad, tuple(self.first))


def _advice(column: str) -> str:
    return (
        "Choose what replaces them: missing='own' (a value far from all others), 'mean' or "
        f"'median'; or leave the column out: drop=[{column!r}]."
    )


@dataclass(frozen=True, eq=False)
class CarryingBatch(Batch):
    """A batch with cells of other columns of the file, as text, None where one is missing.

    Columns that the batch itself needs as numbers are carried as numbers.
    """

    carried: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __getitem__(self, rows: Any) -> CarryingBatch:
        part = super().__getitem__(rows)
        carried = {name: cells[rows] for name, cells in self.carried.items()}
        return CarryingBatch(part.X, part.y, part.index, part.weight, carried)


@dataclass(frozen=True, eq=False)
class Parsing(ABC):
    """Files, and how their rows become batches.

    Batches hold targets as columns of float64; rows are numbered in sequence.
    """

    tables: tuple[Any, ...]
    stamps: tuple[Stamp, ...]
    split: Split | None
    skips: bool
    skips_missing_targets: bool
    how: TableOptions

    def tally(self) -> Tally:
        """Return the counts before a pass."""
        return Tally(self.skips, self.skips_missing_targets)

    @property
    def once(self) -> bool:
        """Whether a file is a stream that cannot be read again."""
        return any(table.once for table in self.tables)

    def bytes_read(self) -> int:
        """Return approximately how many bytes the current pass has read."""
        return sum(table.bytes_read for table in self.tables)

    @cached_property
    def parts(self) -> list[tuple[Any, int]]:
        """The parts that can be read separately: row groups of Parquet files, other files whole."""
        numbers = (range(t.parts) if isinstance(t, ParquetTable) else [0] for t in self.tables)
        return [(t, k) for t, part in zip(self.tables, numbers, strict=True) for k in part]

    def batches(
        self, tally: Tally, names: Vocabularies, order: PartOrder | None = None
    ) -> Iterator[Batch]:
        """Read all parts in file order or in a given one; problems are counted in the tally.

        In file order the tally also records the first row numbers of each part, which a `PartOrder`
        needs.
        """
        row = number = 0
        for k in range(len(self.parts)) if order is None else order.numbers:
            table, part = self.parts[k]
            if order is None:
                tally.starts.append((row, number))
            else:
                row, number = order.starts[k]
            for chunk in self._chunks(table, part):
                tally.count_malformed(chunk.bad, chunk.n_bad)
                places = np.flatnonzero(self._valid(chunk, table.name, tally))
                index = np.arange(row, row + len(places), dtype=np.int64)
                row += len(places)
                if self.split is not None:
                    places = places[self.split.among(index)]
                batch = self._batch(chunk, places, table.name, tally, names)
                numbers = np.arange(number, number + len(batch), dtype=np.int64)
                yield replace(batch, index=numbers)
                number += len(batch)
        for stamp in self.stamps:
            stamp.require_unchanged()

    @abstractmethod
    def _chunks(self, table: Any, part: int) -> Iterator[Any]: ...

    @abstractmethod
    def _valid(self, chunk: Any, file: str, tally: Tally) -> NDArray[np.bool_]: ...

    @abstractmethod
    def _batch(
        self, chunk: Any, places: NDArray[np.int64], file: str, tally: Tally, names: Vocabularies
    ) -> Batch: ...


@dataclass(frozen=True, eq=False)
class TableParsing(Parsing):
    """Columns of numbers and of text; text becomes codes of its vocabulary."""

    layout: Layout
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def _chunks(self, table: Any, part: int) -> Iterator[Chunk]:
        if isinstance(table, ParquetTable):
            chunks = table.part(part, self.layout.wanted)
        else:
            chunks = table.chunks(self.layout.wanted)
        return map(self._with_days, chunks) if self.layout.times else chunks

    def _with_days(self, chunk: Chunk) -> Chunk:
        """Return the chunk with texts of times as days, too; infinity where they are malformed."""
        names = tuple(name for name in chunk.text_names if name in self.layout.times)
        texts = {name: chunk.texts[chunk.text_places[name]] for name in names}
        days = [_days(cells, self.layout.times[name]) for name, cells in texts.items()]
        numbers = np.column_stack([chunk.numbers, *days])
        return replace(chunk, numbers=numbers, number_names=(*chunk.number_names, *names))

    def _valid(self, chunk: Chunk, file: str, tally: Tally) -> NDArray[np.bool_]:
        """Refuse values that overflow the dtype, and invalid targets and weights."""
        valid = self._has_targets(chunk, file, tally)
        for name in self.layout.wanted:
            cells = _cells(chunk, name)
            if isinstance(cells, Coded):
                continue
            if name == self.layout.weight:
                bad = ~np.isfinite(cells) | (cells < 0)
            elif name in self.layout.targets:
                bad = np.isinf(cells)
            else:
                bad = np.abs(cells) > np.finfo(self.dtype).max
            bad &= valid  # count each row once
            if bad.any():
                valid[bad] = False
                self._report_invalid(chunk, name, bad, file, tally)
        return valid

    def _has_targets(self, chunk: Chunk, file: str, tally: Tally) -> NDArray[np.bool_]:
        """Return which rows have all targets."""
        valid = np.ones(len(chunk), bool)
        for name in self.layout.targets:
            cells = _cells(chunk, name)
            absent = cells.codes < 0 if isinstance(cells, Coded) else np.isnan(cells)
            absent &= valid
            if absent.any():
                valid[absent] = False
                line = int(chunk.lines[absent.argmax()])
                tally.count_missing_targets(name, int(absent.sum()), file, line)
        return valid

    def _report_invalid(
        self, chunk: Chunk, name: str, bad: NDArray[np.bool_], file: str, tally: Tally
    ) -> None:
        place, cells = int(bad.argmax()), _cells(chunk, name)
        expected = "a finite number" if name != self.layout.weight else "a finite number from 0 on"
        found = "nothing" if np.isnan(cells[place]) else f"{cells[place]:g}"
        if name in self.layout.names and np.isfinite(cells[place]):
            expected = f"a number of at most {np.finfo(self.dtype).max:.2g}, as {self.dtype} has"
        if name in self.layout.times and name in chunk.text_places:
            expected = expected_time(self.layout.times[name])
            text = chunk.texts[chunk.text_places[name]].words()[place]
            found = quoted_cell(str(text).encode())
        row = BadRow(file, int(chunk.lines[place]), name, expected, found)
        tally.count_malformed([row], int(bad.sum()))

    def _batch(
        self, chunk: Chunk, places: NDArray[np.int64], file: str, tally: Tally, names: Vocabularies
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
                tally.count_missing(name, int(missing.sum()), file, line)
        parts = X, self._targets(chunk, places, names), places, self._weight(chunk, places)
        if not self.layout.carried:
            return Batch(*parts)
        return CarryingBatch(*parts, self._carried(chunk, places))

    def _carried(self, chunk: Chunk, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        return {name: self._carried_cells(chunk, name)[places] for name in self.layout.carried}

    def _carried_cells(self, chunk: Chunk, name: str) -> NDArray[Any]:
        if name in chunk.text_places:
            return chunk.texts[chunk.text_places[name]].words()
        cells = chunk.numbers[:, chunk.number_places[name]]
        return texts_of_days(cells) if name in self.layout.times else cells

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
    """Sparse rows with one number as target; `n_columns` None: as many as a chunk has."""

    n_columns: int | None = None
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def _chunks(self, table: Any, part: int) -> Iterator[SparseChunk]:
        return table.chunks()  # type: ignore[no-any-return]

    def _valid(self, chunk: SparseChunk, file: str, tally: Tally) -> NDArray[np.bool_]:
        """Refuse indices beyond those of the model; the reader has refused what is not finite."""
        tally.least_index = min(tally.least_index, chunk.least_index)
        valid = np.ones(len(chunk), bool)
        if self.n_columns is None or chunk.n_columns <= self.n_columns:
            return valid
        first = 0 if self.tables[0].zero_based else 1
        beyond = np.flatnonzero(chunk.indices >= self.n_columns)
        rows = np.searchsorted(chunk.indptr, beyond, side="right") - 1
        valid[rows] = False
        most = f"an index of at most {self.n_columns - 1 + first}, as in the rows of the fit"
        found = str(int(chunk.indices[beyond[0]]) + first)
        bad = BadRow(file, int(chunk.lines[rows[0]]), None, most, found)
        tally.count_malformed([bad], int((~valid).sum()))
        return valid

    def _batch(
        self,
        chunk: SparseChunk,
        places: NDArray[np.int64],
        file: str,
        tally: Tally,
        names: Vocabularies,
    ) -> Batch:
        width = chunk.n_columns if self.n_columns is None else self.n_columns
        X = chunk.matrix(max(width, chunk.n_columns)).astype(self.dtype, copy=False)
        X = X if len(places) == len(chunk) else X[places]
        X = X if X.shape[1] == width else X[:, :width]
        return Batch(X, chunk.labels[places][:, None], places)


def _cells(chunk: Chunk, name: str) -> Any:
    if name in chunk.number_places:
        return chunk.numbers[:, chunk.number_places[name]]
    return chunk.texts[chunk.text_places[name]]


def _days(cells: Coded, kind: str) -> NDArray[np.float64]:
    days = [days_of_text(text, kind) for text in cells.vocabulary]
    return np.array([*days, np.nan])[cells.codes]


def _coded(cells: NDArray[np.float64] | Coded) -> Coded:
    """Return numbers as texts; whole numbers have no fraction."""
    if isinstance(cells, Coded):
        return cells
    numbers, codes = np.unique(cells, return_inverse=True)
    known = ~np.isnan(numbers)
    texts = tuple(str(int(n) if n.is_integer() else n) for n in numbers[known].tolist())
    return Coded(np.where(known[codes], codes, -1), texts)
