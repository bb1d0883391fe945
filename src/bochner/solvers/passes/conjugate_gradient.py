"""ConjugateGradient: the linear system of a quadratic loss, one product per pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.features import Basis, BinningBasis
from bochner.losses import Quadratic
from bochner.problem import Expansion, Problem
from bochner.solvers.initialization import best_constant
from bochner.solvers.passes.linear_system import (
    ConjugateDirections,
    Metric,
    metric,
    precision,
    wants_diagonal,
)
from bochner.solvers.solver import (
    Solver,
    SolverTags,
    State,
    require_finite_basis,
    require_mass,
    require_weights,
    ridge_of,
)
from bochner.validation import require_positive

BATCH_ROWS = 262_144  # long, since each batch touches all weights
PIECE = 65_536


@dataclass
class ConjugateGradientState(State):
    """The weights with the intercept as their last row, and the system after the first pass.

    The first pass sums the gradient at the weights in `sums` and the diagonal of the matrix, which
    defines the norm of the residual, in `diagonal`. Then `system.solution` is the same array as
    `weights`. `mass` is the sum of the row weights in the current pass.
    """

    basis: Basis
    weights: NDArray[Any]
    sums: NDArray[Any] | None = None
    diagonal: NDArray[Any] | None = None
    system: ConjugateDirections | None = None
    mass: float = 0.0
    total: float = 0.0

    @property
    def size(self) -> int:
        """The number of weights, without the intercept."""
        return len(self.weights) - 1

    def validate(self) -> None:
        """Check that there is a weight for each function."""
        require_weights(self.basis, self.weights)


@dataclass
class ConjugateGradient(Solver[ConjugateGradientState], name="cg"):
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

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for a tolerance out of range, and for an infinite basis."""
        require_positive("tol", self.tol)
        require_finite_basis(problem)

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows of a batch; the result depends on it only by rounding."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> ConjugateGradientState:
        """Return the best constant."""
        size = problem.basis.end(None)
        weights = np.zeros((size + 1, problem.outputs), precision(problem.basis))
        weights[-1] = best_constant(problem, sample)
        return initial_state(problem.basis, weights, [])

    def advance(
        self, problem: Problem, state: ConjugateGradientState, batch: Batch
    ) -> ConjugateGradientState:
        """Add the batch's part of the gradient, or of the product with the direction."""
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        state.mass += float(weight.sum())
        if state.system is None:
            self._add_gradient(problem, state, batch, weight)
        else:
            values = evaluated(problem, batch.X, state.system.direction)
            add_projected(problem, batch.X, values * weight[:, None], state.system.product)
        return state

    def end_pass(self, problem: Problem, state: ConjugateGradientState) -> ConjugateGradientState:
        """Take a step of conjugate gradients."""
        require_mass(state.mass)
        if state.system is None:
            state.system = self._system(problem, state)
            state.pass_losses.append(state.total / state.mass)
        else:
            gain = state.system.step(1.0 / state.mass, self._metric(problem, state))
            state.moved = float(np.sum(gain))
            state.pass_losses.append(state.pass_losses[-1] - state.moved)
        state.loss, state.optimality = state.pass_losses[-1], state.system.relative
        state.mass = state.total = 0.0
        return state

    def expansion(self, problem: Problem, state: ConjugateGradientState) -> Expansion:
        """Return the present weights."""
        return Expansion(problem.basis, state.weights[:-1], state.weights[-1].astype(np.float64))

    def on_new_rows(
        self, problem: Problem, state: ConjugateGradientState
    ) -> ConjugateGradientState:
        """Restart from the present weights."""
        return initial_state(problem.basis, spread(problem, state.basis, state.weights), [])

    def solved(self, state: ConjugateGradientState) -> bool:
        """Whether the residual is small enough."""
        return state.optimality <= self.tol

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
        assert batch.y is not None  # training batches have targets
        f = evaluated(problem, batch.X, state.weights)
        state.total += float(weight @ problem.loss.value(batch.y, f))
        slopes = problem.loss.gradient(batch.y, f) * weight[:, None]
        add_projected(problem, batch.X, slopes, state.sums)
        if state.diagonal is not None and wants_diagonal(problem.basis):
            problem.basis.squares(batch.X, batch.weight, state.diagonal[:-1])

    def _system(self, problem: Problem, state: ConjugateGradientState) -> ConjugateDirections:
        assert state.sums is not None
        assert state.diagonal is not None
        residual, alpha = state.sums, state.weights.dtype.type(problem.alpha)
        residual /= -state.mass
        for part in cuts(len(residual) - 1):
            residual[part] -= alpha * state.weights[part]
        state.diagonal /= state.mass
        state.diagonal += alpha
        state.diagonal[-1] = 1.0
        state.sums = None
        found = self._metric(problem, state)
        return ConjugateDirections.begin(state.weights, residual, found, problem.alpha)

    def _metric(self, problem: Problem, state: ConjugateGradientState) -> Metric:
        assert isinstance(problem.loss, Quadratic)
        return metric(problem, problem.loss.curvature_bound, state.diagonal)


def initial_state(
    basis: Basis, weights: NDArray[Any], pass_losses: list[float]
) -> ConjugateGradientState:
    """Return the state before the first pass."""
    return ConjugateGradientState(
        loss=0.0,
        moved=0.0,
        pass_losses=pass_losses,
        basis=basis,
        weights=weights,
    )


def evaluated(problem: Problem, code: Any, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return Phi w + b, b being the last row of the weights."""
    return np.asarray(problem.basis.evaluate(code, weights[:-1]) + weights[-1].astype(np.float64))


def add_projected(
    problem: Problem, code: Any, values: NDArray[np.float64], total: NDArray[Any]
) -> None:
    """Add Phi' values to a total whose last row is the intercept's, 0 if there is none."""
    if isinstance(problem.basis, BinningBasis):
        problem.basis.add_projection(code, values, total[:-1])
    else:
        total[:-1] += problem.basis.project(code, values)
    if problem.intercept:
        total[-1] += values.sum(axis=0)


def spread(problem: Problem, before: Basis, weights: NDArray[Any]) -> NDArray[Any]:
    """Return weights and intercept in the order of the problem's basis."""
    old = weights[:-1]
    new = problem.basis.embed_weights(old, before)
    return weights if new is old else np.concatenate([new, weights[-1:]])


def cuts(rows: int) -> Iterator[slice]:
    """Yield slices of the rows, to limit the memory of intermediate results."""
    return (slice(top, min(top + PIECE, rows)) for top in range(0, rows, PIECE))
