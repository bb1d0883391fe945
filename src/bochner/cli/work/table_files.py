"""Writers of tables, batch by batch; the file appears only when it is complete."""

from __future__ import annotations

import csv
import io
import re
import sys
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from bochner.data.files.formats.arrow import pyarrow
from bochner.replacing import replacing

Columns = dict[str, NDArray[Any]]
# What spreadsheets evaluate: OWASP, CSV injection; blanks before it do not protect.
FORMULA = re.compile(r"[ \u00a0]*[=+\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
NO_ROWS = "There are no rows to write: the data have none. Nothing was written."


class TableWriter(ABC):
    """Writes named columns to a file; after an error the former file is unchanged."""

    def __init__(self, context: AbstractContextManager[BinaryIO]) -> None:
        self._context = context
        self.file: BinaryIO

    def __enter__(self) -> Self:
        self.file = self._context.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            self.finish() if error is None else self.abort()
        except BaseException as last:
            self._context.__exit__(type(last), last, last.__traceback__)
            raise
        self._context.__exit__(kind, error, at)

    @abstractmethod
    def write(self, columns: Columns) -> None:
        """Add some rows."""

    def finish(self) -> None:  # noqa: B027
        """Write the end of the file. Does nothing by default."""

    def abort(self) -> None:  # noqa: B027
        """Release resources after an error. Does nothing by default."""


class CsvWriter(TableWriter):
    """CSV with a header row; numbers are written with all digits that a reader needs.

    `safe` puts an apostrophe before text that a spreadsheet would evaluate.
    """

    has_header = False
    safe = False

    def write(self, columns: Columns) -> None:
        """Add some rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.has_header:
            writer.writerow(map(self._text, columns))
            self.has_header = True
        cells = (self._safe(_cells(column)) for column in columns.values())
        writer.writerows(zip(*cells, strict=True))
        self.file.write(text.getvalue().encode())

    def _safe(self, cells: list[Any]) -> list[Any]:
        return list(map(self._text, cells)) if self.safe else cells

    def _text(self, cell: Any) -> Any:
        evaluated = self.safe and isinstance(cell, str) and FORMULA.match(cell)
        return f"'{cell}" if evaluated and not NUMBER.fullmatch(cell) else cell

    def finish(self) -> None:
        """Raise if there are no rows."""
        if not self.has_header:
            raise ValueError(NO_ROWS)


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return Python values; numbers in single precision as text of as few digits as they need."""
    cells = column.astype(str) if column.dtype == np.float32 else column
    if column.dtype.kind == "f" and np.isnan(column).any():
        return np.where(np.isnan(column), "", cells.astype(object)).tolist()  # type: ignore[no-any-return]
    return ["" if cell is None else cell for cell in cells.tolist()]


class ParquetWriter(TableWriter):
    """Apache Parquet, a row group for each batch."""

    _writer: Any = None

    def write(self, columns: Columns) -> None:
        """Add some rows."""
        arrow = pyarrow()
        table = arrow.table({name: _typed(arrow, column) for name, column in columns.items()})
        if self._writer is None:
            self._writer = arrow.parquet.ParquetWriter(self.file, table.schema)
        self._writer.write_table(table)

    def finish(self) -> None:
        """Write the index of the row groups."""
        if self._writer is None:
            raise ValueError(NO_ROWS)
        self._writer.close()

    def abort(self) -> None:
        """Close the Parquet writer."""
        if self._writer is not None:
            self._writer.close()


def _typed(arrow: Any, column: NDArray[Any]) -> Any:
    """Return an Arrow column; one whose cells are all missing is text, as later cells may be."""
    found = arrow.array(column)
    return found.cast(arrow.string()) if arrow.types.is_null(found.type) else found


class NpyWriter(TableWriter):
    """A NumPy array of numbers, one column for each name; text is an error."""

    def __init__(self, context: AbstractContextManager[BinaryIO]) -> None:
        super().__init__(context)
        self._shape, self._dtype = (0, 0), np.dtype(np.float64)

    def write(self, columns: Columns) -> None:
        """Add some rows; `finish` rewrites the header, which has a fixed length."""
        rows = np.column_stack(list(columns.values()))
        if rows.dtype.kind not in "fiub":
            raise ValueError("A .npy file holds numbers, but these columns hold text: give .csv.")
        if self._shape[0] == 0:
            self._dtype = rows.dtype
            self._write_header(rows.shape[1])
        self.file.write(np.ascontiguousarray(rows.astype(self._dtype)).tobytes())
        self._shape = (self._shape[0] + len(rows), rows.shape[1])

    def finish(self) -> None:
        """Write the number of rows into the header."""
        if self._shape[0] == 0:
            raise ValueError(NO_ROWS)
        self.file.seek(0)
        self._write_header(self._shape[1])

    def _write_header(self, columns: int) -> None:
        described = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._shape[0], columns),
        }
        np.lib.format.write_array_header_1_0(self.file, described)


class SvmlightWriter(TableWriter):
    """The svmlight format: the first column is the label, zeros of the others are omitted.

    Column indices begin at 1.
    """

    def write(self, columns: Columns) -> None:
        """Add some rows."""
        label, *others = columns.values()
        rows = np.column_stack(others).astype(np.float64)
        if np.isnan(rows).any():
            raise ValueError("The svmlight format has no missing numbers: give .csv or .parquet.")
        lines = (_line(*row) for row in zip(label.tolist(), rows, strict=True))
        self.file.write("".join(lines).encode())


def _line(label: float, row: NDArray[np.float64]) -> str:
    stored = np.flatnonzero(row)
    pairs = zip((stored + 1).tolist(), row[stored].tolist(), strict=True)
    return f"{label!r} {' '.join(f'{place}:{value!r}' for place, value in pairs)}".rstrip() + "\n"


TABLES: dict[str, type[TableWriter]] = {
    ".csv": CsvWriter,
    ".parquet": ParquetWriter,
    ".npy": NpyWriter,
}
SPARSE: dict[str, type[TableWriter]] = {
    ".svm": SvmlightWriter,
    ".svmlight": SvmlightWriter,
    ".libsvm": SvmlightWriter,
}


def table_writer(
    path: str, kinds: dict[str, type[TableWriter]] = TABLES, *, safe: bool = False
) -> TableWriter:
    """Return the writer for the suffix of a path; "-" is standard output.

    `safe` is for CSV: text that a spreadsheet would evaluate gets an apostrophe.
    """
    kind = CsvWriter if path == "-" else kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise ValueError(f"The file to write must end in {', '.join(kinds)}; got {path}.")
    if safe and kind is not CsvWriter:
        raise ValueError(f"--safe-csv is for files that end in .csv; got {path}. Leave it out.")
    writer = kind(nullcontext(sys.stdout.buffer) if path == "-" else replacing(path))
    if isinstance(writer, CsvWriter):
        writer.safe = safe
    return writer
