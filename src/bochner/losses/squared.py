"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.compute.bins import loss_rows
from bochner.losses.loss import (
    Array,
    ClippedLine,
    Margin,
    PiecewiseQuadratic,
    Probabilistic,
    Quadratic,
    Regression,
    row_sums,
)

DOUBT = 0.01  # the sum of the floors of the probabilities (1 + f) / 2


@dataclass
class Squared(PiecewiseQuadratic, Quadratic, Regression, Margin, Probabilistic, name="squared"):
    """The squared loss, |f - y|^2 / 2.

    The loss of kernel ridge regression and, on labels coded -1 and +1, of the least-squares
    classifier (Rifkin, Yeo and Poggio 2003, Regularized least-squares classification, section 3),
    where f estimates the mean of y, which is 2 p - 1.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([[1.0]]), np.array([[3.0]]))
    array([2.])
    """

    curvature_bound = 1.0
    row_loop = loss_rows.squared

    def value(self, y: Array, f: Array) -> Array:
        """Return |f - y|^2 / 2."""
        residual = f - y
        return row_sums(residual * residual) / 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the residual f - y."""
        return f - y

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return V: the Hessian is the identity."""
        return V.copy()

    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return the line f - y."""
        return (ClippedLine(y, -np.inf, np.inf, 1.0),)

    def probabilities(self, f: Array) -> Array:
        """Return (1 + f) / 2 of each class as a share of their sum.

        Below a floor a hyperbola replaces the line: it stays above 0 and keeps the order.
        """
        p = (1 + (np.hstack([-f, f]) if f.shape[1] == 1 else f)) / 2
        floor = DOUBT / p.shape[1]
        p = np.where(p > floor, p, floor / (1 + floor - np.minimum(p, floor)))
        return p / row_sums(p)[:, None]
