"""CSV files of any size: columns of numbers and of text, checked cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.text.cells import HARD, WHOLE, WRONG, Markers, codes, read_decimals
from bochner.compute.text.csv import Records, fields
from bochner.data.files.formats.blocks import BLOCK, Block, File, Input
from bochner.data.files.formats.chunk import (
    BAD_SHOWN,
    BadRow,
    Chunk,
    Coded,
    UnreadableFile,
    expected_number,
    quoted,
    quoted_cell,
    split_by_kind,
)
from bochner.data.files.formats.dialect import Dialect, DialectOptions, content, detect_dialect

NOT_UTF8 = "other bytes, perhaps of encoding='cp1252'"
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")
Bytes = NDArray[np.uint8]
Bounds = NDArray[np.int32]


@dataclass(frozen=True)
class TextColumn:
    """A column of text: row i holds words[codes[i]]."""

    codes: NDArray[np.int64]
    words: list[bytes]

    @classmethod
    def of(cls, text: Bytes, starts: Bounds, stops: Bounds) -> TextColumn:
        """Return the column of the cells text[start:stop]."""
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        rows, firsts = codes(text, starts, stops)
        return cls(rows, [content(text, starts[k], stops[k]) for k in firsts])

    @property
    def not_utf8(self) -> NDArray[np.bool_]:
        """The rows that are not UTF-8."""
        return np.array([_text(word) is None for word in self.words], np.bool_)[self.codes]

    def decoded(self, markers: Markers) -> Coded:
        """Return the column with missing values and one code for equal texts.

        Different bytes may be equal texts: one of them quoted, with a doubled quote inside.
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
class FieldLayout:
    """The columns to read, numbers first, and the position of each field among them."""

    dialect: Dialect
    names: tuple[str, ...]
    numbers: int
    places: NDArray[np.int64]

    @classmethod
    def of(cls, dialect: Dialect, columns: Sequence[str] | None) -> FieldLayout:
        """Return the layout of the columns with these names, by default all."""
        wanted = list(dialect.names if columns is None else columns)
        kinds = dict(zip(dialect.names, dialect.kinds, strict=True))
        if not kinds.keys() >= set(wanted) or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"columns must be different ones of {quoted(dialect.names)}; got {quoted(wanted)}."
            )
        for name in wanted:
            if name in dialect.unusable:
                raise UnreadableFile(dialect.unusable[name])
        names = sorted(wanted, key=lambda name: kinds[name] == "text")
        numbers = sum(kinds[name] == "number" for name in names)
        at = {name: place for place, name in enumerate(names)}
        places = np.array([at.get(name, -1) for name in dialect.names], np.int64)
        return cls(dialect, tuple(names), numbers, places)

    @property
    def split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the columns of numbers and of the columns of text."""
        return self.names[: self.numbers], self.names[self.numbers :]


@dataclass(frozen=True)
class ParsedRows:
    """Parsed rows: numbers, lines, starts and stops of their texts, and malformed rows."""

    numbers: NDArray[np.float64]
    lines: NDArray[np.int64]
    starts: Bounds
    stops: Bounds
    bad: tuple[BadRow, ...]
    n_bad: int

    @classmethod
    def joined(cls, parts: Sequence[ParsedRows]) -> ParsedRows:
        """Return the rows of all parts, at least one."""
        columns = zip(*((p.numbers, p.lines, p.starts, p.stops) for p in parts), strict=True)
        numbers, lines, starts, stops = (np.concatenate(column) for column in columns)
        bad = tuple(row for part in parts for row in part.bad)
        return cls(numbers, lines, starts, stops, bad, sum(part.n_bad for part in parts))

    def select(self, keep: NDArray[np.bool_], bad: Sequence[BadRow], n_bad: int) -> ParsedRows:
        """Return the valid rows, with the descriptions of the others."""
        numbers, lines, starts = self.numbers[keep], self.lines[keep], self.starts[keep]
        return ParsedRows(numbers, lines, starts, self.stops[keep], tuple(bad), n_bad)


class RowReader:
    """Converts blocks to chunks."""

    def __init__(self, name: str, layout: FieldLayout, options: DialectOptions) -> None:
        self.name, self.layout, self.options = name, layout, options

    def chunk(self, block: Block) -> Chunk:
        """Return the rows of a block."""
        read = partial(self._tile, self.options.numbers(block.text))
        rows = ParsedRows.joined(block.tiles(read))
        columns = self._coded(block.text, rows)
        not_utf8 = np.any([column.not_utf8 for column in columns], axis=0)
        if np.any(not_utf8):
            rows = self._without_invalid_text(rows, columns, not_utf8)
            columns = self._coded(block.text, rows)
        texts = tuple(column.decoded(self.options.markers) for column in columns)
        bad = rows.bad[:BAD_SHOWN]
        return Chunk(rows.numbers, texts, rows.lines, bad, rows.n_bad, *self.layout.split)

    def _coded(self, text: Bytes, rows: ParsedRows) -> list[TextColumn]:
        columns: dict[int, TextColumn] = {}

        def work(first: int, last: int) -> None:
            for j in range(first, last):
                columns[j] = TextColumn.of(text, rows.starts[:, j], rows.stops[:, j])

        each_tile(work, rows.starts.shape[1], 1)
        return [columns[j] for j in range(len(columns))]

    def _without_invalid_text(
        self, rows: ParsedRows, columns: list[TextColumn], not_utf8: NDArray[np.bool_]
    ) -> ParsedRows:
        """Return the rows whose texts are all UTF-8."""
        bad = list(rows.bad)
        for row in np.flatnonzero(not_utf8)[:BAD_SHOWN]:
            column = next(j for j, column in enumerate(columns) if column.not_utf8[row])
            name, line = self.layout.split[1][column], int(rows.lines[row])
            bad.append(BadRow(self.name, line, name, "text in UTF-8", NOT_UTF8))
        bad.sort(key=lambda row: row.line)
        return rows.select(~not_utf8, bad, rows.n_bad + int(np.count_nonzero(not_utf8)))

    def _tile(self, plain: Bytes, text: Bytes, some: Records) -> ParsedRows:
        """Return the rows of some records; `plain` is the text with decimal points."""
        count, delimiter = self.layout.numbers, self.layout.dialect.delimiter
        width = len(self.layout.names)
        starts, stops, found = fields(text, some, delimiter, self.layout.places, width)
        numbers, flags = np.empty((len(starts), count)), np.empty(len(starts), np.int32)
        read_decimals(plain, (starts, stops), self.options.number_markers, numbers, flags)
        for row in np.flatnonzero(flags == HARD):
            flags[row] = self._read_exactly(plain, starts[row], stops[row], numbers[row])
        lines = some.lines[found == len(self.layout.places)]
        rows = ParsedRows(numbers, lines, starts[:, count:], stops[:, count:], (), 0)
        uneven, wrong = len(some) - len(starts), np.flatnonzero(flags != WHOLE)
        if not uneven and not len(wrong):
            return rows
        bad = self._bad_records(some, found) + [
            self._bad_number(text, int(lines[row]), flags[row] - WRONG, starts[row], stops[row])
            for row in wrong[:BAD_SHOWN]
        ]
        bad.sort(key=lambda row: row.line)
        return rows.select(flags == WHOLE, bad[:BAD_SHOWN], uneven + len(wrong))

    def _read_exactly(
        self, text: Bytes, starts: Bounds, stops: Bounds, out: NDArray[np.float64]
    ) -> int:
        """Parse a row with a cell that has too many digits for the compiled loop."""
        for j in range(len(out)):
            cell = text[starts[j] : stops[j]].tobytes().strip(b" \t")
            out[j] = np.nan if cell in self.options.number_markers.words else float(cell)
            if np.isinf(out[j]):
                return WRONG + j
        return WHOLE

    def _bad_records(self, some: Records, found: NDArray[np.int32]) -> list[BadRow]:
        """Describe records of too many or too few fields, or with text after a closing quote."""
        columns = len(self.layout.places)
        uneven = np.flatnonzero(found != columns)[:BAD_SHOWN]
        return [self._bad_record(int(some.lines[k]), int(found[k])) for k in uneven]

    def _bad_record(self, line: int, found: int) -> BadRow:
        names = self.layout.dialect.names
        if found >= 0:
            return BadRow(self.name, line, None, _fields(len(names)), _fields(found))
        column = names[-1 - found] if -1 - found < len(names) else None
        return BadRow(self.name, line, column, "a delimiter after the closing quote", "text")

    def _bad_number(
        self, text: Bytes, line: int, column: int, starts: Bounds, stops: Bounds
    ) -> BadRow:
        name = self.layout.names[column]
        cell = content(text, starts[column], stops[column])
        return BadRow(self.name, line, name, expected_number(cell), quoted_cell(cell))


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


class CsvFile:
    """A table as text: one record a line, fields between delimiters, optionally quoted.

    Fields may be quoted by ``"``, with quotes inside doubled (RFC 4180). Records end with a line
    feed, optionally preceded by a carriage return; empty lines are ignored. Numbers are decimals
    such as ``-1.5e3``, optionally surrounded by blanks. A cell that is not a number (hexadecimal,
    digits grouped by commas, infinity), too many or too few fields, and text that is not UTF-8
    make a bad row.

    The first megabyte determines the delimiter, the names and the types of the columns. A column
    holds numbers if at most a tenth of its cells there are not; these make bad rows.

    Parameters
    ----------
    file : path or binary stream
        Compressed text (gzip, bzip2, xz, zip) is decompressed while it is read. A stream can be
        read once.
    name : str, optional
        The name of the file in errors; by default its path.
    delimiter : str
        One character, or "auto": a tab, ``;``, ``|`` or ``,``.
    decimal : "." or ","
        What begins the fraction of a number.
    header : bool or "auto"
        Whether the first record holds names. "auto": yes, unless its fields are numbers; an
        error if only some are. Columns of a file without names are called "0", "1", ...; an
        empty name becomes "unnamed 0", with its position.
    text : sequence of str
        Columns of text, even if they look like numbers; unknown names are ignored.
    missing : sequence of str
        Cells that mean a missing value, quoted or not; surrounding blanks are ignored.
    encoding : str, optional
        Of the text; by default UTF-8, or UTF-16 and UTF-32 with a byte order mark.

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

    singles: frozenset[str] = frozenset()

    def __init__(
        self,
        file: File,
        *,
        name: str | None = None,
        delimiter: str = "auto",
        decimal: str = ".",
        header: bool | str = "auto",
        text: Sequence[str] = (),
        missing: Sequence[str] = MISSING,
        encoding: str | None = None,
    ) -> None:
        self._input = Input(file, name, encoding)
        self._options = DialectOptions(delimiter, decimal, header, text, tuple(missing))
        self.name, self.once, self.bytes_read = self._input.name, self._input.once, 0
        self._set_dialect(detect_dialect(self._input, self._options))

    def _set_dialect(self, dialect: Dialect) -> None:
        self._dialect, self.names, self.kinds = dialect, dialect.names, dialect.kinds
        self.time_texts = dialect.times
        self.named = self.names != tuple(map(str, range(len(self.names))))

    def with_texts(self, texts: Iterable[str]) -> CsvFile:
        """Return the table in which these columns hold text, as in other files of the data.

        Read as numbers they would lose leading zeros: 01234 is not 1234.
        """
        if self.once or set(split_by_kind(self, None)[0]).isdisjoint(texts):
            return self
        table = copy(self)
        options = replace(self._options, text=tuple(texts))
        table._set_dialect(detect_dialect(self._input, options))
        return table

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows with these columns, by default all; other columns are not parsed.

        A chunk comes from about eight megabytes of text, whatever the number of threads. Its
        numbers and texts are in the order of `columns`.
        """
        layout = FieldLayout.of(self._dialect, columns)
        return self._read_chunks(RowReader(self.name, layout, self._options))

    def _read_chunks(self, reader: RowReader) -> Iterator[Chunk]:
        skipped, self.bytes_read = self._dialect.headers, 0
        for block in self._input.blocks(self._dialect.delimiter):
            rest = Block(block.text, block.records[skipped:])
            skipped = 0
            if len(rest.records):
                self.bytes_read += BLOCK
                yield reader.chunk(rest)
