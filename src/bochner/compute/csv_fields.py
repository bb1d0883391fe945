"""Records and fields of text with quotes: where they begin and end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

NEWLINE, RETURN, QUOTE = 10, 13, ord('"')


@dataclass(frozen=True)
class Records:
    """Record k is text[starts[k]:stops[k]], and begins at line `lines[k]` of the file.

    `end` is where the first record begins that is not complete, `line` its line. Empty lines are
    no records.
    """

    starts: NDArray[np.int32]
    stops: NDArray[np.int32]
    lines: NDArray[np.int64]
    end: int
    line: int

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, part: slice) -> Records:
        return Records(self.starts[part], self.stops[part], self.lines[part], self.end, self.line)


def records(text: NDArray[np.uint8], delimiter: int | None, line: int) -> Records:
    """Cut the text at the line ends outside quotes; without a delimiter at every line end."""
    room = len(text) + 1  # pages that are not written to cost nothing
    starts, stops = np.empty(room, np.int32), np.empty(room, np.int32)
    lines = np.empty(room, np.int64)
    if delimiter is None or not (text == QUOTE).any():
        count, end, line = _lines(text, line, starts, stops, lines)
    else:
        count, end, line = _records(text, delimiter, line, starts, stops, lines)
    return Records(starts[:count].copy(), stops[:count].copy(), lines[:count].copy(), end, line)


def fields(
    text: NDArray[np.uint8],
    some: Records,
    delimiter: int,
    places: NDArray[np.int64],
    width: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return starts and stops (rows, width) of the fields of complete rows, and what was found.

    The field of column j goes to place `places[j]` of its row, nowhere if that is -1. A record is
    complete if it has len(places) fields. What was found is the number of fields of each record,
    or -1 - j if more than a field stands between two delimiters at column j.
    """
    size = int(some.stops[-1] - some.starts[0]) + 1 if len(some) else 0
    # A header of a million names above short rows must not ask for a million places a row.
    most = min(len(some), size // max(1, len(places)) + 1)
    starts, stops = np.empty((2, most + 1, width), np.int32)
    found = np.empty(len(some), np.int32)
    rows = _fields(text, some.starts, some.stops, delimiter, places, starts, stops, found)
    return starts[:rows], stops[:rows], found


@compiled("UniTuple(int64, 3)(uint8[::1], int64, int32[::1], int32[::1], int64[::1])")
def _lines(text, line, starts, stops, lines):  # type: ignore[no-untyped-def]
    count, start = 0, 0
    for i in range(len(text)):
        if text[i] == NEWLINE:
            stop = i - (i > start and text[i - 1] == RETURN)
            starts[count], stops[count], lines[count] = start, stop, line
            count += stop > start
            start = i + 1
            line += 1
    return count, start, line


@compiled("UniTuple(int64, 3)(uint8[::1], int64, int64, int32[::1], int32[::1], int64[::1])")
def _records(text, delimiter, line, starts, stops, lines):  # type: ignore[no-untyped-def]
    count, start, first, inside = 0, 0, line, False
    i, opens = 0, True
    while i < len(text):
        sign = text[i]
        if inside:
            if sign == QUOTE:
                if i + 1 < len(text) and text[i + 1] == QUOTE:
                    i += 1
                else:
                    inside = False
            line += sign == NEWLINE
        elif sign == QUOTE and opens:
            inside, opens = True, False
        elif sign == NEWLINE:
            stop = i - (i > start and text[i - 1] == RETURN)
            starts[count], stops[count], lines[count] = start, stop, first
            count += stop > start
            start, line, opens = i + 1, line + 1, True
            first = line
        else:
            opens = sign == delimiter
        i += 1
    return count, start, first


@compiled(
    "int64(uint8[::1], int32[::1], int32[::1], int64, int64[::1], int32[:, ::1], int32[:, ::1], "
    "int32[::1])"
)
def _fields(text, record_starts, record_stops, delimiter, places, starts, stops, found):  # type: ignore[no-untyped-def]
    row = 0
    for k in range(len(record_starts)):
        at, end, column = np.int64(record_starts[k]), np.int64(record_stops[k]), 0
        while True:
            quoted = at < end and text[at] == QUOTE
            if quoted:
                at += 1
                start = at
                while at < end and (text[at] != QUOTE or (at + 1 < end and text[at + 1] == QUOTE)):
                    at += 2 if text[at] == QUOTE else 1
                stop = min(at, end)
                at += 1
                if at < end and text[at] != delimiter:
                    column = -1 - column
                    break
            else:
                start = at
                while at < end and text[at] != delimiter:
                    at += 1
                stop = at
            if column < len(places) and places[column] >= 0:
                starts[row, places[column]], stops[row, places[column]] = start, stop
            column += 1
            if at >= end:
                break
            at += 1
        found[k] = column
        row += column == len(places)
    return row
