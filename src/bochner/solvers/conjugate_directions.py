"""ConjugateDirections: a linear system that is solved as its products come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.vectors import curved
from bochner.solvers.metric import Metric


@dataclass
class ConjugateDirections:
    """Conjugate gradients for A x = b, preconditioned by a metric M; all columns at once.

    Of A = H share + ridge I only products q = H p are needed; they are added up in `product`,
    batch by batch. The last row of the arrays is the intercept's, which has no ridge.

    From x = 0 and r = b, with z = M^-1 r: a = r'z / p'Ap, x += a p, r -= a A p, and the next
    direction is p = z + (r'z / its value before) p (Saad 2003, Iterative methods for sparse linear
    systems, Algorithm 9.1). A column whose r'z is 0 stays. The metric is no part of this record:
    it can be large, and it can be made again.
    """

    solution: NDArray[Any]
    residual: NDArray[Any]
    direction: NDArray[Any]
    product: NDArray[Any]
    ridge: float
    energy: NDArray[np.float64]
    first_energy: NDArray[np.float64]
    steps: int = 0

    @classmethod
    def begin(
        cls, solution: NDArray[Any], residual: NDArray[Any], metric: Metric, ridge: float
    ) -> ConjugateDirections:
        """Start from a solution and its residual b - A x, which are taken."""
        direction = np.zeros_like(residual)
        product = np.zeros_like(residual)
        still = np.zeros(residual.shape[1])
        energy = metric.stepped(solution, residual, direction, product, still)
        metric.turned(direction, residual, still)
        return cls(solution, residual, direction, product, ridge, energy, energy.copy())

    @property
    def relative(self) -> float:
        """The size of the residual in the norm of M^-1, relative to the first one."""
        first = float(self.first_energy.sum())
        return float(np.sqrt(self.energy.sum() / first)) if first > 0 else 0.0

    def step(self, share: float, metric: Metric) -> NDArray[np.float64]:
        """Go along the direction, given its product; return by how much each column's energy fell.

        That is the decrease of x'Ax/2 - b'x.
        """
        bent = curved(self.direction[:-1], self.product[:-1], self.ridge, share)
        bent = bent + curved(self.direction[-1:], self.product[-1:], 0.0, share)
        length = np.divide(self.energy, bent, out=np.zeros_like(bent), where=bent > 0)
        before, self.steps = self.energy, self.steps + 1
        self.energy = metric.stepped(
            self.solution, self.residual, self.direction, self.product, length
        )
        keep = np.divide(self.energy, before, out=np.zeros_like(before), where=before > 0)
        metric.turned(self.direction, self.residual, keep)
        return 0.5 * length * before
