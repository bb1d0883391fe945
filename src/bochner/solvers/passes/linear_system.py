"""Linear systems whose products are summed batch by batch, and the solvers that need them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import solve
from bochner.compute.linear_algebra.vectors import ridge_product, update_direction, update_solution
from bochner.data import Batch
from bochner.features import Basis, BinningBasis, WhitenedBasis
from bochner.problem import Expansion, Problem
from bochner.records import Validated, require_sound
from bochner.solvers.solver import (
    Solver,
    State,
    best_constant,
    require_finite_basis,
    require_weights,
)
from bochner.validation import require_positive

BATCH_ROWS = 262_144  # long, since each batch touches all weights
SMALLEST = 1e-30  # of a diagonal, which is 0 for functions without rows


@dataclass
class SystemState(State):
    """The weights on a basis, with the intercept as their last row."""

    basis: Basis
    weights: NDArray[Any]

    @property
    def size(self) -> int:
        """The number of weights, without the intercept."""
        return len(self.weights) - 1

    def validate(self) -> None:
        """Check that there is a weight for each function."""
        require_weights(self.basis, self.weights)


S = TypeVar("S", bound=SystemState)


class SystemSolver(Solver[S]):
    """A solver of linear systems; each pass over encoded rows computes one product.

    `tol` ends the fit: the norm of the residual or of the gradient, relative to the first one.
    """

    tol: float

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for a tolerance out of range, and for an infinite basis."""
        require_positive("tol", self.tol)
        require_finite_basis(problem)

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows of a batch; the result depends on it only by rounding."""
        return BATCH_ROWS

    def expansion(self, problem: Problem, state: S) -> Expansion:
        """Return the function of the weights."""
        return Expansion(problem.basis, state.weights[:-1], state.weights[-1].astype(np.float64))

    def solved(self, state: S) -> bool:
        """Whether the residual or the gradient is small enough."""
        return state.optimality <= self.tol


def constant_weights(problem: Problem, sample: Batch) -> NDArray[Any]:
    """Return zero weights, with the best constant as their last row.

    Whitened weights are in double precision, since they are multiplied by an inverse factor.
    """
    precision = np.float64 if isinstance(problem.basis, WhitenedBasis) else np.float32
    weights = np.zeros((problem.basis.end(None) + 1, problem.outputs), precision)
    weights[-1] = best_constant(problem, sample)
    return weights


def embedded_weights(problem: Problem, state: SystemState) -> NDArray[Any]:
    """Return the weights of a state, and its intercept, on the problem's basis."""
    old = state.weights[:-1]
    new = problem.basis.embed_weights(old, state.basis)
    return state.weights if new is old else np.concatenate([new, state.weights[-1:]])


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


@dataclass
class ConjugateDirections(Validated):
    """Conjugate gradients for A x = b with a preconditioner M; all columns at once.

    A = H share + ridge I is known by products q = H p only; they are summed in `product`, batch by
    batch. The last row of the arrays is the intercept's, which has no ridge.

    From x = 0 and r = b, with z = M^-1 r: a = r'z / p'Ap, x += a p, r -= a A p, and the next
    direction is p = z + (r'z / its value before) p (Saad 2003, Iterative methods for sparse linear
    systems, Algorithm 9.1). A column whose r'z is 0 does not change. The record does not hold M,
    which can be large and can be computed again.
    """

    solution: NDArray[Any]
    residual: NDArray[Any]
    direction: NDArray[Any]
    product: NDArray[Any]
    ridge: float
    energy: NDArray[np.float64]
    first_energy: NDArray[np.float64]
    steps: int = 0

    def validate(self) -> None:
        """Check that all vectors have the shape of the solution."""
        for part in (self.residual, self.direction, self.product):
            require_sound(part.shape == self.solution.shape, "its vectors differ in shape")

    @classmethod
    def begin(
        cls, solution: NDArray[Any], residual: NDArray[Any], M: Preconditioner, ridge: float
    ) -> ConjugateDirections:
        """Start from a solution and its residual b - A x, which are modified in place."""
        zeros, none = np.zeros_like(residual), np.zeros(residual.shape[1])
        system = cls(solution, residual, zeros, zeros.copy(), ridge, none, none)
        system.energy = M.move(system, none)
        system.first_energy = system.energy.copy()
        M.turn(system, none)
        return system

    @property
    def relative(self) -> float:
        """The norm of the residual in M^-1, relative to the first one."""
        first = float(self.first_energy.sum())
        return float(np.sqrt(self.energy.sum() / first)) if first > 0 else 0.0

    def step(self, share: float, M: Preconditioner) -> NDArray[np.float64]:
        """Step along the direction, given its product; return the decrease of x'Ax/2 - b'x.

        It has one value for each column.
        """
        curvature = ridge_product(self.direction[:-1], self.product[:-1], self.ridge, share)
        curvature = curvature + ridge_product(self.direction[-1:], self.product[-1:], 0.0, share)
        length = ratio(self.energy, curvature)
        before, self.steps = self.energy, self.steps + 1
        self.energy = M.move(self, length)
        M.turn(self, ratio(self.energy, before))
        return 0.5 * length * before


def ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a / b where b is positive, else 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)


class Preconditioner(ABC):
    """A positive definite matrix M that is close to the matrix of a system and easy to invert.

    Of the system, x is the solution, r the residual, p the direction and q its product.
    """

    @abstractmethod
    def move(self, system: ConjugateDirections, length: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do x += length p, r -= length q and q = 0 in place; return r'M^-1 r, by columns."""

    @abstractmethod
    def turn(self, system: ConjugateDirections, keep: NDArray[np.float64]) -> None:
        """Do p = M^-1 r + keep p in place, r being that of the last move."""


class DiagonalPreconditioner(Preconditioner):
    """M = diag(diagonal)."""

    def __init__(self, diagonal: NDArray[Any]) -> None:
        self.diagonal = diagonal
        np.maximum(diagonal, SMALLEST, out=diagonal)

    def move(self, system: ConjugateDirections, length: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do all in one loop."""
        x, r, p, q = system.solution, system.residual, system.direction, system.product
        return update_solution(x, r, p, q, self.diagonal, length)

    def turn(self, system: ConjugateDirections, keep: NDArray[np.float64]) -> None:
        """Do all in one loop."""
        update_direction(system.direction, system.residual, self.diagonal, keep)


class FactoredPreconditioner(Preconditioner):
    """M = L L' for every output, L its Cholesky factor.

    The unknowns of all outputs may be one column, the outputs of a function beside each other.
    """

    def __init__(self, lower: NDArray[np.float32]) -> None:
        self.lower = lower
        self._solved: NDArray[np.float32] = np.empty(0, np.float32)

    def move(self, system: ConjugateDirections, length: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take the step and solve for M^-1 r."""
        r = system.residual
        system.solution += length * system.direction
        r -= length * system.product
        system.product[:] = 0
        self._solved = solve(self.lower, r.reshape(len(self.lower), -1)).reshape(r.shape)
        return np.einsum("ij,ij->j", r, self._solved)  # type: ignore[no-any-return]

    def turn(self, system: ConjugateDirections, keep: NDArray[np.float64]) -> None:
        """Use the M^-1 r of the last move."""
        system.direction *= keep
        system.direction += self._solved


def preconditioner(
    problem: Problem, curvature: float, diagonal: NDArray[Any] | None
) -> Preconditioner:
    """Return M for a loss of this curvature: a Cholesky factor if the basis has one."""
    if isinstance(problem.basis, WhitenedBasis):
        lower = problem.basis.factor(curvature, problem.alpha, problem.intercept)
        return FactoredPreconditioner(lower)
    assert diagonal is not None  # all others need one
    return DiagonalPreconditioner(diagonal)


def needs_diagonal(basis: Basis) -> bool:
    """Whether the preconditioner needs the diagonal of Phi'Phi."""
    return not isinstance(basis, WhitenedBasis)
