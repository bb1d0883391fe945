"""CoordinateDescent: descent on all bins of a grid at once, grid by grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.segments import (
    TILE_ENTRIES,
    Entries,
    GridColumn,
    Table,
    minimize_bins,
    sum_parts,
)
from bochner.compute.pool import each_tile, sum_tiles
from bochner.data import Batch
from bochner.features import BinningBasis, Group
from bochner.losses import Quadratic, Smooth
from bochner.problem import Expansion, Problem
from bochner.records import require_sound
from bochner.solvers.solver import (
    DEFAULT_ALPHA,
    Solver,
    SolverTags,
    State,
    best_constant,
    require_weights,
)
from bochner.validation import is_number, require, require_count, require_positive

SHARES = {"l1": 1.0, "l2": 0.0}
EPS = float(np.finfo(np.float64).eps)
FLATTEST = 0.01  # of the curvature bound: flatter losses would give steps that are too long
LEAST_RISE = 1e-14  # of the mean loss; smaller rises are rounding
MOST_ACTIVE = 0.5  # of a grid's bins: a longer list is not worth its memory
BATCH_ROWS = 65_536
MOST_BETWEEN = 10  # passes through the active bins between two through all
SMALL_FALL = 0.1  # of that of the last full pass: the active bins have nearly converged
LOOSE = 10.0  # times the tolerance is enough before the end of the path


@dataclass(frozen=True)
class Penalty:
    """The elastic net: l1 |w|_1 + l2/2 |w|^2 (Zou and Hastie 2005, section 2).

    Parameters
    ----------
    l1, l2 : float
        Factors from 0 on.

    Examples
    --------
    >>> Penalty.of("l1", 0.5)
    Penalty(l1=0.5, l2=0.0)
    >>> Penalty.of(0.5, 2.0).value(np.array([[3.0], [-1.0]]))
    9.0
    """

    l1: float
    l2: float

    @classmethod
    def of(cls, given: Any, alpha: float) -> Penalty:
        """Return alpha times "l1", "l2", or a mixture with this share of L1."""
        share = share_of_l1(given)
        return cls(alpha * share, alpha * (1.0 - share))

    def value(self, weights: NDArray[np.float64]) -> float:
        """Return the penalty of all weights."""
        return float(np.sum(self.l1 * np.abs(weights) + 0.5 * self.l2 * weights * weights))


def share_of_l1(given: Any) -> float:
    """Return the share of L1 in a penalty, between 0 and 1."""
    if isinstance(given, str) and given in SHARES:
        return SHARES[given]
    valid = is_number(given) and 0 <= given <= 1
    kind = "'l1', 'l2', or the share of L1 in a mixture, a number between 0 and 1"
    require(valid, "penalty", given, kind)
    return float(given)


@dataclass
class FittedRows:
    """All rows with their predictions f, and the derivatives of the loss there.

    `table` holds the slopes and curvatures of each row times its weight; `total_weight` is the sum
    of the weights, and `total` the mean loss.
    """

    f: Table
    table: NDArray[np.float32]
    total_weight: float
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
class GridStep:
    """A step in bins of a grid, for rows with targets `y` and weights `weight`.

    With g and h the sums over a bin's rows of the loss's first and second derivatives, times the
    height and its square, over the total weight: each weight goes to the minimum of the quadratic
    with this slope and curvature plus the penalty (Wu, Yen et al. 2016, Eq. 26, with h in place of
    a constant), or half as far again where it keeps its sign (over-relaxation). A quadratic loss
    still decreases. For other losses, bins whose objective rose take the curvature bound for h
    instead, with which it cannot rise.

    The outputs of a bin move together; where they are coupled the loss has a diagonal bound. Only
    rows whose bin moved are evaluated again.
    """

    loss: Smooth
    y: NDArray[Any]
    weight: NDArray[Any]

    def rows_at(self, f: Table) -> FittedRows:
        """Return the rows with the given predictions."""
        table = np.empty((len(f), 2 * f.shape[1]), np.float32)

        def fill(top: int, bottom: int) -> NDArray[np.float64]:
            part = slice(top, bottom)
            y, weight = self.y[part], self.weight[part]
            table[part] = weight[:, None] * self.loss.derivatives(y, f[part], self._floor)
            losses = weight * self.loss.value(y, f[part])
            return np.array([losses.sum(), weight.sum(dtype=np.float64)])

        total, total_weight = sum_tiles(fill, len(f), TILE_ENTRIES, (2,))
        return FittedRows(f, table, float(total_weight), float(total / total_weight))

    def sums(self, rows: FittedRows, bins: Bins) -> Table:
        """Return g and h of each bin and output."""
        outputs, factor = rows.f.shape[1], bins.height / rows.total_weight
        sums = bins.entries.sums(rows.table, 0, 2 * outputs)
        sums[:, :outputs] *= factor
        sums[:, outputs:] *= factor * bins.height
        return sums

    def take(self, rows: FittedRows, bins: Bins) -> tuple[Table, float]:
        """Move the predictions; return the new weights, and the decrease of the quadratic model."""
        if not len(self.y) == len(rows.f) == len(rows.table):
            raise ValueError(
                f"The fit needs the {len(rows.f)} rows it was started with; got {len(self.y)}. "
                "Fit anew, with warm_start=False."
            )
        sums, penalty = self.sums(rows, bins), bins.penalty
        minimum = minimize_bins(sums, bins.weights, penalty.l1, penalty.l2)
        rises = self._moved(rows, bins, minimum.weights - bins.weights) + minimum.penalty_rise
        if not isinstance(self.loss, Quadratic):
            rose = np.flatnonzero(rises > LEAST_RISE * rows.total)
            if len(rose) > 0:
                self._take_safely(rows, bins, sums, minimum.weights, rose)
        return minimum.weights, minimum.fall

    def _take_safely(
        self, rows: FittedRows, bins: Bins, sums: Table, target: Table, rose: NDArray[np.int64]
    ) -> None:
        """Use the curvature bound where the objective rose."""
        few = replace(bins, entries=bins.entries.select(rose), weights=bins.weights[rose])
        outputs, penalty = few.weights.shape[1], few.penalty
        factor = self.loss.curvature_bound * few.height**2 / rows.total_weight
        bound = np.repeat(factor * few.entries.sums(self.weight[:, None], 0, 1), outputs, axis=1)
        steeper = np.hstack([sums[rose, :outputs], bound])
        safe = minimize_bins(steeper, few.weights, penalty.l1, penalty.l2).weights
        self._moved(rows, few, safe - target[rose])
        target[rose] = safe

    def _moved(self, rows: FittedRows, bins: Bins, by: Table) -> NDArray[np.float64]:
        """Add to the predictions; return the rise of the mean loss in each bin."""
        entries, moves = bins.entries, bins.height * by
        height, rises = entries.parts(1)

        def move(top: int, bottom: int) -> None:
            some, places = entries.rows[top:bottom], entries.bins[top:bottom]
            written = rows.table, rises[top // height, :, 0]
            self.loss.move(self.y, rows.f, self.weight, some, places, moves, self._floor, *written)

        each_tile(move, len(entries), height)
        total = sum_parts(rises)[:, 0] / rows.total_weight
        rows.total += float(total.sum())
        return np.asarray(total)

    @property
    def _floor(self) -> float:
        return FLATTEST * self.loss.curvature_bound


@dataclass
class Active:
    """The bins of a grid for passes between two full ones: their numbers, and their rows."""

    numbers: NDArray[np.int64]
    entries: Entries


@dataclass
class CoordinateDescentState(State):
    """The weights, and the rows with their predictions.

    Unless all weights are 0, the first pass moves nothing (`opened` is False): `rows` are at the
    best constant, and `reach` sums the predictions of the weights. Decreases of the objective:
    `first_fall` by single steps from zero weights in all bins (estimated from the first grid if all
    weights are 0), `fall` in the current pass, `full_fall` in the last pass through all bins.
    `steepest` is the largest slope at zero weights. `active` are the bins of each grid for passes
    between two full ones, `between` the number of such passes since the last full one, `found` the
    active bins of the next grids of a full pass. `seen` is the number of grids of the pass so far,
    `stage` the position on the path.
    """

    basis: BinningBasis
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    constant: NDArray[np.float64]
    stages: int = 1
    stage: int = 1
    rows: FittedRows | None = None
    reach: NDArray[np.float64] | None = None
    opened: bool = False
    full: bool = True
    between: int = 0
    seen: int = 0
    fall: float = 0.0
    full_fall: float = 0.0
    first_fall: float = 0.0
    steepest: float = 0.0
    active: dict[int, Active] = field(default_factory=dict)
    found: dict[int, Active] = field(default_factory=dict)

    def validate(self) -> None:
        """Check that weights, rows and bins are of the same functions and outputs."""
        require_weights(self.basis, self.weights)
        rows, outputs = self.rows, self.weights.shape[1]
        groups = [*self.active.values(), *self.found.values()]
        require_sound(rows is not None or not groups, "it has active bins but no rows")
        if rows is None:
            return
        fits = rows.f.ndim == 2 and rows.f.shape[1] == outputs
        require_sound(fits, "its rows have other outputs")
        fits = rows.table.shape == (len(rows.f), 2 * outputs)
        require_sound(fits, "its predictions and derivatives differ")
        for group in groups:
            last = group.entries.rows.max(initial=-1)
            require_sound(last < len(rows.f), "an entry has a row out of range")
            fits = group.numbers.shape == (group.entries.count,)
            require_sound(fits, "its bins and entries differ in number")

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.weights)

    @property
    def at_zero(self) -> bool:
        """Whether the weights are 0 and the intercept is the best constant."""
        return not self.weights.any() and np.array_equal(self.intercept[0], self.constant)

    def place(self, grid: Group) -> slice:
        """Return the slice of the weights of a grid."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))


