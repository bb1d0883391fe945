"""CSV files of any size: columns of numbers and of text, checked cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.text.cells import Markers, codes
from bochner.compute.text.csv import Records, fields, records
from bochner.compute.text.decimal import HARD, WHOLE, WRONG, read_decimals
from bochner.data.files.formats.blocks import Block, File, Input
from bochner.data.files.formats.chunk import (
    BAD_SHOWN,
    BadRow,
    Chunk,
    Coded,
    UnreadableFile,
    expected_number,
    shown,
)
from bochner.data.files.formats.dialect import Dialect, Kind, Wish, content, listed, told

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")


Bytes = NDArray[np.uint8]


Bounds = NDArray[np.int32]


@dataclass(frozen=True)
class TextColumn:
    """A column of text: row i holds words[codes[i]]."""

    codes: NDArray[np.int64]
    words: list[bytes]

    @classmethod
    def of(
        cls, text: NDArray[np.uint8], starts: NDArray[np.int32], stops: NDArray[np.int32]
    ) -> TextColumn:
        """Return the column of the cells text[start:stop]."""
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        rows, firsts = codes(text, starts, stops)
        return cls(rows, [content(text, starts[k], stops[k]) for k in firsts])

    @property
    def foreign(self) -> NDArray[np.bool_]:
        """The rows that do not hold UTF-8."""
        return np.array([_text(word) is None for word in self.words], np.bool_)[self.codes]

    def decoded(self, markers: Markers) -> Coded:
        """Return the column with missing values, and with equal texts told by one code.

        Two cells may be different bytes and equal texts: one in quotes, with a quote in it.
        """
        vocabulary: dict[str, int] = {}
        places = [
            -1
            if word.strip(b" \t") in markers.words
            else vocabulary.setdefault(word.decode(), len(vocabulary))
            for word in self.words
        ]
        return Coded(np.array(places, np.int64)[self.codes], tuple(vocabulary))


def _text(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


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

    def _coded(self, text: Bytes, rows: Rows) -> list[TextColumn]:
        columns: dict[int, TextColumn] = {}

        def work(first: int, last: int) -> None:
            for j in range(first, last):
                columns[j] = TextColumn.of(text, rows.starts[:, j], rows.stops[:, j])

        each_tile(work, rows.starts.shape[1], 1)
        return [columns[j] for j in range(len(columns))]

    def _native(self, rows: Rows, columns: list[TextColumn], foreign: NDArray[np.bool_]) -> Rows:
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


class CsvFile:
    """A table as text, one record a line, fields between delimiters, text in quotes if need be.

    Fields may be quoted by ``"``, a quote inside doubled (RFC 4180); records end with a line feed,
    with or without a carriage return before it. Empty lines are ignored. Numbers are decimals such
    as ``-1.5e3``, with blanks around them; what is not one (hexadecimal, digits grouped by commas,
    infinity) makes its row a bad row, and so do too many or too few fields and text that is not
    UTF-8. Nothing is guessed.

    The first megabyte tells the delimiter, the names and the kinds of the columns. A column holds
    numbers if at most a tenth of its cells there does not; those are bad rows.

    Parameters
    ----------
    file : path or binary stream
        A path that ends in ``.gz`` is unpacked while it is read. A stream can be read once.
    name : str, optional
        What errors call the file; its path if not given.
    delimiter : str
        One character, or "auto": a tab, ``;``, ``|`` or ``,``.
    header : bool or "auto"
        Whether the first record holds names. "auto": yes, unless its fields are numbers; if some
        are and some are not, an error asks. Without names columns are called "0", "1", ...;
        a single one without is "unnamed 0", by its place.
    text : sequence of str
        Columns of text, even if they look like numbers; names of no column are not looked at.
    missing : sequence of str
        Cells that mean that a value is missing, in quotes or not, blanks around them ignored.

    Examples
    --------
    >>> import io
    >>> table = CsvFile(io.BytesIO(b"height,kind\\n1.5,oak\\nNA,ash\\n2,oak\\n"), name="trees.csv")
    >>> table.names, table.kinds
    (('height', 'kind'), ('number', 'text'))
    >>> (chunk,) = table.chunks()
    >>> chunk.numbers[:, 0], chunk.texts[0].vocabulary
    (array([1.5, nan, 2. ]), ('oak', 'ash'))
    """

    def __init__(
        self,
        file: File,
        *,
        name: str | None = None,
        delimiter: str = "auto",
        header: bool | str = "auto",
        text: Sequence[str] = (),
        missing: Sequence[str] = MISSING,
    ) -> None:
        self._markers = Markers(tuple(missing))
        self._input = Input(file, name)
        self._dialect = told(self._input, Wish(delimiter, header, text, self._markers))

    @property
    def name(self) -> str:
        """What errors call the file."""
        return self._input.name

    @property
    def once(self) -> bool:
        """Whether the rows can be read once only, as those of a stream."""
        return self._input.once

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._dialect.names

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each column, "number" or "text"."""
        return self._dialect.kinds

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Walk over the rows, with these columns or all; other columns are not looked at.

        A chunk comes from about eight megabytes of text, whatever the number of threads. Its
        numbers and its texts are in the order of `columns`.
        """
        layout = Layout.of(self._dialect, columns)
        return self._walk(RowReader(self.name, layout, self._markers))

    def _walk(self, reader: RowReader) -> Iterator[Chunk]:
        skipped = self._dialect.headers
        for block in self._input.blocks(partial(_split, delimiter=self._dialect.delimiter)):
            rest = Block(block.text, block.records[skipped:])
            skipped = 0
            if len(rest.records):
                yield reader.chunk(rest)


def _split(text: NDArray[np.uint8], line: int, delimiter: int) -> Records:
    return records(text, delimiter, line)
