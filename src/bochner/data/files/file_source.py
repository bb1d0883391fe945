"""FileSource: rows of files, with random access if they are stored and as a stream if not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.formats.chunk import quoted
from bochner.data.files.parsing import Parsing, SkippedRows, TableParsing, Tally
from bochner.data.files.schema.first_pass import FirstPass, Recoding, labels_of, vocabularies
from bochner.data.files.schema.schema import Schema
from bochner.data.files.split import Ordering, RandomPartOrder, file_order
from bochner.data.files.stored_rows import StoredRows
from bochner.data.source import DataSource, RandomAccess, Stream


class FileSource(DataSource):
    """Rows of files, made by `open_source`.

    Missing numbers are NaN; `schema.filling` holds the values that a model replaces them by.
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
    def missing_targets(self) -> int:
        """The number of rows without a target that were left out."""
        return self._tally.missing_targets

    @property
    def missing_cells(self) -> dict[str, int]:
        """The number of missing cells of each column that has some."""
        return {name: cells.count for name, cells in self._tally.missing.items()}

    @abstractmethod
    def close(self) -> None:
        """Release memory and temporary files; the source cannot be read afterwards."""


class FileRows(FileSource, RandomAccess):
    """Rows stored in memory or in a temporary file, or read from an array file in place."""

    def __init__(self, parsing: Parsing, first_pass: FirstPass, rows: StoredRows) -> None:
        self.paths = tuple(table.name for table in parsing.tables)
        self.schema, self._tally = first_pass.schema, first_pass.tally
        self._recoding, self._rows = first_pass.recoding, rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these positions."""
        return self._recoding(self._rows.take(places))

    def close(self) -> None:
        """Remove the temporary file."""
        self._rows.close()


class FileStream(FileSource, Stream):
    """Rows that are parsed in each pass; `first_pass` is None if nothing had to be learned."""

    def __init__(
        self,
        parsing: Parsing,
        schema: Schema,
        first_pass: FirstPass | None,
        ordering: Ordering = file_order,
    ) -> None:
        self._ordering = ordering
        self.paths = tuple(table.name for table in parsing.tables)
        self.once = parsing.once
        self.schema, self._parsing, self._first_pass = schema, parsing, first_pass
        self._tally = parsing.tally() if first_pass is None else first_pass.tally

    @property
    def n_rows(self) -> int | None:
        """The number of rows, None without a first pass."""
        return None if self._first_pass is None else self._first_pass.rows

    def mixed(self) -> FileStream:
        """Return the rows with row groups and files in a new order each pass, if possible."""
        if self.once or self._first_pass is None:
            return self
        ordering = RandomPartOrder(self._first_pass.tally.starts)
        return FileStream(self._parsing, self.schema, self._first_pass, ordering)

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the rows part by part, as they are parsed."""
        parsing, tally = self._parsing, self._parsing.tally()
        names = vocabularies(parsing, self.schema) if isinstance(parsing, TableParsing) else {}
        for batch in parsing.batches(tally, names, self._ordering(seed, pass_)):
            if self.schema.missing == "refuse":
                tally.require_complete(self.schema)
            yield Recoding(self.schema, {}, labels_of(parsing, names))(batch)
        if self._first_pass is None:
            self._tally = tally

    def close(self) -> None:
        """Do nothing: no rows are stored."""

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return rows of the sample of the first pass, or the first rows."""
        if self._first_pass is not None and self._first_pass.sample is not None:
            rows = self._first_pass.sample
            places = np.arange(min(size, len(rows))) * len(rows) // min(size, len(rows))
            return self._first_pass.recoding(rows[places])
        batch = self._peek(size, seed)
        if batch is None:
            raise ValueError(f"{quoted(self.paths)} has no rows left. Give a file with rows.")
        return batch
