"""CoordinateDescent: all bins of a grid at once, one grid after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from bochner.compute.bins.segments import Entries
from bochner.data import Batch
from bochner.features import BinningBasis
from bochner.losses import Smooth
from bochner.problem import Expansion, Problem
from bochner.solvers.conjugate_gradient import require_tolerance
from bochner.solvers.coordinate_descent_state import (
    CoordinateDescentState,
    all_entries,
    descend,
    open_with,
    opened,
)
from bochner.solvers.grid_descent import Bins, Descent
from bochner.solvers.opening import best_constant
from bochner.solvers.penalty import Penalty, share_of_l1
from bochner.solvers.solver import Solver

BATCH_ROWS = 65_536
MOST_BETWEEN = 10  # passes through the active bins between two through all
SMALL_FALL = 0.1  # of the last full pass's: the active bins are nearly done
ROUNDING = float(np.finfo(np.float64).eps)
LOOSE = 10.0  # times the tolerance is close enough on the way along the path


@dataclass
class CoordinateDescent(Solver[CoordinateDescentState], name="coordinate"):
    """Coordinate descent on random binning features with an L1, L2 or mixed penalty.

    Minimises mean loss + alpha (s |w|_1 + (1 - s)/2 |w|^2) (Wu, Yen et al. 2016, Eq. 23 and
    Algorithm 2). Inside one grid a row lies in one bin at most, so that the bins of a grid are
    separable: all of them move at once, in parallel and without the races of Algorithm 2.

    L1 leaves most weights at 0. Between two passes through all bins there are passes through the
    active ones, those that have a weight or got one, whose rows are listed; only a pass through
    all bins can end the fit. Where there were weights before, or a path is ahead, the first pass
    moves nothing; it finds the scale and the predictions.

    Parameters
    ----------
    penalty : "l1", "l2" or float
        What multiplies alpha: |w|_1, |w|^2 / 2, or a mixture with this share s of L1.
    tol : float
        Ends the fit when the square root of what a pass gains, relative to what
        single steps from zero weights would gain, has fallen to this. That is the norm of the
        residual that conjugate gradients stop by: every row counts alike, whereas the largest
        slope is that of the fullest bins.
    path : int
        The number of values of alpha, falling geometrically from the one above which all weights
        are 0; each fit begins where the one before ended.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Binning
    >>> from bochner.kernels import Laplacian
    >>> from bochner.loop import run
    >>> from bochner.losses import Squared
    >>> from bochner.problem import Problem
    >>> from bochner.solvers.coordinate_descent import CoordinateDescent
    >>> from bochner.stopping import Passes, Solved
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> source = ArraySource(X, np.sin(6 * X))
    >>> basis = Binning(16).build(Laplacian(1.0), source.sample(200), seed=0)
    >>> problem = Problem(basis, Squared(), alpha=1e-3, outputs=1)
    >>> solution = run(CoordinateDescent(), problem, source, stop=Solved() | Passes(100))
    >>> print(solution.reason)
    the minimum was reached (optimality residual ...)
    """

    state_type: ClassVar[type[Any]] = CoordinateDescentState
    loss_type: ClassVar[type[Any]] = Smooth
    basis_type: ClassVar[type[Any]] = BinningBasis
    walks: ClassVar[Literal["shuffled", "rows", "groups"]] = "groups"
    looks: ClassVar[Literal["steps", "passes"]] = "passes"
    patience: ClassVar[int] = 2

    penalty: str | float = "l1"
    tol: float = 1e-3
    path: int = 1

    @property
    def takes_ridge(self) -> bool:  # type: ignore[override]
        """Whether the penalty is that of kernel ridge regression."""
        return share_of_l1(self.penalty) == 0

    def check(self, problem: Problem) -> None:
        """Refuse hyperparameters out of range."""
        super().check(problem)
        require_tolerance(self.tol)
        if not isinstance(self.path, Integral) or isinstance(self.path, bool) or self.path < 1:
            raise ValueError(f"path must be a whole number from 1 on; got {self.path!r}.")
        if share_of_l1(self.penalty) == 0 and self.path > 1:
            raise ValueError(
                "A path begins at the alpha above which all weights are 0, which the L2 penalty "
                f"does not have; got path={self.path}. Choose path=1 or penalty='l1'."
            )

    def home(self, rows: int | None) -> Any:
        """Return bins."""
        return "binning"

    def rows_per_batch(self, problem: Problem) -> int:
        """Return how many rows are encoded at a time; the result does not depend on it."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> CoordinateDescentState:
        """Return the best constant."""
        constant = best_constant(problem, sample)
        weights = np.zeros((problem.basis.end(None), problem.outputs))
        return opened(problem, weights, constant[None], constant, self.path)

    def advance(
        self, problem: Problem, state: CoordinateDescentState, batch: Batch
    ) -> CoordinateDescentState:
        """Move the weights of a grid, in the first pass none."""
        assert batch.y is not None
        assert isinstance(problem.loss, Smooth)
        assert batch.weight is not None  # groups come with weights
        descent, grid = Descent(problem.loss, batch.y, batch.weight), batch.X
        penalty = self._penalty(problem, state)
        if not state.opened and state.seen == 0 and state.stages == 1 and state.at_zero:
            state.rows = descent.rows_at(np.tile(state.constant, (len(batch), 1)))
            state.opened = True
        if state.opened:
            if state.seen == 0 and problem.intercept:
                self._move_intercept(state, descent)
            state.loss, state.moved = descend(state, descent, grid, penalty)
        else:
            weights = state.weights[state.place(grid)]
            bins = Bins(all_entries(grid, len(weights)), weights, state.basis.height, penalty)
            state.loss = open_with(state, descent, bins)
        state.seen += 1
        return state

    def end_pass(self, problem: Problem, state: CoordinateDescentState) -> CoordinateDescentState:
        """Judge the pass, and go on along the path."""
        if state.stage == state.stages:  # before, there is nothing to be judged by held-out rows
            state.pass_losses.append(state.loss)
        if state.opened:
            self._judge(state)
        state.opened = True
        state.seen, state.fall = 0, 0.0
        return state

    def expansion(self, problem: Problem, state: CoordinateDescentState) -> Expansion:
        """Return the present weights."""
        return Expansion(state.basis, state.weights, state.intercept[0])

    def on_new_rows(
        self, problem: Problem, state: CoordinateDescentState
    ) -> CoordinateDescentState:
        """Go on from the present weights, at the last alpha of the path."""
        weights = problem.basis.spread(state.weights, state.basis)
        return opened(problem, weights, state.intercept, state.constant, 1)

    def size(self, state: CoordinateDescentState) -> int:
        """Return the number of bins."""
        return len(state.weights)

    def regularization(self, rows: int | None) -> float:
        """Return a factor of 1 on the sum over the rows, as liblinear has it by default."""
        return 1.0 / rows if rows else 1e-7

    def solved(self, state: CoordinateDescentState) -> bool:
        """Whether a pass through all bins gained little enough, at the end of the path."""
        return state.between == 0 and state.optimality <= self.tol

    def _penalty(self, problem: Problem, state: CoordinateDescentState) -> Penalty:
        """Return the penalty at this stage of the path: the last one's alpha is the problem's."""
        alpha, share = problem.alpha, share_of_l1(self.penalty)
        if state.opened and state.stage < state.stages and 0 < alpha * share < state.steepest:
            highest = state.steepest / share
            alpha = highest * (alpha / highest) ** (state.stage / state.stages)
        return Penalty.of(self.penalty, alpha)

    def _move_intercept(self, state: CoordinateDescentState, descent: Descent) -> None:
        """Take the step of one more bin, in which all rows lie and which costs nothing."""
        assert state.rows is not None
        rows = np.arange(len(state.rows.f), dtype=np.int32)
        entries = Entries(rows, np.zeros_like(rows), 1)
        everywhere = Bins(entries, state.intercept, 1.0, Penalty(0.0, 0.0))
        state.intercept, fall = descent.take(state.rows, everywhere)
        state.fall += fall

    def _judge(self, state: CoordinateDescentState) -> None:
        """Measure a pass through all bins; choose whether the next one is through all or a few."""
        if state.full:
            fell = state.fall > ROUNDING * state.loss  # else there is nothing left to gain
            share = state.fall / state.first_fall if state.first_fall > 0 and fell else 0.0
            state.optimality, state.full_fall = math.sqrt(max(share, 0.0)), state.fall
            if state.stage < state.stages and state.optimality <= LOOSE * self.tol:
                state.stage, state.optimality = state.stage + 1, math.inf
        state.between = 0 if state.full else state.between + 1
        enough = not state.full and state.fall < SMALL_FALL * state.full_fall
        state.full = not state.active or enough or state.between >= MOST_BETWEEN
