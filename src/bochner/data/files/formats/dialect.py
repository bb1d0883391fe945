"""The dialect of a CSV file: delimiter, names and types, detected in its first megabyte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.cells import WRONG, Markers, read_decimals
from bochner.compute.text.csv import Records, fields, records
from bochner.data.files.formats.blocks import Input
from bochner.data.files.formats.chunk import UnreadableFile, quoted_cell, require_few_columns
from bochner.data.files.formats.notation import TOLERATED, notation_message, other_numbers
from bochner.data.transforms.times import kind_of_texts, other_date
from bochner.validation import require_one_of

Cuts = dict[int, Records]
Sample = tuple[NDArray[np.uint8], Records, int]  # text, its records and their delimiter
# A comma may also be a decimal point or part of a text, so ties go to the others.
DELIMITERS = "\t;|,"
SNIFFED_RECORDS = 1000  # records that determine the delimiter
UNNAMED = "unnamed "  # and its position: pandas writes an index without a name

NUMBER = re.compile(rb"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
COMMA_NUMBER = re.compile(rb"[ \t]*[+-]?[0-9]*,[0-9]+[ \t]*")  # 1,5: perhaps a decimal comma
POINT_AND_COMMA = bytes.maketrans(b".,", b",.")


@dataclass(frozen=True)
class Dialect:
    """The delimiter, names and types of columns, and the number of header records (0 or 1).

    `unusable` holds error messages for columns that must not be read, `times` the columns of text
    that seem to hold times, with or without zones.
    """

    delimiter: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    headers: int
    unusable: dict[str, str] = field(default_factory=dict)
    times: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DialectOptions:
    """What the user specifies; see `CsvFile`. `missing` are the cells that mean a missing value."""

    delimiter: str
    decimal: str
    header: bool | str
    text: Sequence[str]
    missing: tuple[str, ...]

    def __post_init__(self) -> None:
        one = len(self.delimiter) == 1 and self.delimiter.isascii()
        if self.delimiter != "auto" and (not one or self.delimiter in '"\r\n'):
            raise ValueError(
                'delimiter must be "auto" or one ASCII character, not a quote or a line end; '
                f"got {self.delimiter!r}."
            )
        if self.header not in ("auto", True, False):
            raise ValueError(f'header must be "auto", True or False; got {self.header!r}.')
        require_one_of("decimal", self.decimal, (".", ","))
        if self.decimal == self.delimiter:
            raise ValueError(
                f"The sign {self.decimal!r} cannot separate both fields and fractions. Give "
                "another delimiter=, or another decimal=."
            )

    @property
    def delimiters(self) -> str:
        """The signs that may be the delimiter."""
        return DELIMITERS.replace(self.decimal, "") if self.delimiter == "auto" else self.delimiter

    @cached_property
    def markers(self) -> Markers:
        """The cells of columns of text that mean a missing value."""
        return Markers(self.missing)

    @cached_property
    def number_markers(self) -> Markers:
        """The same for columns of numbers, after `with_points`."""
        missing = (self.with_points(cell.encode()).decode() for cell in self.missing)
        return Markers(tuple(missing))

    def with_points(self, text: bytes) -> bytes:
        """Return text in which numbers have a decimal point: points and commas change places.

        A number with a point is malformed among numbers with decimal commas, and stays so.
        """
        return text if self.decimal == "." else text.translate(POINT_AND_COMMA)

    def numbers(self, text: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the bytes of a file `with_points`."""
        if self.decimal == ".":
            return text
        return np.frombuffer(bytearray(POINT_AND_COMMA), np.uint8)[text]


def detect_dialect(file: Input, options: DialectOptions) -> Dialect:
    """Return the dialect of a file, from its first records."""
    text, cuts = file.inspect(lambda head: _cuts(head, options))
    delimiter, some = _delimiter(text, cuts)
    columns = int(_counts(text, some[:1], delimiter)[0])
    if columns < 1:
        raise UnreadableFile(
            f"{file.name}, line {int(some.lines[0])}: text follows a closing quote."
        )
    require_few_columns(columns, file.name)
    first = _cells(text, some, delimiter, columns)
    names, headers = _names(first, options, f"{file.name}, line {int(some.lines[0])}")
    kinds, unusable, times = _kinds((text, some[headers:], delimiter), options, names)
    unusable = {name: f"{file.name}: {why}" for name, why in unusable.items()}
    return Dialect(delimiter, names, kinds, headers, unusable, times)


def _cuts(
    text: NDArray[np.uint8], options: DialectOptions
) -> tuple[NDArray[np.uint8], Cuts] | None:
    """Return the text, and its records for each possible delimiter."""
    cuts = {ord(sign): records(text, ord(sign), 1) for sign in options.delimiters}
    cuts = {sign: some for sign, some in cuts.items() if len(some)}
    return (text, cuts) if cuts else None


def _delimiter(text: NDArray[np.uint8], cuts: Cuts) -> tuple[int, Records]:
    """Return the delimiter by which most records have as many fields as the first."""
    scores = {}
    for sign, some in cuts.items():
        counts = _counts(text, some[:SNIFFED_RECORDS], sign)
        scores[sign] = np.mean(counts == counts[0]) if counts[0] > 1 else -1.0
    best = max(scores.values())
    sign = next(sign for sign in (reversed(scores) if best < 0 else scores) if scores[sign] == best)
    return sign, cuts[sign]


