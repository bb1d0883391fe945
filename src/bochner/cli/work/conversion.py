"""Conversion of data files to another format, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.cli.work.reading import DataOptions
from bochner.cli.work.table_files import SPARSE, TABLES, Columns, table_writer
from bochner.data.files.formats.arrow import ColumnarTable
from bochner.data.files.formats.chunk import Chunk, SparseChunk
from bochner.data.files.formats.paths import find_files, format_of
from bochner.data.files.formats.svmlight import SvmlightFile, find_index_base
from bochner.data.files.formats.tables import open_table
from bochner.data.files.formats.value_table import ValueTable
from bochner.data.files.schema.layout import ColumnSelection
from bochner.data.transforms.times import LOCAL, ZONED

LARGEST_WHOLE = 2.0**53
MOST_COLUMNS = 10_000  # of sparse rows that are written as dense rows


def convert_files(given: str, out: str, options: DataOptions) -> dict[str, Any]:
    """Write all rows to another file; return the numbers of written and malformed rows."""
    paths, reading = find_files(given), options.reading
    if out != "-" and any(Path(path).absolute() == Path(out).absolute() for path in paths):
        raise ValueError(f"{out} cannot be read and written at once: give another name.")
    format = reading.format or format_of(paths)
    how = replace(reading.for_tables(), texts=options.categorical)
    tables = [_with_texts_of_times(open_table(path, format, how)) for path in paths]
    names = _names(tables[0], options)
    find_index_base([table for table in tables if isinstance(table, SvmlightFile)])
    width = _width(tables) if format == "svmlight" else 0
    sparse = Path(out).suffix.lower() in SPARSE
    record = {"rows": 0, "skipped_rows": 0, "out": out}
    with table_writer(out, TABLES | SPARSE) as file:
        for chunk in _chunks(tables, names):
            _count(chunk, record, reading.on_error)
            columns = _columns(chunk, names, width)
            labelled = sparse and not isinstance(chunk, SparseChunk)
            columns = _with_label(columns, options.target) if labelled else columns
            file.write(columns if sparse else _for_output(columns, out))
    return record


def _with_texts_of_times(table: Any) -> Any:
    """Return the table with times as text, which every format that holds text can hold."""
    if not isinstance(table, ColumnarTable | ValueTable):
        return table
    kinds = zip(table.names, table.kinds, strict=True)
    return table.with_texts(name for name, kind in kinds if kind in (LOCAL, ZONED))


def _names(table: Any, options: DataOptions) -> tuple[str, ...]:
    """Return the columns to write; those of sparse rows cannot be chosen."""
    if not isinstance(table, SvmlightFile):
        return (
            ColumnSelection(columns=options.columns or None, drop=options.drop).layout(table).names
        )
    if options.columns or options.drop or options.categorical:
        raise ValueError(
            "The columns of svmlight files have no names to choose by. Leave --columns, --drop and "
            "--categorical out."
        )
    return ()


def _chunks(tables: list[Any], names: tuple[str, ...]) -> Iterator[Chunk | SparseChunk]:
    for table in tables:
        if not isinstance(table, SvmlightFile) and table.names != tables[0].names:
            raise ValueError(
                f"All files must have the same columns; {table.name} differs from {tables[0].name}."
            )
        yield from table.chunks() if isinstance(table, SvmlightFile) else table.chunks(names)


def _count(chunk: Chunk | SparseChunk, record: dict[str, Any], on_error: str) -> None:
    if chunk.n_bad > 0 and on_error == "raise":
        raise ValueError(
            f"{chunk.bad[0]} Correct the row, or leave such rows out: on_error='skip'."
        )
    record["rows"] += len(chunk)
    record["skipped_rows"] += chunk.n_bad


def _columns(chunk: Chunk | SparseChunk, names: tuple[str, ...], width: int) -> Columns:
    """Return the columns by name, in the order of the file; sparse rows have `width` columns."""
    if isinstance(chunk, SparseChunk):
        rows = chunk.matrix(width).toarray()
        return {"target": chunk.labels} | {f"{k}": rows[:, k] for k in range(width)}
    numbers = dict(zip(chunk.number_names, chunk.numbers.T, strict=True))
    texts = {n: c.words() for n, c in zip(chunk.text_names, chunk.texts, strict=True)}
    cells = numbers | texts
    return {name: cells[name] for name in names}


def _width(tables: list[Any]) -> int:
    """Return the number of columns of sparse files, which takes one pass."""
    if any(table.once for table in tables):
        raise ValueError("Sparse rows of a stream can be written as .svm only; give a file.")
    width: int = max(chunk.n_columns for table in tables for chunk in table.chunks())
    if width > MOST_COLUMNS:
        raise ValueError(
            f"These sparse rows have {width:,} columns, too many to write their zeros."
        )
    return int(width)


def _for_output(columns: Columns, out: str) -> Columns:
    """Return columns with integers in place of whole floats, if the file is text."""
    binary = out != "-" and Path(out).suffix.lower() != ".csv"
    return columns if binary else {name: _whole(column) for name, column in columns.items()}


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind != "f" or not (np.abs(column) < LARGEST_WHOLE).all():
        return column
    return column.astype(np.int64) if (column == np.rint(column)).all() else column


def _with_label(columns: Columns, target: tuple[str, ...]) -> Columns:
    if len(target) != 1 or target[0] not in columns:
        raise ValueError(
            f"The svmlight format has one label a row: give --target, one of {', '.join(columns)}."
        )
    text = [name for name, column in columns.items() if column.dtype == object]
    if text:
        raise ValueError(
            f"The svmlight format holds numbers, but {text[0]!r} holds text. Leave it out: "
            f"drop={text[:1]}."
        )
    others = {name: column for name, column in columns.items() if name != target[0]}
    return {target[0]: columns[target[0]]} | others
