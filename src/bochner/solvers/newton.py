"""Newton: a smooth loss by quadratic models, each solved by a few conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from bochner.data import Batch
from bochner.losses import Smooth
from bochner.problem import Expansion, Problem
from bochner.solvers.conjugate_gradient import (
    BATCH_ROWS,
    require_finite_basis,
    require_tolerance,
    ridge_of,
    spread,
)
from bochner.solvers.metric import precision
from bochner.solvers.newton_passes import (
    accept,
    add_product,
    add_trial,
    descend,
    longest,
    newton_descent,
    shortened,
    smooth,
)
from bochner.solvers.newton_state import Descent, NewtonState, Trial, make_room, opened, trial
from bochner.solvers.opening import best_constant
from bochner.solvers.solver import Solver

MOST_STEPS = 50  # of conjugate gradients in one model
BEYOND = 1.8  # times as far as its minimum a model that lies above the loss is still lower
ROUNDING = float(np.finfo(np.float64).eps)
COARSEST = 0.5  # relative residual of a model's solution
COARSEST_ABOVE = 0.2  # of one above the loss: coarser ones gain so little that a fit seems to end


@dataclass
class Newton(Solver[NewtonState], name="newton"):
    r"""Newton's method with directions from conjugate gradients, preconditioned by the diagonal.

    H d = -g with g = Phi'W l'(f) / sum(W) + alpha w and H = Phi'W l''(f) Phi / sum(W) + alpha I, l
    the loss, W the rows' weights, and an intercept without penalty. The system is solved up to the
    relative residual min(1/2, sqrt(|g| / |first g|)), or half of what `tol` asks for if that is
    more (Eisenstat and Walker 1996, Choosing the forcing terms in an inexact Newton method,
    section 2; Kelley 1995, Iterative methods for linear and nonlinear equations, Eq. 6.20); then
    w + d is tried, and d is halved until the objective falls enough (Nocedal and Wright 2006,
    Numerical optimization, Algorithm 7.1).

    A trial takes one pass and brings the gradient there too; every step of conjugate gradients
    takes one. All outputs go together. Vectors of weights are in single precision, values at the
    rows and sums in double.

    Parameters
    ----------
    tol : float
        Ends the fit when the gradient, in the norm of the inverse diagonal of H, has fallen to
        this fraction of the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Fourier
    >>> from bochner.kernels import Gaussian
    >>> from bochner.loop import run
    >>> from bochner.losses import Logistic
    >>> from bochner.problem import Problem
    >>> from bochner.solvers import Newton
    >>> from bochner.stopping import Passes, Solved
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> source = ArraySource(X, np.where(abs(X) < 1, 1.0, -1.0))
    >>> basis = Fourier(64).build(Gaussian(1.0), source.sample(100), seed=0)
    >>> problem = Problem(basis, Logistic(), alpha=1e-3, outputs=1, rows=100)
    >>> solution = run(Newton(), problem, source, stop=Solved() | Passes(100))
    >>> solution.reason.converged, solution.expansion(np.array([[0.0], [1.9]])) > 0
    (True, array([[ True],
                  [False]]))
    """

    state_type: ClassVar[type[Any]] = NewtonState
    loss_type: ClassVar[type[Any]] = Smooth
    walks: ClassVar[Literal["shuffled", "rows", "groups"]] = "rows"
    looks: ClassVar[Literal["steps", "passes"]] = "passes"
    patience: ClassVar[int] = 2
    takes_ridge: ClassVar[bool] = True

    tol: float = 1e-2

    def check(self, problem: Problem) -> None:
        """Refuse a tolerance out of range, and a basis without end."""
        super().check(problem)
        require_tolerance(self.tol)
        require_finite_basis(problem)

    def home(self, rows: int | None) -> Any:
        """Return bins."""
        return "binning"

    def rows_per_batch(self, problem: Problem) -> int:
        """Return how many rows a batch has; the result depends on it only by rounding."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> NewtonState:
        """Return the best constant."""
        size, dtype = problem.basis.end(None), precision(problem.basis)
        weights = np.zeros((size + 1, problem.outputs), dtype)
        weights[-1] = best_constant(problem, sample)
        return opened(problem, weights)

    def advance(self, problem: Problem, state: NewtonState, batch: Batch) -> NewtonState:
        """Add the batch's part of what the phase collects."""
        if isinstance(state.phase, Trial):
            make_room(state, batch)
            add_trial(problem, state, state.phase, batch)
        else:
            add_product(problem, state, state.phase, batch)
        return state

    def end_pass(self, problem: Problem, state: NewtonState) -> NewtonState:
        """Accept or shorten a trial, or take a step of conjugate gradients."""
        if isinstance(state.phase, Trial):
            self._end_trial(problem, state, state.phase)
        else:
            self._end_product(problem, state, state.phase)
        return state

    def expansion(self, problem: Problem, state: NewtonState) -> Expansion:
        """Return the best weights so far."""
        return Expansion(problem.basis, state.weights[:-1], state.weights[-1].astype(np.float64))

    def on_new_rows(self, problem: Problem, state: NewtonState) -> NewtonState:
        """Begin anew from the best weights so far."""
        return opened(problem, spread(problem, state.basis, state.weights))

    def size(self, state: NewtonState) -> int:
        """Return the number of weights."""
        return len(state.weights) - 1

    def regularization(self, rows: int | None) -> float:
        """Return a ridge on the sum over the rows."""
        return ridge_of(rows)

    def solved(self, state: NewtonState) -> bool:
        """Whether the gradient is small enough."""
        return state.optimality <= self.tol

    def _end_trial(self, problem: Problem, state: NewtonState, ended: Trial) -> None:
        length = longest(problem, state, ended)
        if ended.direction is not None and length != 1.0:
            state.phase = shortened(state, ended, length)
            return
        accept(problem, state, ended)
        descent = newton_descent(problem, state, ended)
        norm = sqrt(descent.system.energy.sum())
        # A start from which less can be gained than the objective is rounded by is the minimum.
        if state.first_norm == 0.0 and norm**2 > ROUNDING * state.objective:
            state.first_norm = norm
        state.optimality = norm / state.first_norm if state.first_norm > 0 else 0.0
        descent.accuracy = self._accuracy(problem, state.optimality)
        state.phase = descent

    def _end_product(self, problem: Problem, state: NewtonState, descent: Descent) -> None:
        descend(problem, descent)
        system, state.moved = descent.system, descent.gain
        if system.relative > descent.accuracy and system.steps < MOST_STEPS:
            return
        # The residual of a conjugate gradient iterate d is orthogonal to it: -g'd = d'Hd.
        reach = BEYOND if smooth(problem).model_is_above else 1.0
        direction = system.solution.reshape(state.weights.shape) * state.weights.dtype.type(reach)
        state.phase = trial(state.weights, direction, slope=-2 * reach * descent.gain)

    def _accuracy(self, problem: Problem, optimality: float) -> float:
        coarsest = COARSEST_ABOVE if smooth(problem).model_is_above else COARSEST
        enough = 0.5 * self.tol / optimality if optimality > 0 else coarsest
        return min(coarsest, max(sqrt(optimality), enough))
