"""ValueTable: files whose cells are Python values with types of their own, not text."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import Any, Self

import numpy as np

from bochner.data.files.formats.chunk import (
    BAD_SHOWN,
    BadRow,
    Chunk,
    Coded,
    chunk_rows,
    quoted_cell,
    require_few_columns,
    split_by_kind,
)
from bochner.data.transforms.times import (
    LOCAL,
    SNIFFED_CELLS,
    TOLERATED,
    days_of_moment,
    expected_time,
    kind_of_texts,
)

EXPECTED = {"number": "a finite number", "text": "text", LOCAL: expected_time(LOCAL)}


@dataclass(frozen=True)
class Record:
    """A row: its line, and its cells by column; or what is wrong with it."""

    line: int
    cells: dict[str, Any]
    bad: BadRow | None = None


class ValueTable(ABC):
    """A table of Python values: None, numbers, booleans, texts, and dates or times without a zone.

    The first rows determine the types of the columns. A column holds numbers if at most a tenth of
    its values are something else; these make bad rows.
    """

    named = True
    singles: frozenset[str] = frozenset()
    name: str
    once: bool
    bytes_read: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    time_texts: dict[str, str]

    @abstractmethod
    def _records(self) -> Iterator[Record]:
        """Yield the rows."""

    def _describe(self, names: tuple[str, ...], first: Iterable[Record]) -> None:
        """Store names and types of the columns, by the first rows."""
        require_few_columns(len(names), self.name)
        rows = [record.cells for record in islice(first, SNIFFED_CELLS) if record.bad is None]
        columns = {name: [row[name] for row in rows if name in row] for name in names}
        self.names, self.bytes_read = names, 0
        self.kinds = tuple(_kind(columns[name]) for name in names)
        texts = [name for name, kind in zip(names, self.kinds, strict=True) if kind == "text"]
        times = {name: kind_of_texts(map(str, _filled(columns[name]))) for name in texts}
        self.time_texts = {name: kind for name, kind in times.items() if kind is not None}

    def with_texts(self, names: Iterable[str]) -> Self:
        """Return the table in which these columns are read as text, whatever their type."""
        table, names = copy(self), frozenset(names)
        kinds = zip(self.names, self.kinds, strict=True)
        table.kinds = tuple("text" if name in names else kind for name, kind in kinds)
        return table

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows with these columns, by default all."""
        numbers, texts = split_by_kind(self, columns)
        kinds = dict(zip(self.names, self.kinds, strict=True))
        reader = RecordReader(self.name, {name: kinds[name] for name in (*numbers, *texts)})
        records = self._records()
        while some := list(islice(records, chunk_rows(len(kinds)))):
            yield reader.chunk(some, numbers, texts)


class RecordReader:
    """Converts records to chunks; `kinds` has the columns to read."""

    def __init__(self, name: str, kinds: dict[str, str]) -> None:
        self.name, self.kinds = name, kinds

    def chunk(
        self, records: list[Record], numbers: tuple[str, ...], texts: tuple[str, ...]
    ) -> Chunk:
        """Return the rows that are not malformed."""
        rows: list[dict[str, Any]] = []
        lines, bad = [], []
        for record in records:
            found = record.bad or self._converted(record)
            if isinstance(found, BadRow):
                bad.append(found)
            else:
                rows.append(found)
                lines.append(record.line)
        table = np.array([[row[name] for name in numbers] for row in rows], np.float64)
        return Chunk(
            table.reshape(len(rows), len(numbers)),
            tuple(_coded([row[name] for row in rows]) for name in texts),
            np.array(lines, np.int64), tuple(bad[:BAD_SHOWN]), len(bad), numbers, texts,
        )  # fmt: skip

    def _converted(self, record: Record) -> dict[str, Any] | BadRow:
        """Return the cells of a row as numbers and texts, or the first that is malformed."""
        found = {}
        for name, kind in self.kinds.items():
            value = record.cells.get(name)
            try:
                found[name] = CONVERSIONS[kind](value)
            except (TypeError, ValueError, OverflowError):
                shown = quoted_cell(str(value).encode("utf-8", "replace"))
                return BadRow(self.name, record.line, name, EXPECTED[kind], shown)
        return found


def _kind(values: list[Any]) -> str:
    """Return the kind of a column: that of nearly all values, text for text and numbers."""
    filled = _filled(values)
    few = TOLERATED * len(filled)
    for kind, types in KINDS.items():
        if sum(not isinstance(value, types) for value in filled) <= few:
            return kind
    others = [value for value in filled if not isinstance(value, KINDS["text"])]
    return type(others[0]).__name__ if others else "text"


def _filled(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None and value != ""]


def _number(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    if not isinstance(value, bool | int | float):
        raise TypeError(type(value).__name__)
    number = float(value)
    if math.isinf(number):
        raise ValueError(value)
    return number


def _days(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    if not isinstance(value, date) or (isinstance(value, datetime) and value.tzinfo is not None):
        raise TypeError(type(value).__name__)
    return days_of_moment(value)


def _text(value: Any) -> str | None:
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | bool | int | float):
        raise TypeError(type(value).__name__)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _coded(texts: list[str | None]) -> Coded:
    places: dict[str, int] = {}
    codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return Coded(np.array(codes, np.int64), tuple(places))


KINDS: dict[str, Any] = {
    "number": (bool, int, float),
    LOCAL: date,
    "text": (str, bool, int, float, date),
}
CONVERSIONS: dict[str, Callable[[Any], Any]] = {"number": _number, LOCAL: _days, "text": _text}
