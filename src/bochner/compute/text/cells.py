"""Cells of text: markers of missing values, and codes of categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled


class Markers:
    """Cells that mean "missing": `signs` concatenated, the k-th ending at `ends[k]`.

    `first` is True for the bytes that a marker can begin with; entry 256 is for an empty marker.
    """

    def __init__(self, markers: tuple[str, ...]) -> None:
        encoded = [marker.strip(" \t").encode() for marker in markers]
        self.words = frozenset(encoded)
        self.signs = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        self.ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        self.first = np.zeros(257, np.bool_)
        self.first[[word[0] if word else 256 for word in encoded]] = True


def codes(
    text: NDArray[np.uint8], starts: NDArray[np.int32], stops: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code of each cell text[start:stop], and the first cell of each code."""
    out, firsts = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    table = np.full(1 << (2 * len(starts) + 1).bit_length(), -1, np.int32)
    count = _codes(text, starts, stops, table, out, firsts)
    return out, firsts[:count].copy()


@compiled(
    "int64(uint8[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[::1])", fastmath=False
)
def _codes(text, starts, stops, table, out, firsts):  # type: ignore[no-untyped-def]
    count, mask = 0, np.uint64(len(table) - 1)
    for k in range(len(starts)):
        start, size = np.int64(starts[k]), np.int64(stops[k]) - starts[k]
        mixed = np.uint64(size)
        for i in range(size):
            mixed = (mixed ^ np.uint64(text[start + i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        place = mixed & mask
        while True:
            code = np.int64(table[place])
            if code < 0:
                table[place], firsts[count], code = count, k, np.int64(count)
                count += 1
                break
            other = np.int64(starts[firsts[code]])
            same = stops[firsts[code]] - other == size
            i = 0
            while same and i < size:
                same = text[start + i] == text[other + i]
                i += 1
            if same:
                break
            place = (place + np.uint64(1)) & mask
        out[k] = code
    return count
