"""BinTable: an exact table of 64-bit fingerprints, numbered in the order in which they came."""

from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins import writable
from bochner.compute.compiled import compiled

SMALLEST = 64
FULL = 0.75  # of the places are taken before the table grows
GROWTH = 1.6
SETTLED = 0.65  # of the places are taken where no more come: fewer bytes, longer searches
SPARE = 1.1  # times the room that is needed is not worth a move
EMPTY = -1


class BinTable:
    """Fingerprints and their numbers 0, 1, 2, ... by open addressing with linear probing.

    12 bytes a place, of which 47% to 75% are taken, 59% at least once it is settled. The table only
    ever grows, so whoever remembers how many fingerprints there were can go on with those alone.

    >>> table = BinTable()
    >>> table.admit(np.array([7, 9, 7], np.uint64)), len(table)
    (array([0, 1, 0], dtype=int32), 2)
    >>> table.find(np.array([9, 8], np.uint64), 2)
    array([ 1, -1], dtype=int32)
    """

    def __init__(self, fingerprints: NDArray[np.uint64] | None = None) -> None:
        self.size = 0
        self._places = _empty(SMALLEST)
        if fingerprints is not None:
            self.admit(fingerprints)

    def __len__(self) -> int:
        return self.size

    def find(self, fingerprints: NDArray[np.uint64], most: int) -> NDArray[np.int32]:
        """Return the numbers of fingerprints; -1 for unknown ones and those from `most` on."""
        out = np.empty(len(fingerprints), np.int32)
        _admit(fingerprints, 0, *self._places, self.size, 0, True, out)
        if most < self.size:
            out[out >= most] = EMPTY
        return out

    def admit(self, fingerprints: NDArray[np.uint64], most: int | None = None) -> NDArray[np.int32]:
        """Return the numbers of fingerprints; new ones get the next, -1 once there are `most`."""
        fingerprints, out = writable(fingerprints), np.empty(len(fingerprints), np.int32)
        most = np.iinfo(np.int32).max if most is None else most
        position = 0
        while True:
            keys, numbers = self._places
            room = min(int(FULL * len(keys)), most)
            position, self.size = _admit(
                fingerprints, position, keys, numbers, self.size, room, room == most, out
            )
            if position == len(fingerprints):
                return out
            self._grow()

    def fingerprints(self, most: int | None = None) -> NDArray[np.uint64]:
        """Return the first `most` fingerprints in the order of their numbers."""
        keys, numbers = self._places
        out = np.empty(self.size, np.uint64)
        taken = numbers != EMPTY
        out[numbers[taken]] = keys[taken]
        return out[:most]

    def settle(self) -> None:
        """Give back room that was kept for more fingerprints, if it is much."""
        places = max(int(self.size / SETTLED) + 1, SMALLEST)
        if len(self._places[0]) > SPARE * places:
            self._resize(places)

    def _grow(self) -> None:
        self._resize(int(GROWTH * len(self._places[0])))

    def _resize(self, places: int) -> None:
        new = _empty(places)
        _move(*self._places, *new)
        self._places = new

    def __getstate__(self) -> dict[str, Any]:
        return {"fingerprints": self.fingerprints()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        BinTable.__init__(self, state["fingerprints"])


def _empty(places: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    # Straight from the system: tables grow again and again, and what the allocator keeps of the
    # old ones would be a quarter of the memory of a fit.
    room = np.frombuffer(mmap(-1, 12 * places), np.uint8)
    keys, numbers = room[: 8 * places].view(np.uint64), room[8 * places :].view(np.int32)
    numbers[:] = EMPTY
    return keys, numbers


@compiled(
    "UniTuple(int64, 2)(uint64[::1], int64, uint64[::1], int32[::1], int64, int64, boolean, "
    "int32[::1])"
)
def _admit(fingerprints, position, keys, numbers, size, room, closed, out):  # type: ignore[no-untyped-def]
    places = np.uint64(len(keys))
    for i in range(position, len(fingerprints)):
        key = fingerprints[i]
        mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64(((mixed >> np.uint64(32)) * places) >> np.uint64(32))
        while numbers[place] != EMPTY and keys[place] != key:
            place = np.int64(place + 1 if place + 1 < len(keys) else 0)
        if numbers[place] == EMPTY:
            if size < room:
                keys[place], numbers[place] = key, size
                size += 1
            elif not closed:
                return i, size
        out[i] = numbers[place]
    return len(fingerprints), size


@compiled("void(uint64[::1], int32[::1], uint64[::1], int32[::1])")
def _move(keys, numbers, new_keys, new_numbers):  # type: ignore[no-untyped-def]
    places = np.uint64(len(new_keys))
    for i in range(len(keys)):
        if numbers[i] != EMPTY:
            key = keys[i]
            mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            place = np.int64(((mixed >> np.uint64(32)) * places) >> np.uint64(32))
            while new_numbers[place] != EMPTY:
                place = np.int64(place + 1 if place + 1 < len(new_keys) else 0)
            new_keys[place], new_numbers[place] = key, numbers[i]
