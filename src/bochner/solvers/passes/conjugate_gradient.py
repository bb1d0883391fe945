"""ConjugateGradient: the linear system of a quadratic loss, one product per pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.losses import Quadratic
from bochner.problem import Problem
from bochner.solvers.passes.linear_system import (
    ConjugateDirections,
    Preconditioner,
    SystemSolver,
    SystemState,
    add_projected,
    constant_weights,
    embedded_weights,
    evaluated,
    needs_diagonal,
    preconditioner,
)
from bochner.solvers.solver import SolverTags, require_weight, ridge_of

PIECE = 65_536  # rows of the weights at a time, to limit the memory of intermediate results


@dataclass
class ConjugateGradientState(SystemState):
    """The weights, and the system after the first pass.

    The first pass sums the gradient at the weights in `sums` and the diagonal of the matrix, which
    defines the norm of the residual, in `diagonal`. Then `system.solution` is the same array as
    `weights`. `total_weight` is the sum of the row weights in the current pass.
    """

    sums: NDArray[Any] | None = None
    diagonal: NDArray[Any] | None = None
    system: ConjugateDirections | None = None
    total_weight: float = 0.0
    total: float = 0.0


@dataclass
class ConjugateGradient(SystemSolver[ConjugateGradientState], name="cg"):
    r"""Conjugate gradients on the ridge regression of all rows, preconditioned by the diagonal.

    (Phi'W Phi / sum(W) + alpha I) w = Phi'W (y - b) / sum(W), W the rows' weights and b the
    intercept, an unpenalised unknown of its own (Wu, Yen et al. 2016, Eq. 8, with means instead of
    sums). Each pass computes one product with the matrix, which is never formed, for all outputs.
    Vectors are in single precision, sums in double.

    Parameters
    ----------
    tol : float
        Ends the fit when the residual, in the norm of the inverse diagonal, is at most this
        fraction of the first one.

    See Also
    --------
    Backfitting : Usually faster on bins.
    Newton : For other smooth losses.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(solver="cg", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.02)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=ConjugateGradientState,
        loss_type=Quadratic,
        access="rows",
        evaluates="passes",
        patience=2,
        takes_ridge=True,
        features="binning",
        default_alpha=ridge_of,
    )

    tol: float = 1e-3

    def init(self, problem: Problem, sample: Batch) -> ConjugateGradientState:
        """Return the best constant."""
        return initial_state(problem, constant_weights(problem, sample))

    def advance(
        self, problem: Problem, state: ConjugateGradientState, batch: Batch
    ) -> ConjugateGradientState:
        """Add the batch's part of the gradient, or of the product with the direction."""
        weight = batch.weights
        state.total_weight += float(weight.sum())
        if state.system is None:
            self._add_gradient(problem, state, batch, weight)
        else:
            values = evaluated(problem, batch.X, state.system.direction)
            add_projected(problem, batch.X, values * weight[:, None], state.system.product)
        return state

    def end_pass(self, problem: Problem, state: ConjugateGradientState) -> ConjugateGradientState:
        """Take a step of conjugate gradients."""
        require_weight(state.total_weight)
        if state.system is None:
            state.system = self._system(problem, state)
            state.loss = state.total / state.total_weight
            state.pass_losses.append(state.loss + penalty(problem, state))
        else:
            gain = state.system.step(1.0 / state.total_weight, self._preconditioner(problem, state))
            state.moved = float(np.sum(gain))
            state.pass_losses.append(state.pass_losses[-1] - state.moved)
            state.loss = max(state.pass_losses[-1] - penalty(problem, state), 0.0)
        state.optimality = state.system.relative
        state.total_weight = state.total = 0.0
        return state

    def on_new_rows(
        self, problem: Problem, state: ConjugateGradientState
    ) -> ConjugateGradientState:
        """Restart from the present weights."""
        return initial_state(problem, embedded_weights(problem, state))

    def _add_gradient(
        self,
        problem: Problem,
        state: ConjugateGradientState,
        batch: Batch,
        weight: NDArray[np.float64],
    ) -> None:
        if state.sums is None:
            state.sums = np.zeros_like(state.weights)
            state.diagonal = np.zeros(len(state.weights), state.weights.dtype)
        y, f = batch.targets, evaluated(problem, batch.X, state.weights)
        state.total += float(weight @ problem.loss.value(y, f))
        add_projected(problem, batch.X, problem.loss.gradient(y, f) * weight[:, None], state.sums)
        if state.diagonal is not None and needs_diagonal(problem.basis):
            problem.basis.squares(batch.X, batch.weight, state.diagonal[:-1])

    def _system(self, problem: Problem, state: ConjugateGradientState) -> ConjugateDirections:
        assert state.sums is not None
        assert state.diagonal is not None
        residual, alpha = state.sums, state.weights.dtype.type(problem.alpha)
        residual /= -state.total_weight
        for top in range(0, len(residual) - 1, PIECE):
            part = slice(top, min(top + PIECE, len(residual) - 1))
            residual[part] -= alpha * state.weights[part]
        state.diagonal /= state.total_weight
        state.diagonal += alpha
        state.diagonal[-1] = 1.0
        state.sums = None
        M = self._preconditioner(problem, state)
        return ConjugateDirections.begin(state.weights, residual, M, problem.alpha)

    def _preconditioner(self, problem: Problem, state: ConjugateGradientState) -> Preconditioner:
        assert isinstance(problem.loss, Quadratic)
        return preconditioner(problem, problem.loss.curvature_bound, state.diagonal)


def penalty(problem: Problem, state: ConjugateGradientState) -> float:
    """Return alpha/2 |f|^2, which the objective has beside the mean loss."""
    weights = state.weights[:-1]
    squares = np.einsum("ij,ij->", weights, weights, dtype=np.float64)
    return problem.alpha / 2 * float(squares)


def initial_state(problem: Problem, weights: NDArray[Any]) -> ConjugateGradientState:
    """Return the state before the first pass."""
    return ConjugateGradientState(0.0, 0.0, [], problem.basis, weights)
