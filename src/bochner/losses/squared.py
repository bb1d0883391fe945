"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.compute import loss_rows
from bochner.losses.loss import Array, Margin, Quadratic, Regression, row_sums


@dataclass
class Squared(Quadratic, Regression, Margin, name="squared"):
    """The squared loss, |f - y|^2 / 2.

    Of kernel ridge regression and, on labels coded -1 and +1, of the least-squares classifier
    (Rifkin, Yeo and Poggio 2003, Regularized least-squares classification, section 3).

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
