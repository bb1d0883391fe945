"""Tables: files of every format, as columns with names and types."""

from __future__ import annotations

import shutil
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from os import fdopen, unlink
from tempfile import mkstemp
from typing import Any, BinaryIO, Literal

from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.chunk import Chunk, SparseChunk
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.parquet import ParquetTable
from bochner.data.files.formats.paths import SNIFFED_BYTES, STANDARD_INPUT, Format, sniff_format
from bochner.data.files.formats.svmlight import SvmlightFile
from bochner.data.storage import disk_full_error

BLOCK = 8 << 20  # approximate bytes of text of a chunk
Header = bool | Literal["auto"]  # whether the first line holds names
SPOOLED = ("parquet", "npy", "npz")  # formats that cannot be read sequentially


class CsvTable:
    """Columns of a CSV file.

    Parameters
    ----------
    file : str or binary stream
    name : str
        The name of the file in errors.
    texts : names of columns that hold text even if it looks like numbers
    header : bool or "auto"
        Whether the first line holds names.
    """

    singles: frozenset[str] = frozenset()

    def __init__(
        self, file: str | BinaryIO, name: str, texts: Iterable[str] = (), header: Header = "auto"
    ) -> None:
        self.file, self.header = file, header
        self.csv = CsvFile(file, name=name, header=header, text=tuple(texts))
        self.name, self.bytes_read, self.once = name, 0, self.csv.once
        self.names, self.kinds = self.csv.names, self.csv.kinds
        self.named = self.names != tuple(map(str, range(len(self.names))))

    def with_texts(self, texts: Iterable[str]) -> CsvTable:
        """Return the table in which these columns hold text, as in other files of the data.

        Read as numbers they would lose leading zeros: 01234 is not 1234.
        """
        numbers = {n for n, kind in zip(self.names, self.kinds, strict=True) if kind == "number"}
        if self.once or numbers.isdisjoint(texts):
            return self
        return CsvTable(self.file, self.name, texts, self.header)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of these columns."""
        self.bytes_read = 0
        for chunk in self.csv.chunks(columns):
            self.bytes_read += BLOCK
            yield chunk


class SparseTable:
    """Sparse rows with labels."""

    def __init__(self, file: str | BinaryIO, name: str) -> None:
        self.file = SvmlightFile(file, name=name)
        self.name, self.bytes_read, self.once = name, 0, self.file.once

    @property
    def zero_based(self) -> bool:
        """Whether the first column is called 0, and not 1."""
        return self.file.zero_based

    @zero_based.setter
    def zero_based(self, known: bool) -> None:
        """Whether the first column has index 0 instead of 1."""
        self.file.zero_based = known

    def chunks(self) -> Iterator[SparseChunk]:
        """Yield the rows."""
        self.bytes_read = 0
        for chunk in self.file.chunks():
            self.bytes_read += BLOCK
            yield chunk


def share_index_base(tables: Iterable[SparseTable], zero_based: bool | None = None) -> None:
    """Make all files use the same index for the first column."""
    tables = tuple(tables)
    known = any(table.zero_based for table in tables) if zero_based is None else zero_based
    for table in tables:
        table.zero_based = known


def open_table(
    path: str, format: Format, texts: Iterable[str] = (), header: Header = "auto"
) -> Any:
    """Return a file as a table; standard input is copied to a temporary file if needed."""
    file: Any = path
    name = path
    if path == STANDARD_INPUT:
        name = "standard input"
        file = _spool() if format in SPOOLED else sys.stdin.buffer
    match format:
        case "csv":
            return CsvTable(file, name, texts, header)
        case "svmlight":
            return SparseTable(file, name)
        case "parquet":
            return ParquetTable(file)
        case _:
            return ArrayTable(file)


def format_of_standard_input() -> Format:
    """Return the format by the first bytes, without consuming them."""
    return sniff_format(sys.stdin.buffer.peek(SNIFFED_BYTES))  # type: ignore[union-attr]


class _TemporaryPath(str):
    """The path of a temporary file, which is removed with the last reference to it."""


def _spool() -> str:
    number, path = mkstemp(prefix="bochner-")
    copy = _TemporaryPath(path)
    weakref.finalize(copy, unlink, path)
    try:
        with fdopen(number, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise disk_full_error(error, 0) from error
    return copy