def initial_state(
    problem: Problem,
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
    constant: NDArray[np.float64],
    stages: int,
) -> CoordinateDescentState:
    """Return the state before the first pass."""
    assert isinstance(problem.basis, BinningBasis)
    start = intercept.copy()
    return CoordinateDescentState(0.0, 0.0, [], problem.basis, weights, start, constant, stages)


def add_grid(state: CoordinateDescentState, step: GridStep, bins: Bins) -> float:
    """Find the decrease of a grid from zero weights; add its weights to the predictions."""
    if state.rows is None:
        state.rows = step.rows_at(np.tile(state.constant, (len(step.y), 1)))
        state.reach = None if state.at_zero else np.tile(state.intercept, (len(step.y), 1))
    sums, penalty = step.sums(state.rows, bins), bins.penalty
    minimum = minimize_bins(sums, np.zeros_like(bins.weights), penalty.l1, penalty.l2)
    state.first_fall += minimum.fall
    state.steepest = max(state.steepest, minimum.steepest)
    if state.reach is not None:
        bins.entries.shift(bins.height * bins.weights, state.reach)
        if state.seen + 1 == len(state.basis.grids):
            state.rows, state.reach = step.rows_at(state.reach), None
    return state.rows.total


def descend(
    state: CoordinateDescentState, step: GridStep, grid: Group, penalty: Penalty
) -> tuple[float, float]:
    """Take a step in the bins of a grid that this pass covers; return loss and decrease."""
    assert state.rows is not None
    weights, height = state.weights[state.place(grid)], state.basis.height
    active = None if state.full else state.active.get(grid.number)
    if active is None:
        active = _active_bins(state, grid, penalty)
    bins = Bins(active.entries, weights[active.numbers], height, penalty)
    weights[active.numbers], fall = step.take(state.rows, bins)
    state.fall += fall
    if state.first_fall == 0.0:
        state.first_fall = fall * len(state.basis.grids)
    return state.rows.total, fall


