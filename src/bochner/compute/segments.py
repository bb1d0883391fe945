"""Segments: sums over the rows of each bin of a grid, and what the bins hand back to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile

Table = NDArray[np.float64]  # (rows, width): numbers that each row has

TILE_ENTRIES = 16_384
TILE_BINS = 8192
# Longer than to the minimum: below 2 a quadratic still falls, and blocks that resemble each other
# need half the passes (Young 1954, Iterative methods for solving partial difference equations).
RELAXATION = 1.5
FEWEST_PARTS, MOST_PARTS = 4, 16
FEWEST_ENTRIES = 2048  # of a part: fewer are not worth a thread
SUMS = (
    "void(int32[::1], int32[::1], float32[:, ::1], int64, float64[:, ::1])",
    "void(int32[::1], int32[::1], float64[:, ::1], int64, float64[:, ::1])",
)


@dataclass(frozen=True)
class Entries:
    """Rows with the bin that each lies in: row `rows[e]` in bin `bins[e]` of `count` bins.

    No row comes twice, and the rows are in their order.
    """

    rows: NDArray[np.int32]
    bins: NDArray[np.int32]
    count: int

    def __len__(self) -> int:
        return len(self.rows)

    def parts(self, width: int) -> tuple[int, Table]:
        """Return how many entries a part has, and room for the parts' sums.

        The number of parts depends on the numbers of entries and bins only. A part is worked on
        by one thread, and their sums are added in their order.
        """
        height = part_entries(len(self), self.count)
        return height, np.zeros((max(1, -(-len(self) // height)), self.count, width))

    def sums(self, table: NDArray[Any], first: int, width: int) -> Table:
        """Return the sums over the rows of each bin of some columns of a table, (bins, width)."""
        height, parts = self.parts(width)
        loop = {1: _sum_one, 2: _sum_two}.get(width, _sum)

        def add(top: int, bottom: int) -> None:
            loop(self.rows[top:bottom], self.bins[top:bottom], table, first, parts[top // height])

        each_tile(add, len(self), height)
        return joined(parts)

    def picked(self, chosen: NDArray[np.bool_]) -> Entries:
        """Return the entries of the chosen bins, which are numbered anew."""
        height = part_entries(len(self), self.count)
        numbers = (np.cumsum(chosen) - 1).astype(np.int32)
        parts: list[Any] = [None] * max(1, -(-len(self) // height))
        parts[0] = self.rows[:0], self.bins[:0]

        def pick(top: int, bottom: int) -> None:
            rows, bins = np.empty((2, bottom - top), np.int32)
            found = _pick(self.rows[top:bottom], self.bins[top:bottom], chosen, numbers, rows, bins)
            parts[top // height] = rows[:found].copy(), bins[:found].copy()

        each_tile(pick, len(self), height)
        rows, bins = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        return Entries(rows, bins, int(chosen.sum()))

    def shift(self, moves: Table, f: Table) -> None:
        """Add to the row of `f` of each entry the row of `moves` (bins, outputs) of its bin."""

        def add(top: int, bottom: int) -> None:
            _shift(self.rows[top:bottom], self.bins[top:bottom], moves, f)

        each_tile(add, len(self), TILE_ENTRIES)


def part_entries(entries: int, bins: int) -> int:
    """Return how many entries a part of a sum has: more bins make parts dearer."""
    most = min(MOST_PARTS, entries // FEWEST_ENTRIES)
    parts = max(1, min(max(entries // max(bins, 1), FEWEST_PARTS), most))
    return max(1, -(-entries // parts))


def minimized(sums: Table, weights: Table, l1: float, l2: float) -> tuple[Table, Table]:
    """Return for each bin the v that minimises g d + h d^2 / 2 + l1 |v| + l2 / 2 v^2, d = v - w.

    A weight that keeps its sign goes further by half of its way.
    `sums` holds g and then h of each output. The second result is by how much g d + h d^2 / 2
    changes in all, by how much the penalty does, and the largest |g|.
    """
    target = np.empty_like(weights)
    changes = np.zeros((max(1, -(-len(weights) // TILE_BINS)), 3))

    def minimize(top: int, bottom: int) -> None:
        part = slice(top, bottom)
        _minimize(sums[part], weights[part], l1, l2, target[part], changes[top // TILE_BINS])

    _each_bins(minimize, len(weights))
    total = changes.sum(axis=0)
    total[2] = changes[:, 2].max(initial=0.0)
    return target, total


def joined(parts: Table) -> Table:
    """Return the sum of the parts, in their order."""
    total: Table = parts[0]

    def add(top: int, bottom: int) -> None:
        for part in parts[1:]:
            total[top:bottom] += part[top:bottom]

    _each_bins(add, len(total))
    return total


def _each_bins(work: Callable[[int, int], None], bins: int) -> None:
    """Work on tiles of bins; one tile alone is not worth a call of the pool."""
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
        row, b = rows[e], bins[e]
        sums[b, 0] += table[row, first]
        sums[b, 1] += table[row, first + 1]


@compiled(
    "int64(int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1], int32[::1])",
)
def _pick(rows, bins, chosen, numbers, out_rows, out_bins):  # type: ignore[no-untyped-def]
    found = 0
    for e in range(len(rows)):
        out_rows[found], out_bins[found] = rows[e], numbers[bins[e]]
        found += chosen[bins[e]]
    return found


@compiled("void(int32[::1], int32[::1], float64[:, ::1], float64[:, ::1])")
def _shift(rows, bins, moves, f):  # type: ignore[no-untyped-def]
    for e in range(len(rows)):
        for k in range(f.shape[1]):
            f[rows[e], k] += moves[bins[e], k]


@compiled("void(float64[:, ::1], float64[:, ::1], float64, float64, float64[:, ::1], float64[::1])")
def _minimize(sums, weights, l1, l2, target, changes):  # type: ignore[no-untyped-def]
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
            changes[1] += l1 * (abs(v) - abs(w)) + 0.5 * l2 * (v * v - w * w)
            changes[2] = max(changes[2], abs(g))
            target[b, k] = v
