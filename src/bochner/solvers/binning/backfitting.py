"""Backfitting: regression on bins, grid by grid, with shortened steps."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
from bochner.losses import Quadratic, SmoothedAbsolute
from bochner.problem import Expansion, Problem
from bochner.records import require_sound
from bochner.solvers.solver import (
    Solver,
    SolverTags,
    State,
    best_constant,
    require_weight,
    ridge_of,
)
from bochner.validation import require, require_positive

MOST_PARTS = 8  # each holds a number for every bin
PART_ROWS = 1 << 18
BATCH_ROWS = 65_536  # for one thread

Pieces = tuple[NDArray[np.int32], ...]
Table = NDArray[np.float64]
RidgeAndStep = tuple[float, float]


@dataclass
class ResidualRows(ABC):
    """The residuals of the targets, (outputs, rows), with the rows' weights.

    The step to the minimum over a bin is the sum of its rows' slopes over that of their curvatures,
    both divided by the bound `curvature`. Threads work on the pieces in which the rows were
    encoded; sums of a few parts are added in their order, whatever the number of threads.
    """

    residual: Table
    weight: NDArray[np.floating]
    total_weight: float
    curvature: float

    sums_per_bin: ClassVar[int] = 1
    compiled_sweep: ClassVar[Callable[..., float]]

    @abstractmethod
    def loss(self) -> float:
        """Return the mean loss."""

    @abstractmethod
    def centred(self) -> NDArray[np.float64]:
        """Subtract a constant that lowers the loss from the residuals, and return it."""

    @abstractmethod
    def accumulate(
        self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table
    ) -> None:
        """Subtract moves from some rows for one output; add slopes, and curvatures, to bins."""

    @abstractmethod
    def parameters(self, k: int) -> NDArray[np.float64]:
        """Return the parameters of the compiled sweep of one output."""

    @abstractmethod
    def prepare(self, block: GroupBlock, state: BackfittingState) -> None:
        """Compute what does not change in a sweep, before the grids of a block move."""

    def curvatures(self, sums: Table, place: slice) -> Table:
        """Return the sums of the curvatures in the bins of a grid."""
        return sums[:, 1]

    def sweep(
        self, k: int, block: GroupBlock, ridge_and_step: RidgeAndStep, state: BackfittingState
    ) -> float:
        """Move one output of some grids in turn, in one compiled loop: all rows are one piece."""
        starts, rows = state.basis.starts, (self.residual[k], self.weight, self.parameters(k))
        widest = int(np.diff(starts)[block.numbers].max())
        room = np.empty((self.sums_per_bin + 1, widest + 1))
        grids, values = (block.codes[0].T, block.numbers, starts), state.values[k]
        return float(self.compiled_sweep(*grids, *rows, *ridge_and_step, values, room))

    def sums(self, grid: Group, count: int, before: Pieces, moves: Table) -> Table:
        """Subtract the moves of the grid before; return the sums, (outputs, sums, bins)."""
        pieces = grid.pieces
        shares = np.array_split(np.arange(len(pieces)), min(len(pieces), MOST_PARTS))
        parts = np.zeros((len(self.residual), len(shares), self.sums_per_bin, count + 1))

        def work(number: int, _: int) -> None:
            k, part = divmod(number, len(shares))
            for p in shares[part]:
                rows = place_of(pieces, p)
                self.accumulate(k, rows, (pieces[p], before[p]), moves, parts[k, part])

        each_tile(work, parts.shape[0] * parts.shape[1], 1)
        return np.asarray(parts.sum(axis=1)[:, :, :count])

    def subtract_moves(self, grid: Group, moves: Table) -> None:
        """Subtract the moves of their bins from the rows."""
        pieces, with_none = grid.pieces, padded(moves)

        def work(number: int, _: int) -> None:
            k, p = divmod(number, len(pieces))
            subtract_moves(pieces[p], with_none[k], self.residual[k, place_of(pieces, p)])

        each_tile(work, len(moves) * len(pieces), 1)


@dataclass
class SquaredRows(ResidualRows):
    """Rows of a quadratic loss, `curvature` / 2 times the squared residuals.

    `bin_weights` are the sums of the rows' weights in each bin, NaN before they are computed.
    """

    bin_weights: NDArray[np.float64] | None = None

    compiled_sweep: ClassVar[Callable[..., float]] = sweep

    def loss(self) -> float:
        """Return the mean loss."""
        squares = sum(
            float(np.square(left[rows]) @ self.weight[rows])
            for left in self.residual
            for rows in _some_at_a_time(len(left))
        )
        return 0.5 * self.curvature * squares / self.total_weight

    def centred(self) -> NDArray[np.float64]:
        """Subtract the mean from the residuals, and return it."""
        parts = (
            self.residual[:, rows] @ self.weight[rows].astype(np.float64)
            for rows in _some_at_a_time(len(self.weight))
        )
        means = np.asarray(sum(parts)) / self.total_weight
        self.residual -= means[:, None]
        return means

    def accumulate(
        self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table
    ) -> None:
        """Add the residuals."""
        accumulate_residuals(*codes, moves[k], self.residual[k, part], self.weight[part], sums[0])

    def parameters(self, k: int) -> NDArray[np.float64]:
        """Return the weights of all bins."""
        assert self.bin_weights is not None  # `prepare` has computed them
        return self.bin_weights

    def prepare(self, block: GroupBlock, state: BackfittingState) -> None:
        """Compute the weights of bins of grids that are seen for the first time."""
        if self.bin_weights is None:
            self.bin_weights = np.full(state.values.shape[1], np.nan)
        for grid in block.groups:
            bin_weights = self.bin_weights[state.place(grid)]
            if len(bin_weights) and np.isnan(bin_weights[0]):
                bin_weights[:] = self._weights_of(grid, len(bin_weights))
                drop_pages(*block.codes)

    def curvatures(self, sums: Table, place: slice) -> Table:
        """Return the weights of the bins' rows."""
        return self.parameters(0)[None, place]

    def _weights_of(self, grid: Group, count: int) -> NDArray[np.float64]:
        sums = np.zeros(count + 1)
        for p, code in enumerate(grid.pieces):
            accumulate_weights(code, self.weight[place_of(grid.pieces, p)], sums)
        return sums[:count]


