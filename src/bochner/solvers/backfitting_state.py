"""The state of backfitting: values of bins, and what rows have left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.grid_moves import carry, hand_back, sweep, weigh
from bochner.compute.pool import each_tile
from bochner.data import Batch
from bochner.features import BinningBasis, Group, GroupBlock
from bochner.losses import Quadratic
from bochner.problem import Problem
from bochner.solvers.conjugate_gradient import require_mass
from bochner.solvers.solver import State

MOST_PARTS = 8  # each has a number for every bin

Pieces = tuple[NDArray[np.int32], ...]
Table = NDArray[np.float64]


@dataclass
class Rows:
    """What is left of the targets, (outputs, rows), with the rows' weights.

    The loss is `curvature` / 2 times the squared residuals. Rows are worked on in the pieces that
    they were encoded in, whatever the number of threads, in a few parts whose sums are added in
    their order.
    """

    residual: Table
    weight: NDArray[np.floating]
    mass: float
    curvature: float

    @classmethod
    def of(cls, problem: Problem, batch: Batch, intercept: NDArray[np.float64]) -> Rows:
        """Return the rows at a constant prediction."""
        assert isinstance(problem.loss, Quadratic)
        assert batch.y is not None
        assert batch.weight is not None  # groups come with weights
        mass, curvature = float(batch.weight.sum(dtype=np.float64)), problem.loss.curvature_bound
        require_mass(mass)
        f = np.broadcast_to(intercept, (len(batch), len(intercept)))
        residual = problem.loss.gradient(batch.y, f).T / -curvature
        return cls(np.ascontiguousarray(residual, np.float64), batch.weight, mass, curvature)

    def loss(self) -> float:
        """Return the mean loss."""
        squares = (np.square(left) @ self.weight for left in self.residual)
        return float(0.5 * self.curvature * sum(squares) / self.mass)

    def centred(self) -> NDArray[np.float64]:
        """Take the mean off what is left, and return it."""
        means = self.residual @ self.weight.astype(np.float64) / self.mass
        self.residual -= means[:, None]
        return means

    def sums(self, grid: Group, count: int, before: Pieces, moves: Table) -> Table:
        """Hand back the moves of the grid before; return the sums over the bins of this one."""
        pieces = grid.pieces
        shares = np.array_split(np.arange(len(pieces)), min(len(pieces), MOST_PARTS))
        parts = np.zeros((len(self.residual), len(shares), count + 1))

        def work(number: int, _: int) -> None:
            k, part = divmod(number, len(shares))
            for p in shares[part]:
                rows = _place(pieces, p)
                left, weight = self.residual[k, rows], self.weight[rows]
                carry(pieces[p], before[p], moves[k], left, weight, parts[k, part])

        each_tile(work, parts.shape[0] * parts.shape[1], 1)
        return np.asarray(parts.sum(axis=1)[:, :count])

    def hand_back(self, grid: Group, moves: Table) -> None:
        """Take from the rows what their bins have moved."""
        pieces, padded = grid.pieces, _padded(moves)

        def work(number: int, _: int) -> None:
            k, p = divmod(number, len(pieces))
            hand_back(pieces[p], padded[k], self.residual[k, _place(pieces, p)])

        each_tile(work, len(moves) * len(pieces), 1)

    def weights_of(self, grid: Group, count: int) -> NDArray[np.float64]:
        """Return the weight of the rows of each bin."""
        sums = np.zeros(count + 1)
        for p, code in enumerate(grid.pieces):
            weigh(code, self.weight[_place(grid.pieces, p)], sums)
        return sums[:count]


@dataclass
class BackfittingState(State):
    """The values of the bins, (outputs, bins): weights times the height of the basis.

    `fall` is by how much the steps of the sweep under way lowered the objective, `first_fall` what
    the first grids tell of single steps from zero. Before it is `opened`, a sweep finds the
    residuals of the values there are. `seen` is how many grids it has been through, `masses` are
    the weights of the bins' rows, as far as they are known.
    """

    basis: BinningBasis
    values: Table
    intercept: NDArray[np.float64]
    opened: bool
    rows: Rows | None = None
    seen: int = 0
    fall: float = 0.0
    first_fall: float = 0.0
    masses: NDArray[np.float64] | None = None

    def place(self, grid: Group) -> slice:
        """Return where the values of a grid are."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))

    def descend(self, block: GroupBlock, step: float, alpha: float) -> float:
        """Move bins grid by grid towards the minimum over a grid; return the objective's fall.

        With s the residuals' sum in a bin, m its rows' weight and v its value, that is
        (s - ridge v) / (m + ridge) away, ridge = alpha mass / (curvature height^2).
        """
        assert self.rows is not None
        rows = self.rows
        ridge = alpha * rows.mass / (rows.curvature * self.basis.height**2)
        if self.masses is None:
            self.masses = np.full(self.values.shape[1], np.nan)
        for grid in block.groups:
            masses = self.masses[self.place(grid)]
            if len(masses) and np.isnan(masses[0]):
                masses[:] = rows.weights_of(grid, len(masses))
        few = len(block.codes) == 1
        squares = self._at_once(block, step, ridge) if few else self._apart(block, step, ridge)
        return float(squares * (1.0 / step - 0.5) * rows.curvature / rows.mass)

    def _at_once(self, block: GroupBlock, step: float, ridge: float) -> float:
        """Walk through few rows grid by grid in one compiled loop, a thread for each output."""
        assert self.rows is not None
        rows, starts = self.rows, self.basis.starts
        codes, order, masses = block.codes[0].T, block.numbers, self.masses
        found = np.zeros(len(self.values))
        room = int(np.diff(starts)[order].max()) + 1

        def work(k: int, _: int) -> None:
            numbers = rows.residual[k], rows.weight, masses, ridge, step
            found[k] = sweep(codes, order, starts, *numbers, self.values[k], np.empty((2, room)))

        each_tile(work, len(found), 1)
        return float(found.sum())

    def _apart(self, block: GroupBlock, step: float, ridge: float) -> float:
        """Walk through many rows in pieces, which threads share."""
        assert self.rows is not None
        assert self.masses is not None
        total, before = 0.0, block.groups[0]
        moves = np.zeros((len(self.values), self._count(before) + 1))
        for grid in block.groups:
            values, masses = self.values[:, self.place(grid)], self.masses[self.place(grid)]
            sums = self.rows.sums(grid, values.shape[1], before.pieces, moves)
            steep = masses + ridge
            # A bin without weight, of held-out rows for instance, stays there without a ridge.
            shares = np.divide(step, steep, out=np.zeros_like(steep), where=steep > 0)
            moved = (sums - ridge * values) * shares
            values += moved
            total += float((np.square(moved) @ steep).sum())
            before, moves = grid, _padded(moved)
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


def _padded(moves: Table) -> Table:
    """Return the moves with a 0 for rows without a bin."""
    return np.pad(moves, ((0, 0), (0, 1)))


def _place(pieces: Pieces, number: int) -> slice:
    """Return which rows a piece has."""
    first = sum(map(len, pieces[:number]))
    return slice(first, first + len(pieces[number]))
