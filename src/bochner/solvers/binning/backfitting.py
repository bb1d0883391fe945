"""Backfitting: regression on bins, one grid after the other, a part of the way each time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.backfitting import (
    accumulate_majorizer,
    accumulate_residuals,
    accumulate_weights,
    majorizer_sweep,
    subtract_moves,
    sweep,
)
from bochner.compute.pool import each_tile
from bochner.data import Batch
from bochner.data.storage import drop_pages
from bochner.features import BinningBasis, Group, GroupBlock
from bochner.losses import Quadratic, RoundedAbsolute
from bochner.problem import Expansion, Problem
from bochner.solvers.initialization import best_constant
from bochner.solvers.passes.conjugate_gradient import require_mass, require_tolerance, ridge_of
from bochner.solvers.solver import Solver, State

MOST_PARTS = 8  # each has a number for every bin
PART_ROWS = 1 << 18
BATCH_ROWS = 65_536  # that one thread works on


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
            subtract_moves(pieces[p], with_none[k], self.residual[k, place_of(pieces, p)])

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
        accumulate_residuals(*codes, moves[k], self.residual[k, part], self.weight[part], sums[0])

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
            accumulate_weights(code, self.weight[place_of(grid.pieces, p)], sums)
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
        rows = self.residual[k, part], self.weight[part]
        accumulate_majorizer(*codes, moves[k], *rows, shape, *sums)

    def sweep(
        self, k: int, block: GroupBlock, pull: tuple[float, float], state: BackfittingState
    ) -> float:
        """Go through the grids in one compiled loop."""
        starts, shape = state.basis.starts, np.ascontiguousarray(self.shape[:, k])
        room = np.empty((3, int(np.diff(starts)[block.numbers].max()) + 1))
        numbers = self.residual[k], self.weight, shape, *pull
        grids = block.codes[0].T, block.numbers, starts
        return float(majorizer_sweep(*grids, *numbers, state.values[k], room))


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


@dataclass
class Backfitting(Solver[BackfittingState], name="backfitting"):
    """Backfitting of kernel regression on random binning features.

    Minimises the mean loss + alpha/2 |w|^2 grid by grid: a row lies in one bin of a grid, so that
    the minimum over the bins of one grid, the others being as they are, is a mean for each bin,
    sum(residuals) / (rows + ridge). A step goes `step` of the way there. The first sweep fits what
    takes conjugate gradients tens of passes, since a single grid knows the top of the spectrum
    (block Gauss-Seidel; Hastie and Tibshirani 1990, Generalized additive models, section 4.4).

    Short steps share what several grids could explain among all of them, as the shrinkage of
    gradient boosting does: where held-out rows end the fit, they find lower errors on the way than
    the minimum has. Residuals are in double precision.

    Losses that are made of absolute values (Huber's, the epsilon-insensitive one, quantiles) are
    met by parabolas from above, one for each row, renewed grid by grid: sum(slopes) /
    (sum(curvatures) + ridge) (Hunter and Lange 2000, Quantile regression via an MM algorithm).

    Parameters
    ----------
    step : float
        How much of the way to the minimum over a grid each step goes; it converges below 2.
    tol : float
        Ends the fit when the square root of what a sweep gains, relative to what the first one
        would have gained had all its steps been like its first, has fallen to this.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Binning
    >>> from bochner.kernels import Laplacian
    >>> from bochner.training.loop import run
    >>> from bochner.losses import Squared
    >>> from bochner.problem import Problem
    >>> from bochner.solvers import Backfitting
    >>> from bochner.stopping import Passes, Solved
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> source = ArraySource(X, np.sin(6 * X))
    >>> basis = Binning(16).build(Laplacian(1.0), source.sample(200), seed=0)
    >>> problem = Problem(basis, Squared(), alpha=1e-3, outputs=1)
    >>> solution = run(Backfitting(step=1.0), problem, source, stop=Solved() | Passes(1000))
    >>> print(solution.reason)
    the minimum was reached (optimality residual ...)
    """

    state_type: ClassVar[type[Any]] = BackfittingState
    loss_type: ClassVar[Any] = Quadratic | RoundedAbsolute
    basis_type: ClassVar[type[Any]] = BinningBasis
    walks: ClassVar[Literal["shuffled", "rows", "groups"]] = "groups"
    looks: ClassVar[Literal["steps", "passes"]] = "passes"
    patience: ClassVar[int] = 2
    takes_ridge: ClassVar[bool] = True
    groups_per_batch: ClassVar[int] = 16

    step: float = 0.3
    tol: float = 1e-3

    def check(self, problem: Problem) -> None:
        """Refuse other losses, and hyperparameters out of range."""
        if not isinstance(problem.loss, self.loss_type):
            raise ValueError(
                "Backfitting needs a squared loss or one that is made of absolute values; got "
                f"{type(problem.loss).__name__}. Choose another loss, or another solver, such as "
                "CoordinateDescent."
            )
        super().check(problem)
        require_tolerance(self.tol)
        if not 0 < self.step < 2:
            raise ValueError(f"step of Backfitting must be between 0 and 2; got {self.step!r}.")

    def home(self, rows: int | None) -> Any:
        """Return bins."""
        return "binning"

    def rows_per_batch(self, problem: Problem) -> int:
        """Return how many rows one thread works on; the result depends on it only by rounding."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> BackfittingState:
        """Return the best constant."""
        assert isinstance(problem.basis, BinningBasis)
        values = np.zeros((problem.outputs, problem.basis.size))
        return opened(problem.basis, values, best_constant(problem, sample))

    def advance(self, problem: Problem, state: BackfittingState, batch: Batch) -> BackfittingState:
        """Move the values of some grids' bins; in the first pass of a fit that goes on, none."""
        if state.rows is None:
            state.rows = rows_of(problem, batch, state.intercept)
            state.loss = state.rows.loss()
        if state.opened:
            if state.seen == 0 and problem.intercept:
                state.intercept = state.intercept + state.rows.centred()
            fall = state.descend(batch.X, self.step, problem.alpha)
            state.moved, state.fall = fall, state.fall + fall
            if state.first_fall == 0.0:
                state.first_fall = fall * len(state.basis.grids) / len(batch.X.groups)
        else:
            for grid in batch.X.groups:
                state.rows.hand_back(grid, state.values[:, state.place(grid)])
        state.seen += len(batch.X.groups)
        return state

    def end_pass(self, problem: Problem, state: BackfittingState) -> BackfittingState:
        """Judge the sweep."""
        assert state.rows is not None  # a pass without rows does not end
        state.loss = state.rows.loss()
        if state.opened:
            state.pass_losses.append(state.loss)
            share = state.fall / state.first_fall if state.first_fall > 0 else 0.0
            state.optimality = math.sqrt(max(share, 0.0))
        state.opened, state.seen, state.fall = True, 0, 0.0
        return state

    def expansion(self, problem: Problem, state: BackfittingState) -> Expansion:
        """Return the present weights, in single precision."""
        weights = (state.values / state.basis.height).T.astype(np.float32, order="C")
        return Expansion(state.basis, weights, state.intercept)

    def on_new_rows(self, problem: Problem, state: BackfittingState) -> BackfittingState:
        """Go on from the present weights."""
        assert isinstance(problem.basis, BinningBasis)
        weights = problem.basis.spread(state.values.T / state.basis.height, state.basis)
        values = np.ascontiguousarray(weights.T * problem.basis.height)
        return replace(opened(problem.basis, values, state.intercept), first_fall=state.first_fall)

    def size(self, state: BackfittingState) -> int:
        """Return the number of bins."""
        return int(state.values.shape[1])

    def regularization(self, rows: int | None) -> float:
        """Return a ridge on the sum over the rows."""
        return ridge_of(rows)

    def solved(self, state: BackfittingState) -> bool:
        """Whether a sweep gained little enough."""
        return state.optimality <= self.tol
