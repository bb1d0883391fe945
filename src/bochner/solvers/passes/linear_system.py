"""Conjugate gradients whose products are summed batch by batch, and their preconditioners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import solve
from bochner.compute.linear_algebra.vectors import ridge_product, update_direction, update_solution
from bochner.features import Basis, WhitenedBasis
from bochner.problem import Problem
from bochner.records import Validated, require_sound

SMALLEST = 1e-30  # of a diagonal, which is 0 for functions without rows


class Metric(ABC):
    """A preconditioner: a positive definite M close to the matrix and easy to invert."""

    @abstractmethod
    def stepped(
        self,
        x: NDArray[Any],
        r: NDArray[Any],
        p: NDArray[Any],
        q: NDArray[Any],
        length: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Do x += length p, r -= length q and q = 0 in place; return r'M^-1 r, by columns."""

    @abstractmethod
    def turned(self, p: NDArray[Any], r: NDArray[Any], keep: NDArray[np.float64]) -> None:
        """Do p = M^-1 r + keep p in place, r being that of the last step."""


class DiagonalMetric(Metric):
    """M = diag(diagonal)."""

    def __init__(self, diagonal: NDArray[Any]) -> None:
        self.diagonal = diagonal
        np.maximum(diagonal, SMALLEST, out=diagonal)

    def stepped(
        self,
        x: NDArray[Any],
        r: NDArray[Any],
        p: NDArray[Any],
        q: NDArray[Any],
        length: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Do all in one sweep."""
        return update_solution(x, r, p, q, self.diagonal, length)

    def turned(self, p: NDArray[Any], r: NDArray[Any], keep: NDArray[np.float64]) -> None:
        """Do all in one sweep."""
        update_direction(p, r, self.diagonal, keep)


class FactoredMetric(Metric):
    """M = L L' for every output, L its Cholesky factor.

    The unknowns of all outputs may be one column, the outputs of a function beside each other.
    """

    def __init__(self, lower: NDArray[np.float32]) -> None:
        self.lower = lower
        self._solved: NDArray[np.float32] = np.empty(0, np.float32)

    def stepped(
        self,
        x: NDArray[Any],
        r: NDArray[Any],
        p: NDArray[Any],
        q: NDArray[Any],
        length: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Take the step and solve for M^-1 r."""
        x += length * p
        r -= length * q
        q[:] = 0
        self._solved = solve(self.lower, r.reshape(len(self.lower), -1)).reshape(r.shape)
        return np.einsum("ij,ij->j", r, self._solved)  # type: ignore[no-any-return]

    def turned(self, p: NDArray[Any], r: NDArray[Any], keep: NDArray[np.float64]) -> None:
        """Use the M^-1 r of the last step."""
        p *= keep
        p += self._solved


def metric(problem: Problem, curvature: float, diagonal: NDArray[Any] | None) -> Metric:
    """Return the metric for a loss of this curvature: a factor if the basis has one."""
    if isinstance(problem.basis, WhitenedBasis):
        lower = problem.basis.factor(curvature, problem.alpha, problem.intercept)
        return FactoredMetric(lower)
    assert diagonal is not None  # all others need one
    return DiagonalMetric(diagonal)


def precision(basis: Basis) -> type[np.floating[Any]]:
    """Return the dtype of weights: whitened ones are multiplied by an inverse factor."""
    return np.float64 if isinstance(basis, WhitenedBasis) else np.float32


def wants_diagonal(basis: Basis) -> bool:
    """Whether the metric needs the diagonal of Phi'Phi."""
    return not isinstance(basis, WhitenedBasis)


@dataclass
class ConjugateDirections(Validated):
    """Conjugate gradients for A x = b, preconditioned by a metric M; all columns at once.

    A = H share + ridge I is known by products q = H p only; they are summed in `product`, batch by
    batch. The last row of the arrays is the intercept's, which has no ridge.

    From x = 0 and r = b, with z = M^-1 r: a = r'z / p'Ap, x += a p, r -= a A p, and the next
    direction is p = z + (r'z / its value before) p (Saad 2003, Iterative methods for sparse linear
    systems, Algorithm 9.1). A column whose r'z is 0 stays. The record does not hold the metric,
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
            require_sound(part.shape == self.solution.shape, "its parts have other shapes")

    @classmethod
    def begin(
        cls, solution: NDArray[Any], residual: NDArray[Any], metric: Metric, ridge: float
    ) -> ConjugateDirections:
        """Start from a solution and its residual b - A x, which are modified in place."""
        direction = np.zeros_like(residual)
        product = np.zeros_like(residual)
        still = np.zeros(residual.shape[1])
        energy = metric.stepped(solution, residual, direction, product, still)
        metric.turned(direction, residual, still)
        return cls(solution, residual, direction, product, ridge, energy, energy.copy())

    @property
    def relative(self) -> float:
        """The norm of the residual in M^-1, relative to the first one."""
        first = float(self.first_energy.sum())
        return float(np.sqrt(self.energy.sum() / first)) if first > 0 else 0.0

    def step(self, share: float, metric: Metric) -> NDArray[np.float64]:
        """Step along the direction, given its product; return the decrease of x'Ax/2 - b'x.

        It has one value for each column.
        """
        bent = ridge_product(self.direction[:-1], self.product[:-1], self.ridge, share)
        bent = bent + ridge_product(self.direction[-1:], self.product[-1:], 0.0, share)
        length = np.divide(self.energy, bent, out=np.zeros_like(bent), where=bent > 0)
        before, self.steps = self.energy, self.steps + 1
        self.energy = metric.stepped(
            self.solution, self.residual, self.direction, self.product, length
        )
        keep = np.divide(self.energy, before, out=np.zeros_like(before), where=before > 0)
        metric.turned(self.direction, self.residual, keep)
        return 0.5 * length * before
