"""FileSource: rows of files, with random access where they are kept and as a stream where not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.parsing import Parsing, TableParsing
from bochner.data.files.schema.first_pass import Learned, Recoding, labels_of, vocabularies
from bochner.data.files.schema.schema import Schema
from bochner.data.files.schema.summary import SkippedRows, Tally
from bochner.data.files.split import Mixed, Ordering, as_they_stand
from bochner.data.files.stored_rows import StoredRows
from bochner.data.source import DataSource, RandomAccess, Reader, Stream


class FileSource(DataSource):
    """Rows of files, made by `open_source`.

    Numbers that are missing are NaN; `schema.filling` says what stands for them in a model.
    """

    schema: Schema
    paths: tuple[str, ...]
    _tally: Tally

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.schema.names)

    @property
    def skipped(self) -> SkippedRows:
        """The malformed rows that were left out."""
        return self._tally.skipped

    @property
    def missing_cells(self) -> dict[str, int]:
        """How many cells are missing in each column that has such."""
        return {name: cells.count for name, cells in self._tally.missing.items()}

    def close(self) -> None:
        """Give back what is kept: the source cannot be read any more."""


class FileRows(FileSource, RandomAccess):
    """Rows that are kept in memory, in a temporary file, or in an array file as they are."""

    def __init__(self, parsing: Parsing, learned: Learned, kept: StoredRows) -> None:
        self.paths = tuple(table.name for table in parsing.tables)
        self.schema, self._tally = learned.schema, learned.tally
        self._recoding, self._kept = learned.recoding, kept

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._kept)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these places."""
        return self._recoding(self._kept.take(places))

    def close(self) -> None:
        """Remove the temporary file."""
        self._kept.close()


class FileStream(FileSource, Stream):
    """Rows that are parsed anew in each pass; `learned` is None if there was no first one."""

    def __init__(
        self,
        parsing: Parsing,
        schema: Schema,
        learned: Learned | None,
        ordering: Ordering = as_they_stand,
    ) -> None:
        self._ordering = ordering
        self.paths = tuple(table.name for table in parsing.tables)
        self.once = parsing.once
        self.schema, self._parsing, self._learned = schema, parsing, learned
        self._tally = Tally(parsing.skips) if learned is None else learned.tally

    @property
    def n_rows(self) -> int | None:
        """The number of rows, known after a first pass."""
        return None if self._learned is None else self._learned.rows

    def mixed(self) -> FileStream:
        """Return the same rows with row groups and files in a new order each pass, if known."""
        if self.once or self._learned is None:
            return self
        ordering = Mixed(self._learned.tally.starts)
        return FileStream(self._parsing, self.schema, self._learned, ordering)

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Give the rows of one part after the other, as they are parsed."""
        parsing, tally = self._parsing, Tally(self._parsing.skips)
        names = vocabularies(parsing, self.schema) if isinstance(parsing, TableParsing) else {}
        for batch in parsing.batches(tally, names, self._ordering(seed, pass_)):
            if self.schema.missing == "refuse":
                tally.require_complete(self.schema)
            yield Recoding(self.schema, {}, labels_of(parsing, names))(batch)
        if self._learned is None:
            self._tally = tally

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return rows of a sample of the first pass, or the first ones if there was none."""
        if self._learned is not None and self._learned.sample is not None:
            rows = self._learned.sample
            places = np.arange(min(size, len(rows))) * len(rows) // min(size, len(rows))
            return self._learned.recoding(rows[places])
        if self.once and self._reader is None:
            self._reader = Reader(self.pieces(size, seed, 0))
        reader = Reader(self.pieces(size, seed, 0)) if self._reader is None else self._reader
        batch = reader.peek(size)
        if batch is None:
            raise ValueError(f"{', '.join(self.paths[:3])} has no rows (left). Give one with rows.")
        return batch
