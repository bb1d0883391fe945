"""Hash values of the grid cells that rows lie in, and a hash table that numbers them."""

from __future__ import annotations

from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.records import require_sound

# Adding 1.5 * 2^52 rounds to a whole number, which is then in the low bits of the double.
ROUND = 6755399441055744.0
FURTHEST = 2.0**51  # larger whole numbers would be wrong
TILE = 1024  # rows whose fingerprints fit into the L1 cache
FILLED = 4  # a column is dense if more than a quarter of it is not zero
SMALLEST = 64
MOST_LOAD = 0.75  # the load at which the table grows
GROWTH = 1.6
FINAL_LOAD = 0.65  # the load after `shrink`: less memory, longer searches
SPARE = 1.1  # a table up to this factor too large is not shrunk
EMPTY = -1
MULTIPLIER, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # 2^64 / golden ratio; bits
QUICK_IN_ANY_ORDER = 1 << 13  # fingerprints
BUCKET = 256  # fingerprints that share a part of the table, on average
# 8 standard deviations more: a table that is 59% full has room for 1.7 times as many.
MOST_IN_BUCKET = 1.5 * BUCKET
ROUND_BITS = int(np.float64(ROUND).view(np.uint64))

Codes = NDArray[np.int32]  # (grids, rows): the number of a row's bin in each grid, -1 if unknown


class Columns(NamedTuple):
    """Rows by columns: dense columns as (columns, rows), and the entries of sparse columns.

    Entry e of the sparse columns is `values[e]` at row `rows[e]` and column `columns[e]`; others
    are 0. A table of one-hot columns costs no more than its non-zeros.
    """

    filled: NDArray[Any]
    filled_columns: NDArray[np.int32]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Sort dense or CSR rows of float32 or float64 by columns."""
        if sp.issparse(X):
            return cls._of_sparse(X)
        X = writable(X)
        counts = np.zeros(X.shape[1], np.int64)
        _count(X, counts)
        many = counts * FILLED > len(X)
        filled = np.empty((int(many.sum()), len(X)), X.dtype)
        entries = int(counts[~many].sum())
        rows, columns = np.empty(entries, np.int32), np.empty(entries, np.int32)
        values = np.empty(entries, X.dtype)
        places = np.where(many, np.cumsum(many) - 1, -1).astype(np.int64)
        _sort(X, places, filled, rows, columns, values)
        return cls(filled, np.flatnonzero(many).astype(np.int32), rows, columns, values)

    @classmethod
    def _of_sparse(cls, X: Any) -> Columns:
        rows = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))
        nothing = np.empty((0, X.shape[0]), X.dtype)
        columns = X.indices.astype(np.int32, copy=False)
        return cls(nothing, np.empty(0, np.int32), rows, writable(columns), writable(X.data))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.filled.shape[1])


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as contiguous, writable memory, as compiled loops require."""
    return np.require(array, requirements=["C", "W"])


