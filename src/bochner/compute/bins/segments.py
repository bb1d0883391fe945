"""Sums over the rows of each bin of a grid, minima of bins, and updates of rows by their bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile
from bochner.records import Validated, require_sound

Table = NDArray[np.float64]  # (rows, width)

TILE_ENTRIES = 16_384
TILE_BINS = 32_768
TILE_PICKS = 131_072
FEWEST_PARTS, MOST_PARTS = 2, 16
MANY_ENTRIES = 131_072  # of a part: Python code between parts blocks the other threads
FEWEST_ENTRIES = 16_384  # of each of two parts: fewer are done before another thread wakes up
SUMS = (
    "void(int32[::1], int32[::1], float32[:, ::1], int64, float64[:, ::1])",
    "void(int32[::1], int32[::1], float64[:, ::1], int64, float64[:, ::1])",
)
# Over-relaxation: below 2 a quadratic still decreases, and correlated blocks need half the passes
# (Young 1954, Iterative methods for solving partial difference equations).
RELAXATION = 1.5


@dataclass(frozen=True)
class Entries(Validated):
    """Rows with their bins: row `rows[e]` lies in bin `bins[e]` of `count` bins.

    Rows are distinct and in increasing order.
    """

    rows: NDArray[np.int32]
    bins: NDArray[np.int32]
    count: int

    def validate(self) -> None:
        """Check that each entry has a row and one of the bins."""
        for part in (self.rows, self.bins):
            require_sound(part.ndim == 1 and part.dtype == np.int32, "its entries are not lists")
            require_sound(bool((part >= 0).all()), "an entry is negative")
        require_sound(len(self.rows) == len(self.bins), "rows and bins differ in number")
        inside = bool((self.bins < self.count).all())
        require_sound(inside, "an entry has a bin out of range")

    def __len__(self) -> int:
        return len(self.rows)

    def parts(self, width: int) -> tuple[int, Table]:
        """Return the number of entries of a part, and zeros for the sums of the parts.

        The number of parts depends only on the numbers of entries and bins. One thread works on a
        part, and sums of parts are added in order.
        """
        height = part_entries(len(self), self.count)
        return height, np.zeros((max(1, -(-len(self) // height)), self.count, width))

    def sums(self, table: NDArray[Any], first: int, width: int) -> Table:
        """Return sums over the rows of each bin of `width` columns of a table, (bins, width)."""
        height, parts = self.parts(width)
        loop = {1: _sum_one, 2: _sum_two}.get(width, _sum)

        def add(top: int, bottom: int) -> None:
            loop(self.rows[top:bottom], self.bins[top:bottom], table, first, parts[top // height])

        each_tile(add, len(self), height)
        return sum_parts(parts)

    def select(self, numbers: NDArray[np.int64]) -> Entries:
        """Return the entries of these bins, which are renumbered."""
        places = _places(numbers, self.count)

        def pick(part: slice, *room: NDArray[np.int32]) -> Any:
            return _pick(self.rows[part], self.bins[part], places, *room)

        return Entries(*_collect(pick, len(self)), len(numbers))

    def shift(self, moves: Table, f: Table) -> None:
        """Add to the row of `f` of each entry the row of `moves` (bins, outputs) of its bin."""

        def add(top: int, bottom: int) -> None:
            _shift(self.rows[top:bottom], self.bins[top:bottom], moves, f)

        each_tile(add, len(self), TILE_ENTRIES)


@dataclass(frozen=True)
class GridColumn:
    """All rows of a grid: row i lies in bin `bins[i]` of `count` bins, in none if that is -1."""

    bins: NDArray[np.int32]
    count: int

    def active_bins(self, table: NDArray[Any], weights: Table, least: float) -> NDArray[np.int64]:
        """Return the bins that have a nonzero weight or a slope above `least`.

        The slope is the sum of the first columns of the table over the rows of a bin.
        """
        height = part_entries(len(self.bins), self.count)
        parts = np.zeros((max(1, -(-len(self.bins) // height)), *weights.shape))
        active = np.zeros(self.count, np.bool_)
        loop = _sum_column_one if weights.shape[1] == 1 else _sum_column

        def add(top: int, bottom: int) -> None:
            loop(self.bins[top:bottom], table[top:bottom], parts[top // height])

        def mark(top: int, bottom: int) -> None:
            some = slice(top, bottom)
            _mark_active(parts[:, some], weights[some], least, active[some])

        each_tile(add, len(self.bins), height)
        each_bins(mark, self.count)
        return np.flatnonzero(active)

    def select(self, numbers: NDArray[np.int64]) -> Entries:
        """Return the entries of these bins, which are renumbered."""
        places = _places(numbers, self.count)

        def pick(part: slice, *room: NDArray[np.int32]) -> Any:
            return _pick_all(part.start, self.bins[part], places, *room)

        return Entries(*_collect(pick, len(self.bins)), len(numbers))


def part_entries(entries: int, bins: int) -> int:
    """Return the number of entries of a part of a sum: more bins make parts more expensive."""
    most = max(min(2, entries // FEWEST_ENTRIES), entries // MANY_ENTRIES)
    parts = max(1, min(max(entries // max(2 * bins, 1), FEWEST_PARTS), MOST_PARTS, most))
    parts = 1 << (parts.bit_length() - 1)  # a power of two, so that two threads get equal shares
    return -(-max(1, entries) // parts)


def sum_parts(parts: Table) -> Table:
    """Return the sum of the parts, in order."""
    total: Table = parts[0]

    def add(top: int, bottom: int) -> None:
        for part in parts[1:]:
            total[top:bottom] += part[top:bottom]

    each_bins(add, len(total))
    return total


def _places(numbers: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """Return the position of each of `count` bins among the numbers, -1 if absent."""
    places = np.full(count, -1, np.int32)
    places[numbers] = np.arange(len(numbers))
    return places


def _collect(pick: Callable[..., Any], entries: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows and bins of the selected entries, tile by tile.

    pick(part, rows, bins) writes them to the arrays and returns their number.
    """
    room, found = np.empty((2, entries), np.int32), np.zeros(entries // TILE_PICKS + 1, np.int64)

    def work(top: int, bottom: int) -> None:
        part = slice(top, bottom)
        found[top // TILE_PICKS] = pick(part, *room[:, part])

    each_tile(work, entries, TILE_PICKS)
    parts = [slice(k * TILE_PICKS, k * TILE_PICKS + size) for k, size in enumerate(found)]
    rows, bins = (np.concatenate([side[part] for part in parts]) for side in room)
    return rows, bins


def each_bins(work: Callable[[int, int], None], bins: int) -> None:
    """Work on tiles of bins; a single tile is not worth a call of the pool."""
    if bins <= TILE_BINS:
        work(0, bins)
    else:
        each_tile(work, bins, TILE_BINS)


@compiled(*SUMS)
def _sum(rows, bins, table, first, sums):  # type: ignore[no-untyped-def]
    for e in range(len(rows)):
        for k in range(sums.shape[1]):
            sums[bins[e], k] += table[rows[e], first + k]


@compiled(*SUMS)
def _sum_one(rows, bins, table, first, sums):  # type: ignore[no-untyped-def]
    for e in range(len(rows)):
        sums[bins[e], 0] += table[rows[e], first]


@compiled(*SUMS)
def _sum_two(rows, bins, table, first, sums):  # type: ignore[no-untyped-def]
    for e in range(len(rows)):
        row, b = np.uint32(rows[e]), np.uint32(bins[e])
        sums[b, 0] += table[row, first]
        sums[b, 1] += table[row, first + 1]


@compiled("int64(int32[::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def _pick(rows, bins, places, out_rows, out_bins):  # type: ignore[no-untyped-def]
    found = 0
    for e in range(len(rows)):
        place = places[bins[e]]
        out_rows[found], out_bins[found] = rows[e], place
        found += place >= 0
    return found


@compiled("int64(int64, int32[::1], int32[::1], int32[::1], int32[::1])")
def _pick_all(first, bins, places, out_rows, out_bins):  # type: ignore[no-untyped-def]
    found = 0
    for e in range(len(bins)):
        place = places[bins[e]] if bins[e] >= 0 else -1
        out_rows[found], out_bins[found] = first + e, place
        found += place >= 0
    return found


@compiled("void(int32[::1], float32[:, ::1], float64[:, ::1])")
def _sum_column(bins, table, sums):  # type: ignore[no-untyped-def]
    for e in range(len(bins)):
        if bins[e] >= 0:
            for k in range(sums.shape[1]):
                sums[bins[e], k] += table[e, k]


@compiled("void(int32[::1], float32[:, ::1], float64[:, ::1])")
def _sum_column_one(bins, table, sums):  # type: ignore[no-untyped-def]
    for e in range(len(bins)):
        if bins[e] >= 0:
            sums[np.uint32(bins[e]), 0] += table[e, 0]


@compiled("void(float64[:, :, :], float64[:, ::1], float64, boolean[::1])")
def _mark_active(parts, weights, least, active):  # type: ignore[no-untyped-def]
    for b in range(len(active)):
        for k in range(weights.shape[1]):
            slope = 0.0
            for part in range(len(parts)):
                slope += parts[part, b, k]
            active[b] = active[b] or abs(slope) > least or weights[b, k] != 0.0


@compiled("void(int32[::1], int32[::1], float64[:, ::1], float64[:, ::1])")
def _shift(rows, bins, moves, f):  # type: ignore[no-untyped-def]
    for e in range(len(rows)):
        for k in range(f.shape[1]):
            f[rows[e], k] += moves[bins[e], k]


@dataclass(frozen=True)
class Minimum:
    """New weights of bins, and the increase of each bin's penalty.

    `change` is the total change of g d + h d^2 / 2, and `steepest` the largest |g|.
    """

    weights: Table
    penalty_rise: NDArray[np.float64]
    change: float
    steepest: float

    @property
    def fall(self) -> float:
        """The decrease of quadratic plus penalty."""
        return -self.change - float(self.penalty_rise.sum())


def minimize_bins(sums: Table, weights: Table, l1: float, l2: float) -> Minimum:
    """Return for each bin the v that minimises g d + h d^2 / 2 + l1 |v| + l2 / 2 v^2, d = v - w.

    A weight that keeps its sign is over-relaxed by the factor `RELAXATION`. `sums` holds g and then
    h of each output.
    """
    target, penalty_rise = np.empty_like(weights), np.zeros(len(weights))
    changes = np.zeros((max(1, -(-len(weights) // TILE_BINS)), 2))

    def minimize(top: int, bottom: int) -> None:
        part, change = slice(top, bottom), changes[top // TILE_BINS]
        _minimize(sums[part], weights[part], l1, l2, target[part], penalty_rise[part], change)

    each_bins(minimize, len(weights))
    return Minimum(target, penalty_rise, float(changes[:, 0].sum()), float(changes[:, 1].max()))


@compiled(
    "void(float64[:, ::1], float64[:, ::1], float64, float64, float64[:, ::1], float64[::1], "
    "float64[::1])"
)
def _minimize(sums, weights, l1, l2, target, penalty_rise, changes):  # type: ignore[no-untyped-def]
    outputs = weights.shape[1]
    for b in range(weights.shape[0]):
        for k in range(outputs):
            g, h, w = sums[b, k], sums[b, outputs + k], weights[b, k]
            pull, stiffness, v = h * w - g, h + l2, 0.0
            if stiffness > 0 and abs(pull) > l1:
                v = (pull - l1 if pull > 0 else pull + l1) / stiffness
                further = w + RELAXATION * (v - w)
                if w * v > 0 and further * v > 0:
                    v = further
            d = v - w
            changes[0] += (g + 0.5 * h * d) * d
            changes[1] = max(changes[1], abs(g))
            penalty_rise[b] += l1 * (abs(v) - abs(w)) + 0.5 * l2 * (v * v - w * w)
            target[b, k] = v
