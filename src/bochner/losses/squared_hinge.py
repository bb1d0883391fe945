"""The squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.compute.bins import loss_rows
from bochner.losses.loss import Array, Margin, Smooth, row_sums


@dataclass
class SquaredHinge(Smooth, Margin, name="squared_hinge"):
    """The squared hinge loss, sum over outputs of max(0, 1 - y f)^2, y = -1 or +1.

    Of the L2 support vector machine (Chang, Hsieh and Lin 2008, Coordinate descent method for
    large-scale L2-loss linear support vector machines).

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().value(np.array([[1.0], [-1.0]]), np.array([[0.5], [-2.0]]))
    array([0.25, 0.  ])
    """

    curvature_bound = 2.0
    row_loop = loss_rows.squared_hinge

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of max(0, 1 - y f)^2."""
        return row_sums(np.maximum(1 - y * f, 0) ** 2)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -2 y max(0, 1 - y f)."""
        return -2 * y * np.maximum(1 - y * f, 0)

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return 2 V where the margin y f is below 1, else 0."""
        return 2 * V * (y * f < 1)