def _active_bins(state: CoordinateDescentState, grid: Group, penalty: Penalty) -> Active:
    """Return the bins that have a weight or get one by their slope; store them if they are few.

    A pass through all bins finds those of some grids together, a thread for each: this is most of
    the work. The slopes are then those before the first of these grids moved, which affects the
    choice of the bins, not their steps.
    """
    together = [grid, *grid.ahead] if state.full and penalty.l1 > 0.0 else [grid]
    if grid.number not in state.found:
        found: list[Any] = [None] * len(together)

        def find(place: int, _: int) -> None:
            found[place] = _steep(state, together[place], penalty)

        if len(together) == 1:
            find(0, 1)  # by all threads
        else:
            each_tile(find, len(together), 1)
        state.found = {one.number: active for one, active in zip(together, found, strict=True)}
    active = state.found.pop(grid.number)
    state.active.pop(grid.number, None)
    if len(active.numbers) <= MOST_ACTIVE * len(state.weights[state.place(grid)]):
        state.active[grid.number] = active
    return active


def _steep(state: CoordinateDescentState, grid: Group, penalty: Penalty) -> Active:
    assert state.rows is not None
    weights, height = state.weights[state.place(grid)], state.basis.height
    column, numbers = GridColumn(grid.code, len(weights)), np.arange(len(weights))
    if penalty.l1 > 0.0:
        least = penalty.l1 * state.rows.total_weight / height
        numbers = column.active_bins(state.rows.table, weights, least)
    return Active(numbers, column.select(numbers))


