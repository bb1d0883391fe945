"""Backfitting: regression on bins, one grid after the other, a part of the way each time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bochner.data import Batch
from bochner.features import BinningBasis
from bochner.losses import Quadratic, RoundedAbsolute
from bochner.problem import Expansion, Problem
from bochner.solvers.backfitting_rows import rows_of
from bochner.solvers.backfitting_state import BackfittingState, opened
from bochner.solvers.conjugate_gradient import require_tolerance, ridge_of
from bochner.solvers.opening import best_constant
from bochner.solvers.solver import Solver

BATCH_ROWS = 65_536  # that one thread works on


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
    >>> from bochner.loop import run
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
