"""Descent in all bins of one grid at once: no row has two of them, so they do not disturb."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.minima import minimized
from bochner.compute.bins.segments import TILE_ENTRIES, Column, Entries, Table, joined
from bochner.compute.pool import each_tile, sum_tiles
from bochner.losses import Quadratic, Smooth
from bochner.solvers.penalty import Penalty

FLATTEST = 0.01  # of the curvature bound: a flatter loss would make steps that are never kept
ROUNDING = 1e-14  # of the mean loss: a rise below is none


@dataclass
class FittedRows:
    """All rows with their predictions f, and what the loss says of them.

    `table` holds the slopes and curvatures of each row times its weight; `mass` is the sum of the
    weights, and `total` the mean loss.
    """

    f: Table
    table: NDArray[np.float32]
    mass: float
    total: float


@dataclass(frozen=True)
class Bins:
    """Bins of a grid: the entries of their rows, and their weights (bins, outputs).

    A bin's function is `height` at its rows.
    """

    entries: Entries
    weights: Table
    height: float
    penalty: Penalty


@dataclass(frozen=True)
class Descent:
    """A step in bins of a grid, for rows with targets `y` and weights `weight`.

    With g and h the sums over a bin's rows of the loss's first and second derivatives, times the
    height and its square, over the mass: each weight goes to the minimum of the quadratic with
    this slope and curvature plus the penalty (Wu, Yen et al. 2016, Eq. 26, with h in place of a
    constant), or half as far again where it keeps its sign. For a quadratic loss that is the
    minimum over the grid, over-relaxed; it falls all the same. Otherwise the bins whose objective
    rose take the curvature bound for h instead, with which it cannot rise.

    The outputs of a bin move together; where they disturb each other the loss has a diagonal
    bound. Only rows whose bin moved are looked at again.
    """

    loss: Smooth
    y: NDArray[Any]
    weight: NDArray[Any]

    def rows_at(self, f: Table) -> FittedRows:
        """Return the rows with given predictions."""
        table = np.empty((len(f), 2 * f.shape[1]), np.float32)

        def fill(top: int, bottom: int) -> NDArray[np.float64]:
            part = slice(top, bottom)
            y, weight = self.y[part], self.weight[part]
            table[part] = weight[:, None] * self.loss.derivatives(y, f[part], self._floor)
            losses = weight * self.loss.value(y, f[part])
            return np.array([losses.sum(), weight.sum(dtype=np.float64)])

        total, mass = sum_tiles(fill, len(f), TILE_ENTRIES, (2,))
        return FittedRows(f, table, float(mass), float(total / mass))

    def steep(
        self, rows: FittedRows, column: Column, weights: Table, height: float, l1: float
    ) -> NDArray[np.int64]:
        """Return the bins that have a weight, or |g| above `l1` so that they get one."""
        return column.steep(rows.table, weights, l1 * rows.mass / height)

    def sums(self, rows: FittedRows, bins: Bins) -> Table:
        """Return g and h of each bin and output."""
        outputs, factor = rows.f.shape[1], bins.height / rows.mass
        sums = bins.entries.sums(rows.table, 0, 2 * outputs)
        sums[:, :outputs] *= factor
        sums[:, outputs:] *= factor * bins.height
        return sums

    def take(self, rows: FittedRows, bins: Bins) -> tuple[Table, float]:
        """Move the predictions; return the new weights, and by how much the model fell."""
        if not len(self.y) == len(rows.f) == len(rows.table):
            raise ValueError(f"There are {len(self.y)} rows; the state is of {len(rows.f)}.")
        sums, penalty = self.sums(rows, bins), bins.penalty
        minimum = minimized(sums, bins.weights, penalty.l1, penalty.l2)
        rises = self._moved(rows, bins, minimum.weights - bins.weights) + minimum.paid
        if not isinstance(self.loss, Quadratic):
            rose = np.flatnonzero(rises > ROUNDING * rows.total)
            if len(rose) > 0:
                self._mend(rows, bins, sums, minimum.weights, rose)
        return minimum.weights, minimum.fall

    def _mend(
        self, rows: FittedRows, bins: Bins, sums: Table, target: Table, rose: NDArray[np.int64]
    ) -> None:
        """Where the objective rose, take the curvature bound instead."""
        few = replace(bins, entries=bins.entries.picked(rose), weights=bins.weights[rose])
        mended = self._bounded(rows, few, sums[rose])
        self._moved(rows, few, mended - target[rose])
        target[rose] = mended

    def _moved(self, rows: FittedRows, bins: Bins, by: Table) -> NDArray[np.float64]:
        """Add to the predictions; return by how much the mean loss rose in each bin."""
        entries, moves = bins.entries, bins.height * by
        height, rises = entries.parts(1)

        def move(top: int, bottom: int) -> None:
            some, places = entries.rows[top:bottom], entries.bins[top:bottom]
            noted = rows.table, rises[top // height, :, 0]
            self.loss.move(self.y, rows.f, self.weight, some, places, moves, self._floor, *noted)

        each_tile(move, len(entries), height)
        total = joined(rises)[:, 0] / rows.mass
        rows.total += float(total.sum())
        return np.asarray(total)

    def _bounded(self, rows: FittedRows, bins: Bins, sums: Table) -> Table:
        """Return the weights to which the curvature bound leads."""
        outputs, penalty = bins.weights.shape[1], bins.penalty
        factor = self.loss.curvature_bound * bins.height**2 / rows.mass
        bound = factor * bins.entries.sums(self.weight[:, None], 0, 1)
        steeper = np.hstack([sums[:, :outputs], np.repeat(bound, outputs, axis=1)])
        return minimized(steeper, bins.weights, penalty.l1, penalty.l2).weights

    @property
    def _floor(self) -> float:
        return FLATTEST * self.loss.curvature_bound
