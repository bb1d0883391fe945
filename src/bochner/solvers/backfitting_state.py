"""The state of backfitting: values of bins, and how they move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.features import BinningBasis, Group, GroupBlock
from bochner.features.codes.store import drop_pages
from bochner.solvers.backfitting_rows import Rows, padded
from bochner.solvers.solver import State

Table = NDArray[np.float64]


@dataclass
class BackfittingState(State):
    """The values of the bins, (outputs, bins): weights times the height of the basis.

    `fall` is by how much the steps of the sweep under way lowered the objective, `first_fall` what
    the first grids tell of single steps from zero. Before it is `opened`, a sweep finds the
    residuals of the values there are. `seen` is how many grids it has been through.
    """

    basis: BinningBasis
    values: Table
    intercept: NDArray[np.float64]
    opened: bool
    rows: Rows | None = None
    seen: int = 0
    fall: float = 0.0
    first_fall: float = 0.0

    def place(self, grid: Group) -> slice:
        """Return where the values of a grid are."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))

    def descend(self, block: GroupBlock, step: float, alpha: float) -> float:
        """Move bins grid by grid towards the minimum over a grid; return the objective's fall.

        With s the slopes' sum in a bin, m its steepness and v its value, that is
        (s - ridge v) / (m + ridge) away, ridge = alpha mass / (curvature height^2).
        """
        assert self.rows is not None
        rows = self.rows
        pull = alpha * rows.mass / (rows.curvature * self.basis.height**2), step
        rows.look(block, self)
        few = len(block.codes) == 1
        squares = self._at_once(block, pull) if few else self._apart(block, pull)
        return float(squares * (1.0 / step - 0.5) * rows.curvature / rows.mass)

    def _at_once(self, block: GroupBlock, pull: tuple[float, float]) -> float:
        """Walk through few rows grid by grid in one compiled loop, a thread for each output."""
        assert self.rows is not None
        rows, found = self.rows, np.zeros(len(self.values))

        def work(k: int, _: int) -> None:
            found[k] = rows.sweep(k, block, pull, self)

        each_tile(work, len(found), 1)
        return float(found.sum())

    def _apart(self, block: GroupBlock, pull: tuple[float, float]) -> float:
        """Walk through many rows in pieces, which threads share."""
        assert self.rows is not None
        (ridge, step), total, before = pull, 0.0, block.groups[0]
        moves = np.zeros((len(self.values), self._count(before) + 1))
        for grid in block.groups:
            place = self.place(grid)
            values = self.values[:, place]
            sums = self.rows.sums(grid, values.shape[1], before.pieces, moves)
            steep = self.rows.steepness(sums, place) + ridge
            # A bin without weight, of held-out rows for instance, stays there without a ridge.
            shares = np.divide(step, steep, out=np.zeros_like(steep), where=steep > 0)
            moved = (sums[:, 0] - ridge * values) * shares
            values += moved
            total += float((np.square(moved) * steep).sum())
            before, moves = grid, padded(moved)
            drop_pages(*block.codes)
        self.rows.hand_back(before, moves[:, :-1])
        return total

    def _count(self, grid: Group) -> int:
        return int(self.basis.counts[grid.number])


def opened(basis: BinningBasis, values: Table, intercept: NDArray[np.float64]) -> BackfittingState:
    """Return the state before the first pass."""
    return BackfittingState(
        loss=0.0,
        moved=0.0,
        pass_losses=[],
        basis=basis,
        values=values,
        intercept=intercept,
        opened=not values.any(),
    )
