"""Workbooks of Excel: the rows of their one sheet."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import time, timedelta
from itertools import islice
from typing import Any

from bochner.data.files.formats.chunk import BadRow, UnreadableFile, quoted
from bochner.data.files.formats.dialect import UNNAMED
from bochner.data.files.formats.streams import MOST_TIMES, SHORT
from bochner.data.files.formats.value_table import Record, ValueTable
from bochner.data.transforms.times import SNIFFED_CELLS
from bochner.wording import amount

MOST_ROWS = 1 << 20  # of a sheet, as Excel allows
MOST_CELLS = 1 << 14  # of a row


def openpyxl() -> Any:
    """Import openpyxl, or explain how to install it."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(
            "Excel workbooks need openpyxl. Install it by pip install 'bochner[excel]', or save "
            "the sheet as CSV."
        ) from error
    return openpyxl


class ExcelTable(ValueTable):
    """The sheet of an Excel workbook (.xlsx); its first row that is not empty holds the names.

    Formulas are read as the values that Excel has stored. Empty rows are ignored. A workbook of
    several sheets with cells is refused. Errors such as #N/A are missing.

    Parameters
    ----------
    path : str
    name : str, optional
        The name of the file in errors; by default its path.
    """

    once = False

    def __init__(self, path: str, *, name: str | None = None) -> None:
        self.path, self.name = path, name or path
        openpyxl()
        self._require_size()
        with self._readable():
            line, header = next(self._rows(), (0, ()))
            while header and header[-1] is None:
                header = header[:-1]
            if not header:
                raise UnreadableFile(f"{self.name} has no rows: its sheet is empty.")
            names = ["" if cell is None else str(cell).strip() for cell in header]
            self._width, self._header = len(names), line
            found = tuple(name or f"{UNNAMED}{place}" for place, name in enumerate(names))
            if len(set(found)) < len(found):
                twice = Counter(found).most_common(1)[0][0]
                raise UnreadableFile(
                    f"{self.name}, row {line}: two columns are called {twice!r}. Rename one."
                )
            self._describe(found, islice(self._records_of(found), SNIFFED_CELLS))

    def _records(self) -> Iterator[Record]:
        with self._readable():
            yield from self._records_of(self.names)
        self.bytes_read = os.path.getsize(self.path)

    def _records_of(self, names: tuple[str, ...]) -> Iterator[Record]:
        for line, row in self._rows():
            if line <= self._header:
                continue
            if any(cell is not None for cell in row[self._width :]):
                expected, found = f"{self._width} cells", f"{len(row)} cells"
                yield Record(line, {}, BadRow(self.name, line, None, expected, found))
                continue
            yield Record(line, dict(zip(names, row, strict=False)))

    def _rows(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the numbers and cells of the rows that are not empty."""
        with open(self.path, "rb") as file:
            book = openpyxl().load_workbook(file, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _has_cells(sheet)]
            if len(sheets) > 1:
                raise UnreadableFile(
                    f"{self.name} must have one sheet with cells; got "
                    f"{quoted(sheet.title for sheet in sheets)}. Save one of them as CSV."
                )
            for sheet in sheets:
                yield from self._rows_of(sheet)

    def _rows_of(self, sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        for line, cells in enumerate(sheet.iter_rows(), 1):
            if line > MOST_ROWS or len(cells) > MOST_CELLS:
                raise UnreadableFile(
                    f"{self.name} has a cell beyond row {MOST_ROWS:,} or column {MOST_CELLS:,}, "
                    "which no sheet of Excel has. Save the sheet as CSV."
                )
            row = tuple(map(_value, cells))
            if any(value is not None for value in row):
                yield line, row

    def _require_size(self) -> None:
        """Refuse a workbook that is far larger than its file: it is a zip archive."""
        size = os.path.getsize(self.path)
        with self._readable(), zipfile.ZipFile(self.path) as archive:
            made = sum(info.file_size for info in archive.infolist())
        if made > max(SHORT, MOST_TIMES * size):
            raise UnreadableFile(
                f"{self.name} holds {amount(made)} in a file of {amount(size)}: it may be made to "
                "fill the memory. If you trust it, save it as CSV."
            )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise an UnreadableFile in place of the many errors of openpyxl."""
        try:
            with warnings.catch_warnings(action="ignore"):
                yield
        except (UnreadableFile, MemoryError, FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0][:100] or type(error).__name__
            raise UnreadableFile(
                f"{self.name} is damaged, or no Excel workbook: {reason}. Save it again."
            ) from error


def _has_cells(sheet: Any) -> bool:
    sheet.reset_dimensions()  # what a file claims about its size may be wrong
    return next(sheet.iter_rows(), None) is not None


def _value(cell: Any) -> Any:
    value = cell.value
    if cell.data_type == "e":
        return None
    if isinstance(value, time | timedelta):
        return str(value)
    return value
