"""The state of backfitting: values of bins, what rows have left, and a move on its way to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bochner.compute.grid_moves import carry, hand_back, weigh
from bochner.compute.pool import each_tile
from bochner.data import Batch
from bochner.features import BinningBasis, Group
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

    `rows` have yet to be handed back the `moves` of the grid `before`. `fall` is by how much the
    steps of the sweep under way lowered the objective, `first_fall` what the first grid tells of
    single steps from zero. Before it is `opened`, a sweep finds the residuals of the values there
    are. `seen` is how many grids it has been through.
    """

    basis: BinningBasis
    values: Table
    intercept: NDArray[np.float64]
    opened: bool
    rows: Rows | None = None
    before: Group | None = None
    moves: Table | None = None
    seen: int = 0
    fall: float = 0.0
    first_fall: float = 0.0
    masses: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def place(self, grid: Group) -> slice:
        """Return where the values of a grid are."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))

    def descend(self, grid: Group, step: float, alpha: float) -> float:
        """Move a grid's bins towards the minimum over them; return by how much the objective fell.

        With s the residuals' sum in a bin, m its rows' weight and v its value, that is
        (s - ridge v) / (m + ridge) away, ridge = alpha mass / (curvature height^2).
        """
        assert self.rows is not None
        rows, values = self.rows, self.values[:, self.place(grid)]
        count = values.shape[1]
        if grid.number not in self.masses:
            self.masses[grid.number] = rows.weights_of(grid, count)
        if self.before is None or self.moves is None:
            self.before, self.moves = grid, np.zeros((len(values), count + 1))
        sums = rows.sums(grid, count, self.before.pieces, self.moves)
        ridge = alpha * rows.mass / (rows.curvature * self.basis.height**2)
        steep = self.masses[grid.number] + ridge
        # A bin without weight, of held-out rows for instance, stays where it is without a ridge.
        shares = np.divide(step, steep, out=np.zeros_like(steep), where=steep > 0)
        moves = (sums - ridge * values) * shares
        values += moves
        self.before, self.moves = grid, _padded(moves)
        gained = (np.square(moves) @ steep).sum() * (1.0 / step - 0.5)
        return float(gained * rows.curvature / rows.mass)

    def settle(self) -> None:
        """Hand the last moves back."""
        if self.rows is not None and self.before is not None and self.moves is not None:
            self.rows.hand_back(self.before, self.moves[:, :-1])
        self.before = self.moves = None


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