def fingerprints(
    columns: Columns,
    inverse: NDArray[np.float64],
    shift: NDArray[np.float64],
    multiplier: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """Return sum_j multiplier_j * round(x_j * inverse_j - shift_j) modulo 2^64 for every row.

    With random multipliers two different vectors of whole numbers have the same sum with
    probability 2^-64, or slightly more if all their differences are even (multilinear hashing).
    """
    out = np.empty(columns.n_rows, np.uint64)
    grid = writable(inverse), writable(shift), writable(multiplier)
    _fingerprints(*columns, *grid, out)
    return out


@compiled("void(float32[:, ::1], int64[::1])", "void(float64[:, ::1], int64[::1])")
def _count(X, counts):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            counts[j] += X[i, j] != 0


@compiled(
    "void(float32[:, ::1], int64[::1], float32[:, ::1], int32[::1], int32[::1], float32[::1])",
    "void(float64[:, ::1], int64[::1], float64[:, ::1], int32[::1], int32[::1], float64[::1])",
)
def _sort(X, places, filled, rows, columns, values):  # type: ignore[no-untyped-def]
    entry = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if places[j] >= 0:
                filled[places[j], i] = X[i, j]
            elif X[i, j] != 0:
                rows[entry], columns[entry], values[entry] = i, j, X[i, j]
                entry += 1


# Contracted products would round differently in the two loops below: one row in two bins.
@compiled(
    "void(float32[:, ::1], int32[::1], int32[::1], int32[::1], float32[::1], "
    "float64[::1], float64[::1], uint64[::1], uint64[::1])",
    "void(float64[:, ::1], int32[::1], int32[::1], int32[::1], float64[::1], "
    "float64[::1], float64[::1], uint64[::1], uint64[::1])",
    fastmath=False,
)
def _fingerprints(filled, filled_columns, rows, columns, values, inverse, shift, multiplier, out):  # type: ignore[no-untyped-def]
    zeros = np.empty(len(inverse), np.uint64)
    total = np.uint64(0)
    for j in range(len(inverse)):
        zeros[j] = np.uint64(np.int64((-shift[j] + ROUND) - ROUND))
        total += zeros[j] * multiplier[j]
    for c in range(len(filled_columns)):
        j = filled_columns[c]
        total -= (zeros[j] + np.uint64(ROUND_BITS)) * multiplier[j]
    space = np.empty(TILE)
    bits = space.view(np.uint64)
    for top in range(0, len(out), TILE):
        height = min(TILE, len(out) - top)
        sums = out[top : top + height]
        sums[:] = total
        for c in range(len(filled_columns)):
            j = filled_columns[c]
            column, scale, offset, factor = filled[c], inverse[j], shift[j], multiplier[j]
            for i in range(height):
                space[i] = (column[top + i] * scale - offset) + ROUND
            for i in range(height):
                sums[i] += bits[i] * factor
    for e in range(len(rows)):
        j = columns[e]
        number = np.uint64(np.int64(((values[e] * inverse[j] - shift[j]) + ROUND) - ROUND))
        out[rows[e]] += (number - zeros[j]) * multiplier[j]


class BinTable:
    """Fingerprints and their numbers 0, 1, 2, ... by open addressing with linear probing.

    It takes 12 bytes a slot, with a load of 47% to 75%, at least 59% after `shrink`. Fingerprints
    are never removed, so the first n remain those of an earlier, smaller table.

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
            room = min(int(MOST_LOAD * len(keys)), most)
            position, self.size = _admit(
                fingerprints, position, keys, numbers, self.size, room, room == most, out
            )
            if position == len(fingerprints):
                return out
            self._resize(int(GROWTH * len(keys)))

    def fingerprints(self, most: int | None = None) -> NDArray[np.uint64]:
        """Return the first `most` fingerprints in the order of their numbers."""
        keys, numbers = self._places
        out = np.empty(self.size, np.uint64)
        taken = numbers != EMPTY
        out[numbers[taken]] = keys[taken]
        return out[:most]

    def shrink(self) -> None:
        """Release spare slots, if there are many."""
        places = max(int(self.size / FINAL_LOAD) + 1, SMALLEST)
        if len(self._places[0]) > SPARE * places:
            self._resize(places)

    def _resize(self, places: int) -> None:
        new = _empty(places)
        _move(*self._places, *new)
        self._places = new

    def __getstate__(self) -> dict[str, Any]:
        return {"fingerprints": self.fingerprints()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        BinTable.__init__(self, state["fingerprints"])


def require_spread(fingerprints: NDArray[np.uint64]) -> None:
    """Raise ValueError for stored fingerprints that were chosen to collide: tables would be slow.

    >>> require_spread(np.arange(20_000, dtype=np.uint64) * np.uint64(0x2545F4914F6CDD1D))
    """
    if fingerprints.dtype != np.uint64 or fingerprints.size <= QUICK_IN_ANY_ORDER:
        return
    buckets = np.uint64(fingerprints.size // BUCKET)
    with np.errstate(over="ignore"):
        mixed = (fingerprints ^ (fingerprints >> HALF)) * MULTIPLIER  # as in `_first_place`
    counts = np.bincount((((mixed >> HALF) * buckets) >> HALF).astype(np.int64).ravel())
    require_sound(counts.max() <= MOST_IN_BUCKET, "its fingerprints are not those of any rows")


def _empty(places: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    # Directly from the system: tables grow repeatedly, and the memory that the allocator keeps of
    # old ones would be a quarter of that of a fit.
    room = np.frombuffer(mmap(-1, 12 * places), np.uint8)
    keys, numbers = room[: 8 * places].view(np.uint64), room[8 * places :].view(np.int32)
    numbers[:] = EMPTY
    return keys, numbers


@compiled("int64(uint64, uint64)")
def _first_place(key, places):  # type: ignore[no-untyped-def]
    mixed = (key ^ (key >> HALF)) * MULTIPLIER
    return np.int64(((mixed >> HALF) * places) >> HALF)


@compiled(
    "UniTuple(int64, 2)(uint64[::1], int64, uint64[::1], int32[::1], int64, int64, boolean, "
    "int32[::1])"
)
def _admit(fingerprints, position, keys, numbers, size, room, closed, out):  # type: ignore[no-untyped-def]
    places = np.uint64(len(keys))
    for i in range(position, len(fingerprints)):
        key = fingerprints[i]
        place = _first_place(key, places)
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
            place = _first_place(key, places)
            while new_numbers[place] != EMPTY:
                place = np.int64(place + 1 if place + 1 < len(new_keys) else 0)
            new_keys[place], new_numbers[place] = key, numbers[i]
