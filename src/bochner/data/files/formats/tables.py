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
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.parquet import ParquetTable
from bochner.data.files.formats.paths import STANDARD_INPUT, Format
from bochner.data.files.formats.svmlight import SvmlightFile
from bochner.data.storage import disk_full_error

Header = bool | Literal["auto"]  # whether the first line holds names
SPOOLED = ("parquet", "npy", "npz")  # formats that cannot be read sequentially


@dataclass(frozen=True)
class TableOptions:
    """How tables are read; see `open_source`. `texts` are columns of text whatever they look like.

    `zero_based` None means that it is not known yet.
    """

    texts: tuple[str, ...] = ()
    header: Header = "auto"
    delimiter: str = "auto"
    encoding: str | None = None
    zero_based: bool | None = None


def open_table(path: str, format: Format, options: TableOptions) -> Any:
    """Return a file as a table; standard input is copied to a temporary file if needed."""
    file: Any = path
    name = path
    if path == STANDARD_INPUT:
        name = "standard input"
        file = _spool() if format in SPOOLED else sys.stdin.buffer
    match format:
        case "csv":
            return CsvFile(
                file,
                name=name,
                delimiter=options.delimiter,
                header=options.header,
                text=options.texts,
                encoding=options.encoding,
            )
        case "svmlight":
            return SvmlightFile(
                file, name=name, encoding=options.encoding, zero_based=options.zero_based
            )
        case "parquet":
            return ParquetTable(file)
        case _:
            return ArrayTable(file)


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
