"""The state of coordinate descent, how it opens, and which bins it works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.minima import minimized
from bochner.compute.bins.segments import Column, Entries
from bochner.compute.pool import each_tile
from bochner.features import BinningBasis, Group
from bochner.problem import Problem
from bochner.solvers.grid_descent import Bins, Descent, FittedRows
from bochner.solvers.penalty import Penalty
from bochner.solvers.solver import State

MOST_ACTIVE = 0.5  # of a grid's bins: with more, a list of them is not worth its memory


@dataclass
class Active:
    """The bins of a grid that passes in between work on: their numbers, and their rows."""

    numbers: NDArray[np.int64]
    entries: Entries


@dataclass
class CoordinateDescentState(State):
    """The weights, and the rows with the predictions they make.

    Unless all weights are 0, nothing moves in the first pass: `rows` are at the best constant, and
    `reach` collects the predictions of the weights. `first_fall` is by how much single steps from
    zero weights would lower the objective, in all bins together (of a fit that begins with zero
    weights, what the first grid tells of it); `fall` by how much the steps of the
    pass under way did, `full_fall` those of the last pass through all bins, and `steepest` is the
    largest slope at zero weights. `active` are the bins of each grid for passes in between, of
    which `between` have been made since the last full one; `found` those of the next grids of a
    full pass. `seen` is how many grids the pass has been through, `stage` where on the path it is.
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

    @property
    def at_zero(self) -> bool:
        """Whether the weights are 0 and the intercept is the best constant."""
        return not self.weights.any() and np.array_equal(self.intercept[0], self.constant)

    def place(self, grid: Group) -> slice:
        """Return where the weights of a grid are."""
        first, last = self.basis.starts[grid.number : grid.number + 2]
        return slice(int(first), int(last))


def opened(
    problem: Problem,
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
    constant: NDArray[np.float64],
    stages: int,
) -> CoordinateDescentState:
    """Return the state before the first pass."""
    assert isinstance(problem.basis, BinningBasis)
    return CoordinateDescentState(
        loss=0.0,
        moved=0.0,
        pass_losses=[],
        basis=problem.basis,
        weights=weights,
        intercept=intercept.copy(),
        constant=constant,
        stages=stages,
    )


def all_entries(grid: Group, bins: int) -> Entries:
    """Return all rows of a grid with their bins; rows without one are left out."""
    return Column(grid.code, bins).picked(np.arange(bins))


def open_with(state: CoordinateDescentState, descent: Descent, bins: Bins) -> float:
    """Look at a grid at zero weights, and add it to the predictions of the present ones."""
    if state.rows is None:
        state.rows = descent.rows_at(np.tile(state.constant, (len(descent.y), 1)))
        state.reach = None if state.at_zero else np.tile(state.intercept, (len(descent.y), 1))
    sums, penalty = descent.sums(state.rows, bins), bins.penalty
    minimum = minimized(sums, np.zeros_like(bins.weights), penalty.l1, penalty.l2)
    state.first_fall += minimum.fall
    state.steepest = max(state.steepest, minimum.steepest)
    if state.reach is not None:
        bins.entries.shift(bins.height * bins.weights, state.reach)
        if state.seen + 1 == len(state.basis.grids):
            state.rows, state.reach = descent.rows_at(state.reach), None
    return state.rows.total


def descend(
    state: CoordinateDescentState, descent: Descent, grid: Group, penalty: Penalty
) -> tuple[float, float]:
    """Take a step in the bins of a grid that this pass works on; return the loss and the fall."""
    assert state.rows is not None
    weights, height = state.weights[state.place(grid)], state.basis.height
    active = None if state.full else state.active.get(grid.number)
    if active is None:
        active = _found_active(state, descent, grid, penalty)
    bins = Bins(active.entries, weights[active.numbers], height, penalty)
    weights[active.numbers], fall = descent.take(state.rows, bins)
    state.fall += fall
    if state.first_fall == 0.0:
        state.first_fall = fall * len(state.basis.grids)
    return state.rows.total, fall


def _found_active(
    state: CoordinateDescentState, descent: Descent, grid: Group, penalty: Penalty
) -> Active:
    """Return the bins that have a weight or whose slope would give them one; list them if few.

    In a pass through all bins those of some grids are found together, a thread for each; that
    is most of the work. The slopes are then those before the first of these grids moved: what
    changes until it is a grid's turn concerns which bins it moves, not how far.
    """
    together = [grid, *grid.ahead] if state.full and penalty.l1 > 0.0 else [grid]
    if grid.number not in state.found:
        found = _each(lambda one: _steep(state, descent, one, penalty), together)
        state.found = {one.number: active for one, active in zip(together, found, strict=True)}
    active = state.found.pop(grid.number)
    state.active.pop(grid.number, None)
    if len(active.numbers) <= MOST_ACTIVE * len(state.weights[state.place(grid)]):
        state.active[grid.number] = active
    return active


def _steep(
    state: CoordinateDescentState, descent: Descent, grid: Group, penalty: Penalty
) -> Active:
    assert state.rows is not None
    weights, height = state.weights[state.place(grid)], state.basis.height
    column, numbers = Column(grid.code, len(weights)), np.arange(len(weights))
    if penalty.l1 > 0.0:
        numbers = descent.steep(state.rows, column, weights, height, penalty.l1)
    return Active(numbers, column.picked(numbers))


def _each(work: Callable[[Group], Active], grids: list[Group]) -> list[Active]:
    """Return the results for several grids by several threads, for one by all of them."""
    if len(grids) == 1:
        return [work(grids[0])]
    found: dict[int, Active] = {}
    each_tile(lambda place, _: found.update({place: work(grids[place])}), len(grids), 1)
    return [found[place] for place in range(len(grids))]
