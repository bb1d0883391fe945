"""Positions of records and fields in text with quotes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile

TILE = 1 << 18  # bytes of a tile: its results fit into the L2 cache
SEARCHED = 1 << 14  # bytes searched for a line end at once
NEWLINE, RETURN, QUOTE = 10, 13, ord('"')


@dataclass(frozen=True)
class Records:
    """Record k is text[starts[k]:stops[k]] and begins at line `lines[k]` of the file.

    `end` is the start of the first incomplete record, `line` its line. Empty lines are not records.
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
    """Cut the text at line ends outside quotes; if `delimiter` is None, at every line end.

    The result does not depend on the number of threads. Text with quotes uses one thread.
    """
    if delimiter is not None and (text == QUOTE).any():
        return _cut(text, line, partial(_records, np.int64(delimiter)))
    edges = _line_edges(text)
    parts: dict[int, Records] = {}

    def cut(first: int, last: int) -> None:
        for k in range(first, last):
            parts[k] = _cut(text[edges[k] : edges[k + 1]], 0, _lines)

    each_tile(cut, len(edges) - 1, 1)
    return _joined([parts[k] for k in range(len(edges) - 1)], edges, line)


def _cut(text: NDArray[np.uint8], line: int, loop: Callable[..., Any]) -> Records:
    room = int(np.count_nonzero(text == NEWLINE)) + 1
    starts, stops = np.empty(room, np.int32), np.empty(room, np.int32)
    lines = np.empty(room, np.int64)
    count, end, line = loop(text, line, starts, stops, lines)
    return Records(starts[:count].copy(), stops[:count].copy(), lines[:count].copy(), end, line)


def _line_edges(text: NDArray[np.uint8]) -> list[int]:
    """Return positions after line ends, about a tile apart, and both ends of the text."""
    edges = [0]
    while edges[-1] + TILE < len(text):
        place, found = edges[-1] + TILE, 0
        while found == 0 and place < len(text):
            found = text[place : place + SEARCHED].tobytes().find(b"\n") + 1
            place += found or SEARCHED
        edges.append(min(place, len(text)))
    return edges if edges[-1] == len(text) > 0 else [*edges, len(text)]


def _joined(parts: list[Records], edges: list[int], line: int) -> Records:
    before = [line + sum(part.line for part in parts[:k]) for k in range(len(parts) + 1)]
    starts = np.concatenate([p.starts + np.int32(e) for p, e in zip(parts, edges, strict=False)])
    stops = np.concatenate([p.stops + np.int32(e) for p, e in zip(parts, edges, strict=False)])
    lines = np.concatenate([p.lines + b for p, b in zip(parts, before, strict=False)])
    return Records(starts, stops, lines, edges[-2] + parts[-1].end, before[-1])


def fields(
    text: NDArray[np.uint8], some: Records, delimiter: int, places: NDArray[np.int64], width: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return starts and stops (rows, width) of the fields of complete records, and field counts.

    The field of column j is column `places[j]` of the result, skipped if that is -1. A record is
    complete if it has len(places) fields. The count of a record with text after the closing quote
    of column j is -1 - j.
    """
    size = int(some.stops[-1] - some.starts[0]) + 1 if len(some) else 0
    # A header of a million names above short rows must not allocate a million fields a row.
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


@compiled("UniTuple(int64, 3)(int64, uint8[::1], int64, int32[::1], int32[::1], int64[::1])")
def _records(delimiter, text, line, starts, stops, lines):  # type: ignore[no-untyped-def]
    count, start, first = 0, 0, line
    i, end, opens, mark = 0, len(text), True, np.uint8(delimiter)
    while i < end:
        sign = text[np.uint32(i)]
        if sign == QUOTE and opens:
            opens = False
            i += 1
            while i < end:
                sign = text[np.uint32(i)]
                if sign == QUOTE:
                    if i + 1 == end or text[np.uint32(i + 1)] != QUOTE:
                        break
                    i += 1
                line += sign == NEWLINE
                i += 1
        elif sign == NEWLINE:
            stop = i - (i > start and text[i - 1] == RETURN)
            starts[count], stops[count], lines[count] = start, stop, first
            count += stop > start
            start, line, opens = i + 1, line + 1, True
            first = line
        else:
            opens = sign == mark
        i += 1
    return count, start, first


@compiled(
    "int64(uint8[::1], int32[::1], int32[::1], int64, int64[::1], int32[:, ::1], int32[:, ::1], "
    "int32[::1])"
)
def _fields(text, record_starts, record_stops, delimiter, places, starts, stops, found):  # type: ignore[no-untyped-def]
    row, mark = 0, np.uint8(delimiter)
    for k in range(len(record_starts)):
        at, end, column = np.int64(record_starts[k]), np.int64(record_stops[k]), 0
        while True:
            if at < end and text[np.uint32(at)] == QUOTE:
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
                while at < end and text[np.uint32(at)] != mark:
                    at += 1
                stop = at
            if column < len(places) and places[np.uint32(column)] >= 0:
                place = np.uint32(places[np.uint32(column)])
                starts[np.uint32(row), place], stops[np.uint32(row), place] = start, stop
            column += 1
            if at >= end:
                break
            at += 1
        found[k] = column
        row += column == len(places)
    return row