def alpha_of(total_weight: float | None) -> float:
    """Return a factor of 1 on the sum over the rows, the default of liblinear."""
    return 1.0 / total_weight if total_weight else DEFAULT_ALPHA


@dataclass
class CoordinateDescent(Solver[CoordinateDescentState], name="coordinate"):
    """Coordinate descent on random binning features with an L1, L2 or mixed penalty.

    Minimises mean loss + alpha (s |w|_1 + (1 - s)/2 |w|^2) (Wu, Yen et al. 2016, Eq. 23 and
    Algorithm 2). Inside one grid a row lies in one bin at most, so that the bins of a grid are
    separable: all of them move at once, in parallel and without the races of Algorithm 2.

    L1 leaves most weights at 0. Between two passes through all bins there are passes through the
    active ones, those with a weight, whose rows are listed; only a pass through all bins can end
    the fit. If the fit continues from weights, or has a path, the first pass moves nothing; it
    computes the scale and the predictions.

    Parameters
    ----------
    penalty : "l1", "l2" or float
        The penalty: |w|_1, |w|^2 / 2, or a mixture with this share s of L1.
    tol : float
        Ends the fit when the square root of the decrease of a pass, relative to that of single
        steps from zero weights, is at most this: the norm of the residual, as in conjugate
        gradients. (The largest slope would depend on the fullest bins alone.)
    path : int
        The number of values of alpha, falling geometrically from the one above which all weights
        are 0; each fit starts from the one before.

    See Also
    --------
    Backfitting : For quadratic losses and those made of absolute values, with the L2 penalty.
    Newton : Any smooth loss and any features, with the L2 penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> from bochner.solvers import CoordinateDescent
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(solver=CoordinateDescent(), alpha=1e-4, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.02), bool(np.mean(model.weights_ == 0) > 0.9)
    (True, True)
    """

    penalty: str | float = "l1"
    tol: float = 1e-3
    path: int = 1

    @property
    def tags(self) -> SolverTags:  # type: ignore[override]
        """The tags; a pure L2 penalty is that of kernel ridge regression."""
        return SolverTags(
            state_type=CoordinateDescentState,
            loss_type=Smooth,
            basis_type=BinningBasis,
            access="groups",
            evaluates="passes",
            patience=2,
            takes_ridge=share_of_l1(self.penalty) == 0,
            features="binning",
            default_alpha=alpha_of,
        )

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for hyperparameters out of range."""
        require_positive("tol", self.tol)
        require_count("path", self.path)
        if share_of_l1(self.penalty) == 0 and self.path > 1:
            raise ValueError(
                "A path begins at the alpha above which all weights are 0, which the L2 penalty "
                f"does not have; got path={self.path}. Choose path=1 or penalty='l1'."
            )

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows encoded at a time; the result does not depend on it."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> CoordinateDescentState:
        """Return the best constant."""
        constant = best_constant(problem, sample)
        weights = np.zeros((problem.basis.end(None), problem.outputs))
        return initial_state(problem, weights, constant[None], constant, self.path)

    def advance(
        self, problem: Problem, state: CoordinateDescentState, batch: Batch
    ) -> CoordinateDescentState:
        """Move the weights of a grid; none in a first pass that computes predictions."""
        assert isinstance(problem.loss, Smooth)
        assert batch.weight is not None  # groups come with weights
        step, grid = GridStep(problem.loss, batch.targets, batch.weight), batch.X
        penalty = self._penalty(problem, state)
        if not state.opened and state.seen == 0 and state.stages == 1 and state.at_zero:
            state.rows = step.rows_at(np.tile(state.constant, (len(batch), 1)))
            state.opened = True
        if state.opened:
            if state.seen == 0 and problem.intercept:
                self._move_intercept(state, step)
            state.loss, state.moved = descend(state, step, grid, penalty)
        else:
            weights = state.weights[state.place(grid)]
            entries = GridColumn(grid.code, len(weights)).select(np.arange(len(weights)))
            bins = Bins(entries, weights, state.basis.height, penalty)
            state.loss = add_grid(state, step, bins)
        state.seen += 1
        return state

    def end_pass(self, problem: Problem, state: CoordinateDescentState) -> CoordinateDescentState:
        """Measure the pass, and continue along the path."""
        if state.stage == state.stages:  # only the last alpha is evaluated on held-out rows
            state.pass_losses.append(state.loss)
        if state.opened:
            self._end_sweep(state)
        state.opened = True
        state.seen, state.fall = 0, 0.0
        return state

    def expansion(self, problem: Problem, state: CoordinateDescentState) -> Expansion:
        """Return the present weights."""
        return Expansion(state.basis, state.weights, state.intercept[0])

    def on_new_rows(
        self, problem: Problem, state: CoordinateDescentState
    ) -> CoordinateDescentState:
        """Continue from the present weights, at the last alpha of the path."""
        weights = problem.basis.embed_weights(state.weights, state.basis)
        return initial_state(problem, weights, state.intercept, state.constant, 1)

    def solved(self, state: CoordinateDescentState) -> bool:
        """Whether the decrease of a full pass is small enough, at the end of the path."""
        return state.between == 0 and state.optimality <= self.tol

    def _penalty(self, problem: Problem, state: CoordinateDescentState) -> Penalty:
        """Return the penalty at this stage of the path; the last has the problem's alpha."""
        alpha, share = problem.alpha, share_of_l1(self.penalty)
        if state.opened and state.stage < state.stages and 0 < alpha * share < state.steepest:
            highest = state.steepest / share
            alpha = highest * (alpha / highest) ** (state.stage / state.stages)
        return Penalty.of(self.penalty, alpha)

    def _move_intercept(self, state: CoordinateDescentState, step: GridStep) -> None:
        """Move the intercept as a bin of all rows without penalty."""
        assert state.rows is not None
        rows = np.arange(len(state.rows.f), dtype=np.int32)
        entries = Entries(rows, np.zeros_like(rows), 1)
        everywhere = Bins(entries, state.intercept, 1.0, Penalty(0.0, 0.0))
        state.intercept, fall = step.take(state.rows, everywhere)
        state.fall += fall

    def _end_sweep(self, state: CoordinateDescentState) -> None:
        """Measure a full pass; choose whether the next pass covers all bins or the active ones."""
        if state.full:
            fell = state.fall > EPS * state.loss  # else the decrease is rounding
            share = state.fall / state.first_fall if state.first_fall > 0 and fell else 0.0
            state.optimality, state.full_fall = math.sqrt(max(share, 0.0)), state.fall
            if state.stage < state.stages and state.optimality <= LOOSE * self.tol:
                state.stage, state.optimality = state.stage + 1, math.inf
        state.between = 0 if state.full else state.between + 1
        enough = not state.full and state.fall < SMALL_FALL * state.full_fall
        state.full = not state.active or enough or state.between >= MOST_BETWEEN