def _counts(text: NDArray[np.uint8], some: Records, delimiter: int) -> NDArray[np.int32]:
    return fields(text, some, delimiter, np.empty(0, np.int64), 0)[2]


def _cells(text: NDArray[np.uint8], some: Records, delimiter: int, columns: int) -> list[bytes]:
    places = np.arange(columns)
    starts, stops, _ = fields(text, some[:1], delimiter, places, columns)
    return [content(text, start, stop) for start, stop in zip(starts[0], stops[0], strict=True)]


def content(text: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """Return the content of a cell: without surrounding quotes, doubled quotes halved."""
    cell = text[start:stop].tobytes()
    quoted = start > 0 and text[start - 1] == ord('"')
    return cell.replace(b'""', b'"') if quoted else cell


def _names(first: list[bytes], options: DialectOptions, where: str) -> tuple[tuple[str, ...], int]:
    written = [options.with_points(cell) for cell in first]
    numbers = sum(bool(NUMBER.fullmatch(c) or COMMA_NUMBER.fullmatch(c)) for c in written)
    missing = sum(cell.strip(b" \t") in options.markers.words for cell in first)
    if options.header == "auto" and 0 < numbers < len(first) - missing:
        raise UnreadableFile(
            f"{where}: the first line has numbers and text, so it may hold names or a row. "
            "Give header=True or header=False."
        )
    if options.header is False or (options.header == "auto" and numbers):
        return tuple(str(column) for column in range(len(first))), 0
    return _unique_names([_decoded(cell, where).strip() for cell in first], where), 1


def _unique_names(names: list[str], where: str) -> tuple[str, ...]:
    """Return different names of columns, with one for each that is empty."""
    names = [name or f"{UNNAMED}{place}" for place, name in enumerate(names)]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise UnreadableFile(
            f'{where}: two columns are called "{twice}". Rename one, '
            "or give header=False if this line is a row."
        )
    return tuple(names)


def _decoded(cell: bytes, where: str) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{where}: the name {quoted_cell(cell)} is not text in UTF-8. Give its "
            "encoding='...', such as 'cp1252', or save the file as UTF-8."
        ) from error


def _kinds(
    sample: Sample, options: DialectOptions, names: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, str], dict[str, str]]:
    """Return the types of columns, error messages for unusable ones, and columns of times."""
    texts, places = set(options.text), np.arange(len(names))
    text, some, delimiter = sample
    starts, stops, _ = fields(text, some, delimiter, places, len(names))
    numbers = _are_numbers(options.numbers(text), (starts, stops), options.number_markers)
    unusable, times = {}, {}
    for j in np.flatnonzero(~numbers):
        if (name := names[j]) in texts:
            continue
        bounds = zip(starts[:SNIFFED_RECORDS, j], stops[:SNIFFED_RECORDS, j], strict=True)
        cells = [content(text, *cell) for cell in bounds]
        cells = [cell for cell in cells if cell.strip(b" \t") not in options.markers.words]
        words = [cell.decode("utf-8", "replace") for cell in cells]
        if others := _other_numbers(cells, options):
            unusable[name] = _notation_message(name, others, options)
        elif (date := other_date(words)) is not None:
            unusable[name] = _date_message(name, date)
        elif (kind := kind_of_texts(words)) is not None:
            times[name] = kind
    kinds = [
        "number" if number and name not in texts else "text"
        for name, number in zip(names, numbers, strict=True)
    ]
    return tuple(kinds), unusable, times


def _other_numbers(cells: list[bytes], options: DialectOptions) -> list[bytes]:
    """Return the numbers in another notation if nearly all cells hold such numbers."""
    texts = {options.with_points(cell).decode(errors="replace"): cell for cell in cells}
    return [texts[other] for other in other_numbers(list(texts))]


def _date_message(name: str, date: str) -> str:
    """Return the message that refuses dates in another notation as text."""
    return (
        f'column "{name}" seems to hold dates that are not written like 2024-01-31, but '
        f"{quoted_cell(date.encode())}, which can be read in two ways. Rewrite them, give "
        f"categorical=[{name!r}] if they are categories, or leave them out if they are no target: "
        f"drop=[{name!r}]."
    )


def _notation_message(name: str, cells: list[bytes], options: DialectOptions) -> str:
    """Return the message that refuses numbers in another notation as text."""
    commas = options.decimal == "." and all(map(COMMA_NUMBER.fullmatch, cells))
    comma = "Give decimal=',' if the comma begins the fraction, or rewrite"
    remedy = comma if commas else "Rewrite"
    return notation_message(name, quoted_cell(cells[0]), options.decimal, remedy)


def _are_numbers(
    text: NDArray[np.uint8], cells: tuple[NDArray[np.int32], NDArray[np.int32]], markers: Markers
) -> NDArray[np.bool_]:
    """Return which columns hold numbers; all cells are parsed as a single column."""
    starts, stops = (side.reshape(-1, 1) for side in cells)
    out, flags = np.zeros(starts.shape), np.empty(len(starts), np.int32)
    read_decimals(text, (starts, stops), markers, out, flags)
    wrong = (flags >= WRONG).reshape(cells[0].shape)
    filled = wrong | ~np.isnan(out.reshape(wrong.shape))
    few: NDArray[np.bool_] = wrong.sum(axis=0) <= TOLERATED * filled.sum(axis=0)
    return few
