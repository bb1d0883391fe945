"""Metric: the preconditioner of a linear system, which measures its residual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import solve
from bochner.compute.linear_algebra.vectors import stepped, turned
from bochner.features import Basis, WhitenedBasis
from bochner.problem import Problem

SMALLEST = 1e-30  # of a diagonal; functions that no row has have 0


class Metric(ABC):
    """A positive definite M that resembles the matrix of a system and is easily inverted."""

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
        return stepped(x, r, p, q, self.diagonal, length)

    def turned(self, p: NDArray[Any], r: NDArray[Any], keep: NDArray[np.float64]) -> None:
        """Do all in one sweep."""
        turned(p, r, self.diagonal, keep)


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
        """Use what the step has found."""
        p *= keep
        p += self._solved


def metric(problem: Problem, curvature: float, diagonal: NDArray[Any] | None) -> Metric:
    """Return the metric for a loss of so much curvature: a factor if the basis has one."""
    if isinstance(problem.basis, WhitenedBasis):
        lower = problem.basis.factor(curvature, problem.alpha, problem.intercept)
        return FactoredMetric(lower)
    assert diagonal is not None  # all others need one
    return DiagonalMetric(diagonal)


def precision(basis: Basis) -> type[np.floating[Any]]:
    """Return the dtype of weights: whitened ones are multiplied by an inverse factor."""
    return np.float64 if isinstance(basis, WhitenedBasis) else np.float32


def wants_diagonal(basis: Basis) -> bool:
    """Whether the diagonal of Phi'Phi has to be summed for the metric."""
    return not isinstance(basis, WhitenedBasis)
