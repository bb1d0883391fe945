"""Open files of every format, and standard input, as tables."""

from __future__ import annotations

import shutil
import sys
import weakref
from dataclasses import dataclass
from os import fdopen, unlink
from tempfile import mkstemp
from typing import Any, Literal

from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.arrow import ArrowTable, ColumnarTable
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.excel import ExcelTable
from bochner.data.files.formats.json_lines import JsonLines
from bochner.data.files.formats.parquet import ParquetTable
from bochner.data.files.formats.paths import STANDARD_INPUT, Format
from bochner.data.files.formats.streams import SUFFIXES
from bochner.data.files.formats.svmlight import SvmlightFile
from bochner.data.files.formats.value_table import ValueTable
from bochner.data.storage import temporary_file_errors
from bochner.data.transforms.times import LOCAL, ZONED

Header = bool | Literal["auto"]  # whether the first line holds names
DecimalMark = Literal["auto", ".", ","]  # before the fraction of a number
SPOOLED = ("parquet", "arrow", "xlsx", "npy", "npz")  # formats that cannot be read sequentially


@dataclass(frozen=True)
class TableOptions:
    """How tables are read; see `open_source`. `texts` are columns of text whatever they look like.

    `zero_based` None means that it is not known yet.
    """

    texts: tuple[str, ...] = ()
    header: Header = "auto"
    delimiter: str = "auto"
    decimal: str = "."
    encoding: str | None = None
    zero_based: bool | None = None


def open_table(path: str, format: Format, options: TableOptions) -> Any:
    """Return a file as a table; standard input is copied to a temporary file if needed."""
    file: Any = path
    name = path
    if format in SPOOLED and path.lower().endswith(SUFFIXES):
        raise UnreadableFile(
            f"{path} is a compressed {format} file, but only files of text are read compressed. "
            "Decompress it first."
        )
    if path == STANDARD_INPUT:
        name = "standard input"
        file = _spool() if format in SPOOLED else sys.stdin.buffer
    match format:
        case "csv":
            return CsvFile(
                file,
                name=name,
                delimiter=options.delimiter,
                decimal=options.decimal,
                header=options.header,
                text=options.texts,
                encoding=options.encoding,
            )
        case "svmlight":
            return SvmlightFile(
                file, name=name, encoding=options.encoding, zero_based=options.zero_based
            )
        case "jsonl":
            table = JsonLines(file, name=name, encoding=options.encoding)
            return _with_texts_of_times(table, options.texts)
        case "parquet":
            return _with_texts_of_times(ParquetTable(file), options.texts)
        case "arrow":
            return _with_texts_of_times(ArrowTable(file), options.texts)
        case "xlsx":
            return _with_texts_of_times(ExcelTable(file, name=name), options.texts)
        case _:
            return ArrayTable(file)


def _with_texts_of_times(table: ColumnarTable | ValueTable, texts: tuple[str, ...]) -> Any:
    """Return the table with times that are declared as texts read as text."""
    kinds = dict(zip(table.names, table.kinds, strict=True))
    return table.with_texts(name for name in texts if kinds.get(name) in (LOCAL, ZONED))


class _TemporaryPath(str):
    """The path of a temporary file, which is removed with the last reference to it."""


def _spool() -> str:
    with temporary_file_errors(0):
        number, path = mkstemp(prefix="bochner-")
        copy = _TemporaryPath(path)
        weakref.finalize(copy, unlink, path)
        with fdopen(number, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return copy