@dataclass
class SmoothedRows(ResidualRows):
    """Rows of a loss that is made of smoothed absolute values.

    The curvature of a row is that of the parabola that touches the loss there and lies above it
    elsewhere, so that steps up to twice as far as its minimum lower the loss
    (`losses.SmoothedAbsolute`).
    """

    kind: SmoothedAbsolute
    shape: Table

    sums_per_bin: ClassVar[int] = 2
    compiled_sweep: ClassVar[Callable[..., float]] = majorizer_sweep

    def loss(self) -> float:
        """Return the mean loss."""
        y = self.residual.T
        return float(self.kind.value(y, np.zeros_like(y)) @ self.weight / self.total_weight)

    def prepare(self, block: GroupBlock, state: BackfittingState) -> None:
        """Do nothing: the curvatures change with every step."""

    def centred(self) -> NDArray[np.float64]:
        """Move all rows as if they were one bin."""
        y = self.residual.T
        zero, weight = np.zeros_like(y), self.weight.astype(np.float64)
        slopes = weight @ self.kind.gradient(y, zero)
        moves = -slopes / (weight @ self.kind.diagonal_bound(y, zero))
        self.residual -= moves[:, None]
        return np.asarray(moves)

    def accumulate(
        self, k: int, part: slice, codes: tuple[Any, Any], moves: Table, sums: Table
    ) -> None:
        """Add slopes and curvatures."""
        rows = self.residual[k, part], self.weight[part], self.parameters(k)
        accumulate_majorizer(*codes, moves[k], *rows, *sums)

    def parameters(self, k: int) -> NDArray[np.float64]:
        """Return the shape of the loss."""
        return np.ascontiguousarray(self.shape[:, k])


def rows_of(problem: Problem, batch: Batch, intercept: NDArray[np.float64]) -> ResidualRows:
    """Return the rows at a constant prediction."""
    assert batch.y is not None
    assert batch.weight is not None  # groups come with weights
    loss, total_weight = problem.loss, float(batch.weight.sum(dtype=np.float64))
    require_weight(total_weight)
    f = np.broadcast_to(intercept, (len(batch), len(intercept)))
    if isinstance(loss, SmoothedAbsolute):
        left = np.ascontiguousarray((batch.y - f).T, np.float64)
        (shape,) = loss.row_parameters(len(left))
        return SmoothedRows(left, batch.weight, total_weight, 1.0, loss, shape)
    assert isinstance(loss, Quadratic)
    curvature = loss.curvature_bound
    left = np.ascontiguousarray(loss.gradient(batch.y, f).T, np.float64)
    left /= -curvature
    return SquaredRows(left, batch.weight, total_weight, curvature)


