"""ParquetTable: the rows of a Parquet file, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.files.formats.chunk import Chunk, Coded, UnreadableFile, chunk_rows, split_by_kind

INDEX = "__index_level_"  # columns of the pandas index


def pyarrow() -> Any:
    """Import pyarrow, or explain how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow. Install it by pip install 'bochner[files]'."
        ) from error
    return pyarrow


class ParquetTable:
    """A Parquet file by its columns, read in small batches."""

    once = False
    named = True

    def __init__(self, path: str) -> None:
        arrow = pyarrow()
        self.name, self.bytes_read = path, 0
        try:
            with arrow.parquet.ParquetFile(path) as file:
                schema, self._metadata = file.schema_arrow, file.metadata
        except arrow.ArrowInvalid as error:
            raise UnreadableFile(f"{path} cannot be read as a Parquet file: {error}") from error
        groups = range(self._metadata.num_row_groups)
        rows = [self._metadata.row_group(group).num_rows for group in groups]
        self._starts = [0, *accumulate(rows)]
        self.n_rows = self._starts[-1]
        fields = [field for field in schema if not field.name.startswith(INDEX)]
        self.names = tuple(field.name for field in fields)
        self.kinds = tuple(_kind(field.type) for field in fields)
        self.singles = frozenset(
            field.name for field in fields if str(field.type) in ("float", "halffloat")
        )

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
        reader = pyarrow().parquet.ParquetFile(self.name, metadata=self._metadata, pre_buffer=False)
        with reader as file:
            for batch in self._readable(_batches(file, number, wanted)):
                lines = np.arange(first, first + batch.num_rows, dtype=np.int64)
                coded = tuple(_coded(batch.column(name)) for name in texts)
                first += batch.num_rows
                self.bytes_read = os.path.getsize(self.name) * (first - 1) // self.n_rows
                yield Chunk(_numbers(batch, numbers), coded, lines, (), 0, numbers, texts)

    def _readable(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from batches
        except (pyarrow().ArrowException, OSError) as error:
            raise UnreadableFile(
                f"{self.name} is damaged: {str(error).strip()} Copy it again, or write it again."
            ) from error


def _batches(file: Any, group: int, names: list[str]) -> Any:
    """Read one row group: reading all of them at once would hold them all in memory."""
    return file.iter_batches(chunk_rows(len(names)), row_groups=[group], columns=names)


def _kind(type_: Any) -> str:
    types = pyarrow().types
    if types.is_dictionary(type_):
        return "text" if _kind(type_.value_type) == "text" else str(type_)
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null
    return "number" if any(is_number(type_) for is_number in numbers) else str(type_)


def _numbers(batch: Any, names: tuple[str, ...]) -> NDArray[np.float64]:
    found = np.empty((batch.num_rows, len(names)))
    for place, name in enumerate(names):
        column = batch.column(name)
        if not pyarrow().types.is_floating(column.type):
            column = column.cast("float64", safe=False)
        found[:, place] = column.to_numpy(zero_copy_only=False)
    return found


def _coded(column: Any) -> Coded:
    if not pyarrow().types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    words = column.dictionary.to_pylist()
    if None in words:
        codes = np.where(codes == words.index(None), -1, codes)
        words = ["" if word is None else word for word in words]
    return Coded(codes, tuple(words))
