"""Columns of Arrow, which Parquet, Feather and Arrow files hold, and a reader of the latter two."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bochner.data.files.formats.chunk import (
    Chunk,
    Coded,
    UnreadableFile,
    chunk_rows,
    require_few_columns,
    split_by_kind,
)
from bochner.data.transforms.times import LOCAL, SNIFFED_CELLS, ZONED, days_of_array, kind_of_texts

INDEX = "__index_level_"  # columns of the pandas index
ARROW, FEATHER_1 = b"ARROW1", b"FEA1"  # the first bytes of such files


def pyarrow() -> Any:
    """Import pyarrow, or explain how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet, Feather and Arrow files need pyarrow. Install it by "
            "pip install 'bochner[files]'."
        ) from error
    return pyarrow


class ColumnarTable(ABC):
    """A file of typed columns, which Arrow reads in batches of rows."""

    once = False
    named = True
    name: str
    bytes_read: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    singles: frozenset[str]
    time_texts: dict[str, str]

    def _describe(self, schema: Any) -> None:
        """Store names and types of the columns."""
        require_few_columns(len(schema), self.name)
        fields = [field for field in schema if not field.name.startswith(INDEX)]
        self.names = tuple(field.name for field in fields)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise UnreadableFile(
                f"{self.name} has several columns named {twice!r}. Rename all but one."
            )
        self.kinds = tuple(_kind(field.type) for field in fields)
        self.singles = frozenset(
            field.name for field in fields if str(field.type) in ("float", "halffloat")
        )
        self.time_texts = self._time_texts()

    @abstractmethod
    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of these columns, numbered from 1."""

    @abstractmethod
    def _first_rows(self, columns: list[str], rows: int) -> Any:
        """Return the first rows of some columns as a batch of Arrow, None if there are none."""

    def with_texts(self, names: Iterable[str]) -> Self:
        """Return the table in which these columns are read as text, whatever their type."""
        table, names = copy(self), frozenset(names)
        kinds = zip(self.names, self.kinds, strict=True)
        table.kinds = tuple("text" if name in names else kind for name, kind in kinds)
        return table

    def _time_texts(self) -> dict[str, str]:
        """Return the columns of text that seem to hold times, by the first rows."""
        texts = [name for name, kind in zip(self.names, self.kinds, strict=True) if kind == "text"]
        with undamaged(self.name):
            batch = self._first_rows(texts, SNIFFED_CELLS) if texts else None
            if batch is None:
                return {}
            words = {name: _coded(batch.column(name)).words() for name in texts}
        kinds = {name: kind_of_texts(w for w in some if w) for name, some in words.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def _chunk(self, batch: Any, first: int, columns: Sequence[str] | None) -> Chunk:
        """Return a batch as a chunk whose first row has this number."""
        numbers, texts = split_by_kind(self, columns)
        lines = np.arange(first, first + batch.num_rows, dtype=np.int64)
        with undamaged(self.name):  # texts may be no UTF-8
            coded = tuple(_coded(batch.column(name)) for name in texts)
        return Chunk(_numbers(batch, numbers), coded, lines, (), 0, numbers, texts)


class ArrowTable(ColumnarTable):
    """A file of Arrow record batches: Feather, and the file and stream formats of Arrow."""

    def __init__(self, path: str) -> None:
        self.name, self.bytes_read = path, 0
        with open(path, "rb") as file:
            beginning = file.read(len(ARROW))
        if beginning.startswith(FEATHER_1):
            raise UnreadableFile(
                f"{path} is a Feather file of version 1, which is not read. Save it as version 2, "
                "which is the default of pyarrow and pandas, or as Parquet."
            )
        self._random = beginning == ARROW
        with undamaged(path), self._opened() as reader:
            schema = reader.schema
        self._describe(schema)

    def _opened(self) -> Any:
        arrow = pyarrow()
        source = arrow.memory_map(self.name)
        return arrow.ipc.open_file(source) if self._random else arrow.ipc.open_stream(source)

    def _batches(self) -> Iterator[Any]:
        with undamaged(self.name), self._opened() as reader:
            count = reader.num_record_batches if self._random else None
            batches = iter(reader) if count is None else map(reader.get_batch, range(count))
            for batch in batches:
                batch.validate(full=True)
                yield batch

    def _first_rows(self, columns: list[str], rows: int) -> Any:
        batch = next(self._batches(), None)
        return None if batch is None else batch.select(columns).slice(0, rows)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of these columns, numbered from 1."""
        step, first = chunk_rows(len(self.names if columns is None else columns)), 1
        self.bytes_read = 0
        for batch in self._batches():
            for start in range(0, batch.num_rows, step):
                chunk = self._chunk(batch.slice(start, step), first, columns)
                first += len(chunk)
                yield chunk
            self.bytes_read = min(self.bytes_read + batch.nbytes, os.path.getsize(self.name))


@contextmanager
def undamaged(path: str) -> Iterator[None]:
    """Raise an UnreadableFile in place of the errors of pyarrow about the bytes of a file."""
    try:
        yield
    except (pyarrow().ArrowException, OSError, UnicodeDecodeError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # the system's, about the file itself
        raise UnreadableFile(
            f"{path} is damaged, or of another format: {str(error).strip()} Copy it again, or "
            "write it again."
        ) from error


def _kind(type_: Any) -> str:
    types = pyarrow().types
    if types.is_dictionary(type_):
        return "text" if _kind(type_.value_type) == "text" else str(type_)
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_timestamp(type_) or types.is_date(type_):
        return ZONED if types.is_timestamp(type_) and type_.tz is not None else LOCAL
    numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null
    return "number" if any(is_number(type_) for is_number in numbers) else str(type_)


def _numbers(batch: Any, names: tuple[str, ...]) -> NDArray[np.float64]:
    found = np.empty((batch.num_rows, len(names)))
    for place, name in enumerate(names):
        column = batch.column(name)
        if _kind(column.type) in (LOCAL, ZONED):
            found[:, place] = _days(column)
            continue
        if not pyarrow().types.is_floating(column.type):
            column = column.cast("float64", safe=False)
        found[:, place] = column.to_numpy(zero_copy_only=False)
    return found


def _days(column: Any) -> NDArray[np.float64]:
    """Return a column of dates or times as days since 1970."""
    unit = getattr(column.type, "unit", "D" if column.type.bit_width == 32 else "ms")
    whole = column.cast("int32" if unit == "D" else "int64").cast("int64")
    counts = whole.fill_null(0).to_numpy(zero_copy_only=False)
    days = days_of_array(counts.view(f"M8[{unit}]"))
    return np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, days)


def _coded(column: Any) -> Coded:
    if _kind(column.type) != "text":
        column = column.cast("string")
    if not pyarrow().types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    words = column.dictionary.to_pylist()
    if None in words:
        codes = np.where(codes == words.index(None), -1, codes)
        words = ["" if word is None else word for word in words]
    return Coded(codes, tuple(words))