def _some_at_a_time(rows: int) -> Iterator[slice]:
    """Yield slices of the rows, to limit the memory of intermediate results."""
    return (slice(first, first + PART_ROWS) for first in range(0, rows, PART_ROWS))


def padded(moves: Table) -> Table:
    """Return the moves with a 0 for rows without a bin."""
    return np.pad(moves, ((0, 0), (0, 1)))


def place_of(pieces: Pieces, number: int) -> slice:
    """Return the rows of a piece."""
    first = sum(map(len, pieces[:number]))
    return slice(first, first + len(pieces[number]))


@dataclass
class BackfittingState(State):
    """The values of the bins, (outputs, bins): weights times the height of the basis.

    `fall` is the decrease of the objective in the current sweep, `first_fall` an estimate from the
    first grids of that of single steps from zero. While `opened` is False, a sweep computes the
    residuals of the present values. `seen` is the number of grids of the sweep so far.
    """

    basis: BinningBasis
    values: Table
    intercept: NDArray[np.float64]
    opened: bool
    rows: ResidualRows | None = None
    seen: int = 0
    fall: float = 0.0
    first_fall: float = 0.0

    @property
    def size(self) -> int:
        """The number of bins."""
        return int(self.values.shape[1])

    def validate(self) -> None:
        """Check that every bin has a value."""
        require_sound(self.values.ndim == 2, "its weights are not a table")
        fits = self.values.shape[1] == self.basis.size
        require_sound(fits, "it has weights for other functions")

    def snapshot(self, batch: Batch | None) -> Callable[[], BackfittingState]:
        """Return the state of now; a batch changes the residuals and the values of its grids."""
        before = replace(self, pass_losses=self.pass_losses.copy())
        if self.rows is not None and batch is not None:
            before.rows = replace(self.rows, residual=self.rows.residual.copy())
        places = [self.place(grid) for grid in batch.X.groups] if batch is not None else []
        values = [self.values[:, place].copy() for place in places]

        def restored() -> BackfittingState:
            for place, part in zip(places, values, strict=True):
                before.values[:, place] = part
            return before

        return restored

    def place(self, grid: Group) -> slice:
        """Return the slice of the values of a grid."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))

    def descend(self, block: GroupBlock, step: float, alpha: float) -> float:
        """Move bins grid by grid towards the minimum over a grid; return the decrease.

        With s and c the sums of slopes and curvatures in a bin and v its value, that is
        (s - ridge v) / (c + ridge) away, ridge = alpha W / (curvature height^2),
        where W is the total weight of the rows.
        """
        assert self.rows is not None
        rows = self.rows
        ridge_and_step = alpha * rows.total_weight / (rows.curvature * self.basis.height**2), step
        rows.prepare(block, self)
        sweep_rows = self._sweep_one_piece if len(block.codes) == 1 else self._sweep_pieces
        squares = sweep_rows(block, ridge_and_step)
        return float(squares * (1.0 / step - 0.5) * rows.curvature / rows.total_weight)

    def _sweep_one_piece(self, block: GroupBlock, ridge_and_step: RidgeAndStep) -> float:
        """Move the grids in one compiled loop over few rows, a thread for each output."""
        assert self.rows is not None
        rows, found = self.rows, np.zeros(len(self.values))

        def work(k: int, _: int) -> None:
            found[k] = rows.sweep(k, block, ridge_and_step, self)

        each_tile(work, len(found), 1)
        return float(found.sum())

    def _sweep_pieces(self, block: GroupBlock, ridge_and_step: RidgeAndStep) -> float:
        """Move the grids with the rows in pieces, which threads share."""
        assert self.rows is not None
        (ridge, step), total, before = ridge_and_step, 0.0, block.groups[0]
        moves = np.zeros((len(self.values), int(self.basis.counts[before.number]) + 1))
        for grid in block.groups:
            place = self.place(grid)
            values = self.values[:, place]
            sums = self.rows.sums(grid, values.shape[1], before.pieces, moves)
            second = self.rows.curvatures(sums, place) + ridge
            # Without a ridge, a bin of held-out rows alone has no curvature and does not move.
            shares = np.divide(step, second, out=np.zeros_like(second), where=second > 0)
            moved = (sums[:, 0] - ridge * values) * shares
            values += moved
            total += float((np.square(moved) * second).sum())
            before, moves = grid, padded(moved)
            drop_pages(*block.codes)
        self.rows.subtract_moves(before, moves[:, :-1])
        return total


def initial_state(
    basis: BinningBasis, values: Table, intercept: NDArray[np.float64]
) -> BackfittingState:
    """Return the state before the first pass."""
    return BackfittingState(0.0, 0.0, [], basis, values, intercept, opened=not values.any())


@dataclass
class Backfitting(Solver[BackfittingState], name="backfitting"):
    """Backfitting of kernel regression on random binning features.

    Minimises the mean loss + alpha/2 |w|^2 grid by grid: a row lies in one bin of a grid, so that
    the minimum over the bins of one grid, the others being as they are, is a mean for each bin,
    sum(residuals) / (rows + ridge). A step goes the fraction `step` of the way. The first sweep
    fits what takes conjugate gradients tens of passes, since one grid spans the top of the spectrum
    (block Gauss-Seidel; Hastie and Tibshirani 1990, Generalized additive models, section 4.4).

    Short steps act as the shrinkage of gradient boosting: with early stopping the held-out error is
    lower than at the minimum. Residuals are in double precision.

    Losses that are made of absolute values (Huber's, the epsilon-insensitive one, quantiles) are
    bounded by parabolas from above, one for each row, updated grid by grid: sum(slopes) /
    (sum(curvatures) + ridge) (Hunter and Lange 2000, Quantile regression via an MM algorithm).

    Parameters
    ----------
    step : float
        The fraction of the way to the minimum over a grid that a step goes; converges below 2.
    tol : float
        Ends the fit when the square root of the decrease of a sweep, relative to that of a sweep
        whose steps are all like the very first, is at most this.

    See Also
    --------
    ConjugateGradient : All grids at once.
    CoordinateDescent : For other smooth losses, and an L1 penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> from bochner.solvers import Backfitting
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(solver=Backfitting(step=0.5), random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.02)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=BackfittingState,
        loss_type=Quadratic | SmoothedAbsolute,
        loss_words="squared loss or one that is made of absolute values",
        basis_type=BinningBasis,
        access="groups",
        groups_per_batch=16,
        evaluates="passes",
        patience=2,
        takes_ridge=True,
        features="binning",
        default_alpha=ridge_of,
    )

    step: float = 0.3
    tol: float = 1e-3

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for hyperparameters out of range."""
        require_positive("tol", self.tol)
        require(0 < self.step < 2, "step of Backfitting", self.step, "between 0 and 2")

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows for one thread; the result depends on it only by rounding."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> BackfittingState:
        """Return the best constant."""
        assert isinstance(problem.basis, BinningBasis)
        values = np.zeros((problem.outputs, problem.basis.size))
        return initial_state(problem.basis, values, best_constant(problem, sample))

    def advance(self, problem: Problem, state: BackfittingState, batch: Batch) -> BackfittingState:
        """Move the values of some grids' bins; none in the first pass of a continued fit."""
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
                state.rows.subtract_moves(grid, state.values[:, state.place(grid)])
        state.seen += len(batch.X.groups)
        return state

    def end_pass(self, problem: Problem, state: BackfittingState) -> BackfittingState:
        """Record the loss and the optimality of the sweep."""
        assert state.rows is not None  # a pass has at least one row
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
        """Continue from the present weights."""
        assert isinstance(problem.basis, BinningBasis)
        weights = problem.basis.embed_weights(state.values.T / state.basis.height, state.basis)
        values = np.ascontiguousarray(weights.T * problem.basis.height)
        restarted = initial_state(problem.basis, values, state.intercept)
        return replace(restarted, first_fall=state.first_fall)

    def solved(self, state: BackfittingState) -> bool:
        """Whether the decrease of a sweep is small enough."""
        return state.optimality <= self.tol
