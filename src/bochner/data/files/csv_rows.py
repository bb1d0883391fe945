"""Rows of a block of CSV text: fields to numbers and codes, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.text.cells import Markers
from bochner.compute.text.csv import Records, fields
from bochner.compute.text.decimal import HARD, WHOLE, WRONG, read_decimals
from bochner.data.files.blocks import Block
from bochner.data.files.chunk import (
    BAD_SHOWN,
    BadRow,
    Chunk,
    UnreadableFile,
    expected_number,
    shown,
)
from bochner.data.files.coding import Column
from bochner.data.files.dialect import Dialect, content, listed

Bytes = NDArray[np.uint8]
Bounds = NDArray[np.int32]


@dataclass(frozen=True)
class Layout:
    """Which columns of a file are wanted, and where: numbers first, then texts."""

    dialect: Dialect
    names: tuple[str, ...]
    numbers: int
    places: NDArray[np.int64]

    @classmethod
    def of(cls, dialect: Dialect, columns: Sequence[str] | None) -> Layout:
        """Return the layout of the columns with these names, of all if there are none given."""
        wanted = list(dialect.names if columns is None else columns)
        kinds = dict(zip(dialect.names, dialect.kinds, strict=True))
        if not kinds.keys() >= set(wanted) or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"columns must be different ones of {listed(dialect.names)}; got {listed(wanted)}."
            )
        for name in wanted:
            if name in dialect.odd:
                raise UnreadableFile(dialect.odd[name])
        names = sorted(wanted, key=lambda name: kinds[name] == "text")
        numbers = sum(kinds[name] == "number" for name in names)
        at = {name: place for place, name in enumerate(names)}
        places = np.array([at.get(name, -1) for name in dialect.names], np.int64)
        return cls(dialect, tuple(names), numbers, places)

    @property
    def split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the columns of numbers and of those of texts."""
        return self.names[: self.numbers], self.names[self.numbers :]


@dataclass(frozen=True)
class Rows:
    """Rows that are read: their numbers, their lines, starts and stops of their texts, bad ones."""

    numbers: NDArray[np.float64]
    lines: NDArray[np.int64]
    starts: NDArray[np.int32]
    stops: NDArray[np.int32]
    bad: tuple[BadRow, ...]
    n_bad: int

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts; there must be one."""
        columns = zip(*((p.numbers, p.lines, p.starts, p.stops) for p in parts), strict=True)
        numbers, lines, starts, stops = (np.concatenate(column) for column in columns)
        bad = tuple(row for part in parts for row in part.bad)
        return cls(numbers, lines, starts, stops, bad, sum(part.n_bad for part in parts))

    def picked(self, keep: NDArray[np.bool_], bad: Sequence[BadRow], n_bad: int) -> Rows:
        """Return the rows to keep, with what is to be said of the others."""
        numbers, lines, starts = self.numbers[keep], self.lines[keep], self.starts[keep]
        return Rows(numbers, lines, starts, self.stops[keep], tuple(bad), n_bad)


class RowReader:
    """Makes chunks of blocks."""

    def __init__(self, name: str, layout: Layout, markers: Markers) -> None:
        self.name, self.layout, self.markers = name, layout, markers

    def chunk(self, block: Block) -> Chunk:
        """Return the rows of a block."""
        rows = Rows.joined(block.tiles(self._tile))
        columns = self._coded(block.text, rows)
        foreign = np.any([column.foreign for column in columns], axis=0)
        if np.any(foreign):
            rows = self._native(rows, columns, foreign)
            columns = self._coded(block.text, rows)
        texts = tuple(column.decoded(self.markers) for column in columns)
        bad = rows.bad[:BAD_SHOWN]
        return Chunk(rows.numbers, texts, rows.lines, bad, rows.n_bad, *self.layout.split)

    def _coded(self, text: Bytes, rows: Rows) -> list[Column]:
        columns: dict[int, Column] = {}

        def work(first: int, last: int) -> None:
            for j in range(first, last):
                columns[j] = Column.of(text, rows.starts[:, j], rows.stops[:, j])

        each_tile(work, rows.starts.shape[1], 1)
        return [columns[j] for j in range(len(columns))]

    def _native(self, rows: Rows, columns: list[Column], foreign: NDArray[np.bool_]) -> Rows:
        """Return the rows whose texts are all in UTF-8."""
        bad = list(rows.bad)
        for row in np.flatnonzero(foreign)[:BAD_SHOWN]:
            column = next(j for j, column in enumerate(columns) if column.foreign[row])
            name, line = self.layout.split[1][column], int(rows.lines[row])
            bad.append(BadRow(self.name, line, name, "text in UTF-8", "other bytes"))
        bad.sort(key=lambda row: row.line)
        return rows.picked(~foreign, bad, rows.n_bad + int(np.count_nonzero(foreign)))

    def _tile(self, text: Bytes, some: Records) -> Rows:
        count, delimiter = self.layout.numbers, self.layout.dialect.delimiter
        width = len(self.layout.names)
        starts, stops, found = fields(text, some, delimiter, self.layout.places, width)
        numbers, flags = np.empty((len(starts), count)), np.empty(len(starts), np.int32)
        read_decimals(text, (starts, stops), self.markers, numbers, flags)
        for row in np.flatnonzero(flags == HARD):
            flags[row] = self._judge(text, starts[row], stops[row], numbers[row])
        lines = some.lines[found == len(self.layout.places)]
        rows = Rows(numbers, lines, starts[:, count:], stops[:, count:], (), 0)
        torn, wrong = len(some) - len(starts), np.flatnonzero(flags != WHOLE)
        if not torn and not len(wrong):
            return rows
        bad = self._torn(some, found) + [
            self._wrong(text, int(lines[row]), flags[row] - WRONG, starts[row], stops[row])
            for row in wrong[:BAD_SHOWN]
        ]
        bad.sort(key=lambda row: row.line)
        return rows.picked(flags == WHOLE, bad[:BAD_SHOWN], torn + len(wrong))

    def _judge(
        self,
        text: Bytes,
        starts: NDArray[np.int32],
        stops: NDArray[np.int32],
        out: NDArray[np.float64],
    ) -> int:
        """Read a row that has a cell with more digits than the loop can judge."""
        for j in range(len(out)):
            cell = text[starts[j] : stops[j]].tobytes().strip(b" \t")
            out[j] = np.nan if cell in self.markers.words else float(cell)
            if np.isinf(out[j]):
                return WRONG + j
        return WHOLE

    def _torn(self, some: Records, found: NDArray[np.int32]) -> list[BadRow]:
        columns = len(self.layout.places)
        torn = np.flatnonzero(found != columns)[:BAD_SHOWN]
        return [self._torn_row(int(some.lines[k]), int(found[k])) for k in torn]

    def _torn_row(self, line: int, found: int) -> BadRow:
        names = self.layout.dialect.names
        if found >= 0:
            return BadRow(self.name, line, None, _fields(len(names)), _fields(found))
        column = names[-1 - found] if -1 - found < len(names) else None
        return BadRow(self.name, line, column, "a delimiter after the closing quote", "text")

    def _wrong(self, text: Bytes, line: int, column: int, starts: Bounds, stops: Bounds) -> BadRow:
        name = self.layout.names[column]
        cell = content(text, starts[column], stops[column])
        return BadRow(self.name, line, name, expected_number(cell), shown(cell))


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
