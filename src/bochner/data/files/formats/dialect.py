"""The dialect of a CSV file: delimiter, names and types, detected in its first megabyte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.cells import Markers
from bochner.compute.text.csv import Records, fields, records
from bochner.compute.text.decimal import WRONG, read_decimals
from bochner.data.files.formats.blocks import Input
from bochner.data.files.formats.chunk import UnreadableFile, quoted_cell

Cuts = dict[int, Records]
Sample = tuple[NDArray[np.uint8], Records, int]  # text, its records and their delimiter
# A comma may also be a decimal point or part of a text, so ties go to the others.
DELIMITERS = "\t;|,"
SNIFFED_RECORDS = 1000  # records that determine the delimiter
UNNAMED = "unnamed "  # and its position: pandas writes an index without a name
TOLERATED = 0.1  # fraction of the cells of a column of numbers that may be malformed

NUMBER = re.compile(rb"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
# Numbers in other notations: 1,5 and 1.234,5 and 1,234.5, 12%, 0x1F.
OTHER_NUMBER = re.compile(
    rb"[ \t]*[+-]?([0-9][0-9.]*(,[0-9]+)+(\.[0-9]*)?%?|[0-9.]+[ \t]*%|0[xX][0-9a-fA-F]+)[ \t]*"
)


@dataclass(frozen=True)
class Dialect:
    """The delimiter, names and types of columns, and the number of header records (0 or 1).

    `unusable` holds error messages for columns that must not be read.
    """

    delimiter: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    headers: int
    unusable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DialectOptions:
    """What the user specifies; see `CsvFile`."""

    delimiter: str
    header: bool | str
    text: Sequence[str]
    markers: Markers

    def __post_init__(self) -> None:
        one = len(self.delimiter) == 1 and self.delimiter.isascii()
        if self.delimiter != "auto" and (not one or self.delimiter in '"\r\n'):
            raise ValueError(
                'delimiter must be "auto" or one ASCII character, not a quote or a line end; '
                f"got {self.delimiter!r}."
            )
        if self.header not in ("auto", True, False):
            raise ValueError(f'header must be "auto", True or False; got {self.header!r}.')


def detect_dialect(file: Input, options: DialectOptions) -> Dialect:
    """Return the dialect of a file, from its first records."""
    text, cuts = file.inspect(lambda head: _cuts(head, options))
    delimiter, some = _delimiter(text, cuts)
    columns = int(_counts(text, some[:1], delimiter)[0])
    if columns < 1:
        raise UnreadableFile(
            f"{file.name}, line {int(some.lines[0])}: text follows a closing quote."
        )
    first = _cells(text, some, delimiter, columns)
    names, headers = _names(first, options, f"{file.name}, line {int(some.lines[0])}")
    kinds, unusable = _kinds((text, some[headers:], delimiter), options, names)
    unusable = {name: f"{file.name}: {why}" for name, why in unusable.items()}
    return Dialect(delimiter, names, kinds, headers, unusable)


def _cuts(
    text: NDArray[np.uint8], options: DialectOptions
) -> tuple[NDArray[np.uint8], Cuts] | None:
    """Return the text, and its records for each possible delimiter."""
    wanted = DELIMITERS if options.delimiter == "auto" else options.delimiter
    cuts = {ord(sign): records(text, ord(sign), 1) for sign in wanted}
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
    numbers = sum(NUMBER.fullmatch(cell) is not None for cell in first)
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
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the types of columns, and error messages for unusable ones."""
    texts, places = set(options.text), np.arange(len(names))
    text, some, delimiter = sample
    starts, stops, _ = fields(text, some, delimiter, places, len(names))
    numbers = _are_numbers(text, (starts, stops), options.markers)
    unusable = {}
    for j in np.flatnonzero(~numbers):
        cells = zip(starts[:SNIFFED_RECORDS, j], stops[:SNIFFED_RECORDS, j], strict=True)
        other = _other_number([content(text, *cell) for cell in cells], options.markers)
        if other is not None and names[j] not in texts:
            unusable[names[j]] = _notation_message(names[j], other)
    kinds = [
        "number" if number and name not in texts else "text"
        for name, number in zip(names, numbers, strict=True)
    ]
    return tuple(kinds), unusable


def _other_number(cells: list[bytes], markers: Markers) -> bytes | None:
    """Return a number in another notation if nearly all cells hold such numbers."""
    filled = [cell for cell in cells if cell.strip(b" \t") not in markers.words]
    others = [cell for cell in filled if OTHER_NUMBER.fullmatch(cell)]
    return others[0] if len(others) > (1 - TOLERATED) * len(filled) else None


def _notation_message(name: str, cell: bytes) -> str:
    """Return the message that refuses numbers in another notation as text."""
    return (
        f'column "{name}" seems to hold numbers that are not written like 1234.5, but '
        f"{quoted_cell(cell)}. Rewrite them, give categorical=[{name!r}] if they are categories, "
        f"or leave them out: drop=[{name!r}]."
    )


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
