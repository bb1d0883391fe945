"""Rows in backfitting: what they have left of their targets, and where their bins are to go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.backfitting import bend, bent_sweep, carry, hand_back, sweep, weigh
from bochner.compute.pool import each_tile
from bochner.data import Batch
from bochner.features import Group, GroupBlock
from bochner.features.codes.store import drop_pages
from bochner.losses import Quadratic, RoundedAbsolute
from bochner.problem import Problem
from bochner.solvers.conjugate_gradient import require_mass

if TYPE_CHECKING:
    from bochner.solvers.backfitting_state import BackfittingState

MOST_PARTS = 8  # each has a number for every bin
PART_ROWS = 1 << 18

Pieces = tuple[NDArray[np.int32], ...]
Table = NDArray[np.float64]


@dataclass
class Rows(ABC):
    """What is left of the targets, (outputs, rows), with the rows' weights.

    A bin's rows say by their sums how far it is to the minimum over the bin: the slopes of the
    loss over their steepness, both divided by `curvature`. Rows are worked on in the pieces that
    they were encoded in, whatever the number of threads, in a few parts whose sums are added in
    their order.
    """

    residual: Table
    weight: NDArray[np.floating]
    mass: float
    curvature: float

    rooms: ClassVar[int] = 1  # numbers that are summed for each bin

    @abstractmethod
    def loss(self) -> float:
        """Return the mean loss."""

    @abstractmethod
    def centred(self) -> NDArray[np.float64]:
        """Take from what is left a constant that lowers the loss, and return it."""

    @abstractmethod
    def walk(self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table) -> None:
        """Hand moves back to some rows for one output; add slopes, and steepness, to bins."""

    @abstractmethod
    def sweep(
        self, k: int, block: GroupBlock, pull: tuple[float, float], state: BackfittingState
    ) -> float:
        """Move one output of some grids in turn, all rows being one piece."""

    @abstractmethod
    def look(self, block: GroupBlock, state: BackfittingState) -> None:
        """See what bins there are, before their grids are walked through."""

    def steepness(self, sums: Table, place: slice) -> Table:
        """Return the steepness of the bins of a grid."""
        return sums[:, 1]

    def sums(self, grid: Group, count: int, before: Pieces, moves: Table) -> Table:
        """Hand back the moves of the grid before; return the sums, (outputs, rooms, bins)."""
        pieces = grid.pieces
        shares = np.array_split(np.arange(len(pieces)), min(len(pieces), MOST_PARTS))
        parts = np.zeros((len(self.residual), len(shares), self.rooms, count + 1))

        def work(number: int, _: int) -> None:
            k, part = divmod(number, len(shares))
            for p in shares[part]:
                rows = place_of(pieces, p)
                self.walk(k, rows, (pieces[p], before[p]), moves, parts[k, part])

        each_tile(work, parts.shape[0] * parts.shape[1], 1)
        return np.asarray(parts.sum(axis=1)[:, :, :count])

    def hand_back(self, grid: Group, moves: Table) -> None:
        """Take from the rows what their bins have moved."""
        pieces, with_none = grid.pieces, padded(moves)

        def work(number: int, _: int) -> None:
            k, p = divmod(number, len(pieces))
            hand_back(pieces[p], with_none[k], self.residual[k, place_of(pieces, p)])

        each_tile(work, len(moves) * len(pieces), 1)


@dataclass
class SquaredRows(Rows):
    """Rows of a quadratic loss, `curvature` / 2 times the squared residuals.

    `masses` are the weights of the bins' rows, as far as they are known.
    """

    masses: NDArray[np.float64] | None = None

    def loss(self) -> float:
        """Return the mean loss."""
        squares = sum(
            float(np.square(left[rows]) @ self.weight[rows])
            for left in self.residual
            for rows in _some_at_a_time(len(left))
        )
        return 0.5 * self.curvature * squares / self.mass

    def centred(self) -> NDArray[np.float64]:
        """Take the mean off what is left, and return it."""
        parts = (
            self.residual[:, rows] @ self.weight[rows].astype(np.float64)
            for rows in _some_at_a_time(len(self.weight))
        )
        means = np.asarray(sum(parts)) / self.mass
        self.residual -= means[:, None]
        return means

    def walk(self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table) -> None:
        """Sum up the residuals."""
        carry(*codes, moves[k], self.residual[k, part], self.weight[part], sums[0])

    def sweep(
        self, k: int, block: GroupBlock, pull: tuple[float, float], state: BackfittingState
    ) -> float:
        """Go through the grids in one compiled loop."""
        starts, numbers = state.basis.starts, (self.residual[k], self.weight, self.masses)
        room = np.empty((2, int(np.diff(starts)[block.numbers].max()) + 1))
        return float(
            sweep(block.codes[0].T, block.numbers, starts, *numbers, *pull, state.values[k], room)
        )

    def look(self, block: GroupBlock, state: BackfittingState) -> None:
        """Weigh the bins of grids that come for the first time."""
        if self.masses is None:
            self.masses = np.full(state.values.shape[1], np.nan)
        for grid in block.groups:
            masses = self.masses[state.place(grid)]
            if len(masses) and np.isnan(masses[0]):
                masses[:] = self._weights_of(grid, len(masses))
                drop_pages(*block.codes)

    def steepness(self, sums: Table, place: slice) -> Table:
        """Return the weights of the bins' rows."""
        assert self.masses is not None  # they have been looked at
        return self.masses[None, place]

    def _weights_of(self, grid: Group, count: int) -> NDArray[np.float64]:
        sums = np.zeros(count + 1)
        for p, code in enumerate(grid.pieces):
            weigh(code, self.weight[place_of(grid.pieces, p)], sums)
        return sums[:count]


