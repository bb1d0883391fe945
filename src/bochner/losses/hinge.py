"""The hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.losses.loss import Array, Margin, row_sums


@dataclass
class Hinge(Margin, name="hinge"):
    """The hinge loss, sum over outputs of max(0, 1 - y f), y = -1 or +1.

    Of the support vector machine (Cortes and Vapnik 1995, Support-vector networks).

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([[1.0], [-1.0]]), np.array([[0.5], [-2.0]]))
    array([0.5, 0. ])
    """

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of max(0, 1 - y f)."""
        return row_sums(np.maximum(1 - y * f, 0))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y where the margin y f is below 1, else 0."""
        return -y * (y * f < 1)
