"""Positions and indices of sparse rows in text: label index:value index:value ..."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.text.csv import Records

EMPTY, ROW = 0, 1  # the content of a line: nothing (a comment), a row, or an error:
NO_PAIR, NOT_INCREASING, TOO_LARGE, BELOW_ONE = -1, -2, -3, -4
# Each column has a name, and one malformed line must not exhaust the memory.
LARGEST_COLUMN = 1 << 24
LEAST_PAIR = 3  # bytes of "1:" and a blank

BLANK, TAB, COMMENT, COLON, ZERO = (ord(sign) for sign in " \t#:0")
RETURN, LETTER_Q, LETTER_I, LETTER_D = (ord(sign) for sign in "\rqid")


@dataclass(frozen=True)
class IndexValuePairs:
    """The rows of some lines, and the starts and stops (..., 1) of their labels and values.

    `held` is the content of each line, `places` the position of its error. Row r has the entries
    ends[r - 1] to ends[r].
    """

    held: NDArray[np.int8]
    places: NDArray[np.int32]
    labels: tuple[NDArray[np.int32], NDArray[np.int32]]
    ends: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: tuple[NDArray[np.int32], NDArray[np.int32]]


def pairs(text: NDArray[np.uint8], lines: Records, least: int) -> IndexValuePairs:
    """Return the rows of lines of text, whose smallest index is `least`: 0 or 1."""
    count = len(lines)
    room = int(lines.stops[-1] - lines.starts[0]) // LEAST_PAIR + 2 if count else 0
    held, places = np.empty(count, np.int8), np.zeros(count, np.int32)
    label, value = np.empty((2, count, 1), np.int32), np.empty((2, room, 1), np.int32)
    ends, indices = np.empty(count, np.int64), np.empty(room, np.int32)
    rows, entries = _pairs(
        text, lines.starts, lines.stops, least, held, places, label, ends, indices, value
    )
    labels = label[0, :rows], label[1, :rows]
    values = value[0, :entries], value[1, :entries]
    return IndexValuePairs(held, places, labels, ends[:rows], indices[:entries], values)


# Indices are unsigned where speed matters: Numba checks signed ones for negative values.
@compiled("boolean(uint8)")
def _is_blank(sign):  # type: ignore[no-untyped-def]
    return sign == BLANK or TAB <= sign <= RETURN


@compiled("int64(uint8[::1], int64, int64)")
def _after_blanks(text, at, end):  # type: ignore[no-untyped-def]
    while at < end and _is_blank(text[np.uint32(at)]):
        at += 1
    return at


@compiled("int64(uint8[::1], int64, int64)")
def _after_token(text, at, end):  # type: ignore[no-untyped-def]
    while at < end:
        sign = text[np.uint32(at)]
        if sign <= COMMENT and (sign == COMMENT or _is_blank(sign)):
            break
        at += 1
    return at


@compiled("int64(uint8[::1], int64, int64)")
def _after_query(text, at, end):  # type: ignore[no-untyped-def]
    """Return the end of a query number, qid:3; `at` if there is none."""
    if not (
        at + 4 < end
        and text[at] == LETTER_Q
        and text[at + 1] == LETTER_I
        and text[at + 2] == LETTER_D
        and text[at + 3] == COLON
    ):
        return at
    after = at + 4
    while after < end and ZERO <= text[after] <= ZERO + 9:
        after += 1
    whole = after > at + 4 and _after_token(text, after, end) == after
    return after if whole else at


@compiled("UniTuple(int64, 2)(uint8[::1], int64, int64)")
def _index(text, at, end):  # type: ignore[no-untyped-def]
    """Return the index at a position and the end of its digits."""
    index = np.int64(0)
    while at < end:
        digit = np.uint8(text[np.uint32(at)] - np.uint8(ZERO))
        if digit > 9:
            break
        index = min(index * 10 + np.int64(digit), np.int64(LARGEST_COLUMN) + 1)
        at += 1
    return index, at


@compiled(
    "UniTuple(int64, 2)(uint8[::1], int32[::1], int32[::1], int64, int8[::1], int32[::1], "
    "int32[:, :, ::1], int64[::1], int32[::1], int32[:, :, ::1])"
)
def _pairs(text, starts, stops, least, held, places, label, ends, indices, value):  # type: ignore[no-untyped-def]
    row, entry = 0, 0
    for k in range(len(starts)):
        end, first = np.int64(stops[k]), entry
        at = _after_blanks(text, np.int64(starts[k]), end)
        if at == end or text[at] == COMMENT:
            held[k] = EMPTY
            continue
        label[0, row, 0] = at
        at = _after_token(text, at, end)
        label[1, row, 0] = at
        state, last, token = ROW, np.int64(least - 1), at
        at = _after_query(text, _after_blanks(text, at, end), end)
        while state == ROW:
            at = _after_blanks(text, at, end)
            if at == end or text[np.uint32(at)] == COMMENT:
                break
            token = at
            index, at = _index(text, at, end)
            if at in (token, end) or text[np.uint32(at)] != COLON:
                state = NO_PAIR
            elif index > LARGEST_COLUMN:
                state = TOO_LARGE
            elif index < least:
                state = BELOW_ONE
            elif index <= last:
                state = NOT_INCREASING
            else:
                last = index
                indices[np.uint32(entry)] = index - least
                value[0, np.uint32(entry), 0] = at + 1
                at = _after_token(text, at + 1, end)
                value[1, np.uint32(entry), 0] = at
                entry += 1
        held[k], places[k] = state, token
        if state == ROW:
            ends[row] = entry
            row += 1
        else:
            entry = first
    return row, entry
