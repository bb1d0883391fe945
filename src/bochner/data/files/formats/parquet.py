"""ParquetTable: the rows of a Parquet file, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from bochner.data.files.formats.arrow import ColumnarTable, pyarrow, undamaged
from bochner.data.files.formats.chunk import Chunk, UnreadableFile, chunk_rows, split_by_kind
from bochner.data.files.formats.streams import MOST_TIMES, SHORT
from bochner.wording import amount

NUMBER_BYTES = 8


class ParquetTable(ColumnarTable):
    """A Parquet file by its columns, read in small batches."""

    def __init__(self, path: str) -> None:
        self.name, self.bytes_read = path, 0
        with undamaged(path), pyarrow().parquet.ParquetFile(path) as file:
            schema, self._metadata = file.schema_arrow, file.metadata
        groups = range(self._metadata.num_row_groups)
        rows = [self._metadata.row_group(group).num_rows for group in groups]
        self._starts = [0, *accumulate(rows)]
        self.n_rows = self._starts[-1]
        if min(rows, default=0) < 0:
            raise UnreadableFile(f"{path} is damaged: it claims {min(rows)} rows. Copy it again.")
        self._describe(schema)

    def _opened(self) -> Any:
        return pyarrow().parquet.ParquetFile(self.name, metadata=self._metadata, pre_buffer=False)

    def _first_rows(self, columns: list[str], rows: int) -> Any:
        if not self.n_rows:
            return None
        with self._opened() as file:
            return next(file.iter_batches(rows, row_groups=[0], columns=columns), None)

    @property
    def parts(self) -> int:
        """The number of row groups."""
        return len(self._starts) - 1

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of these columns, numbered from 1."""
        for number in range(self.parts):
            yield from self.part(number, columns)

    def part(self, number: int, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of one row group."""
        numbers, texts = split_by_kind(self, columns)
        first, wanted = self._starts[number] + 1, [*numbers, *texts]
        self._require_size(len(wanted))
        with undamaged(self.name), self._opened() as file:
            for batch in _batches(file, number, wanted):
                yield self._chunk(batch, first, columns)
                first += batch.num_rows
                self.bytes_read = os.path.getsize(self.name) * (first - 1) // self.n_rows
        if first != self._starts[number + 1] + 1:
            raise UnreadableFile(
                f"{self.name} is damaged: a row group has {first - 1 - self._starts[number]:,} "
                "rows, and not as many as it claims. Copy it again, or write it again."
            )

    def _require_size(self, columns: int) -> None:
        """Refuse a file that claims far more numbers than its bytes are worth.

        One value repeated 10^9 times takes a few bytes, and fills the disk when it is stored.
        """
        size, made = os.path.getsize(self.name), NUMBER_BYTES * self.n_rows * columns
        if made > max(SHORT, NUMBER_BYTES * MOST_TIMES * size):
            raise UnreadableFile(
                f"{self.name} claims {self.n_rows:,} rows of {columns} columns, which take "
                f"{amount(made)}, in a file of {amount(size)}: it may be made to fill the disk. If "
                "you trust it, write it as CSV."
            )


def _batches(file: Any, group: int, names: list[str]) -> Any:
    """Read one row group: reading all of them at once would hold them all in memory."""
    return file.iter_batches(chunk_rows(len(names)), row_groups=[group], columns=names)