@dataclass
class BentRows(Rows):
    """Rows of a loss that is made of absolute values with rounded kinks.

    Its steepness is that of the parabola which touches the loss where a row is and lies above it
    everywhere, so that steps up to twice as far as its minimum lower the loss
    (`losses.RoundedAbsolute`).
    """

    kind: RoundedAbsolute
    shape: Table

    rooms: ClassVar[int] = 2

    def loss(self) -> float:
        """Return the mean loss."""
        y = self.residual.T
        return float(self.kind.value(y, np.zeros_like(y)) @ self.weight / self.mass)

    def look(self, block: GroupBlock, state: BackfittingState) -> None:
        """Do nothing: how steep a bin is changes with every step."""

    def centred(self) -> NDArray[np.float64]:
        """Move all rows as if they were one bin."""
        y = self.residual.T
        zero, weight = np.zeros_like(y), self.weight.astype(np.float64)
        slopes = weight @ self.kind.gradient(y, zero)
        steep = weight @ self.kind.diagonal_bound(y, zero)
        moves = -slopes / steep
        self.residual -= moves[:, None]
        return np.asarray(moves)

    def walk(self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table) -> None:
        """Sum up slopes and steepness."""
        shape = np.ascontiguousarray(self.shape[:, k])
        bend(*codes, moves[k], self.residual[k, part], self.weight[part], shape, *sums)

    def sweep(
        self, k: int, block: GroupBlock, pull: tuple[float, float], state: BackfittingState
    ) -> float:
        """Go through the grids in one compiled loop."""
        starts, shape = state.basis.starts, np.ascontiguousarray(self.shape[:, k])
        room = np.empty((3, int(np.diff(starts)[block.numbers].max()) + 1))
        numbers = self.residual[k], self.weight, shape, *pull
        return float(
            bent_sweep(block.codes[0].T, block.numbers, starts, *numbers, state.values[k], room)
        )


def rows_of(problem: Problem, batch: Batch, intercept: NDArray[np.float64]) -> Rows:
    """Return the rows at a constant prediction."""
    assert batch.y is not None
    assert batch.weight is not None  # groups come with weights
    loss, mass = problem.loss, float(batch.weight.sum(dtype=np.float64))
    require_mass(mass)
    f = np.broadcast_to(intercept, (len(batch), len(intercept)))
    if isinstance(loss, RoundedAbsolute):
        left = np.ascontiguousarray((batch.y - f).T, np.float64)
        (shape,) = loss.row_parameters(len(left))
        return BentRows(left, batch.weight, mass, 1.0, loss, shape)
    assert isinstance(loss, Quadratic)
    curvature = loss.curvature_bound
    left = np.ascontiguousarray(loss.gradient(batch.y, f).T, np.float64)
    left /= -curvature
    return SquaredRows(left, batch.weight, mass, curvature)


def _some_at_a_time(rows: int) -> Iterator[slice]:
    """Cut rows into parts: what is made of all of them at once would take as much memory."""
    return (slice(first, first + PART_ROWS) for first in range(0, rows, PART_ROWS))


def padded(moves: Table) -> Table:
    """Return the moves with a 0 for rows without a bin."""
    return np.pad(moves, ((0, 0), (0, 1)))


def place_of(pieces: Pieces, number: int) -> slice:
    """Return which rows a piece has."""
    first = sum(map(len, pieces[:number]))
    return slice(first, first + len(pieces[number]))
