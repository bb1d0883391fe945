"""The loss of the convex dual of a density ratio."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from bochner.losses.loss import Array, Margin, Smooth, row_sums

LARGEST = 6.0  # logarithm of the ratio, beyond which the exponential goes on as its parabola


@dataclass
class DensityDual(Smooth, Margin):
    r"""The loss -f for rows of p (y = +1) and exp(f) for rows of q (y = -1).

    With half of the weight on either sample twice its mean is E_q exp(f) - E_p f, which is least
    for f = log(p/q), where it is 1 - KL(p, q) (Nguyen, Wainwright and Jordan 2010, Estimating
    divergence functionals and the likelihood ratio by convex risk minimization, section III).
    Beyond f = 6, a ratio of 403, the exponential is replaced by its parabola there: single
    rows of q can then not throw a fit off its way.

    Examples
    --------
    >>> import numpy as np
    >>> DensityDual().value(np.array([[1.0], [-1.0]]), np.array([[0.5], [0.0]]))
    array([-0.5,  1. ])
    """

    curvature_bound = exp(LARGEST)
    bound_is_far = True

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of -f or exp(f)."""
        return row_sums(np.where(y > 0, -f, self._exponential(f)))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -1 or exp(f)."""
        return np.where(y > 0, -np.ones_like(f), _bent(f) * (1 + _beyond(f)))

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return 0 or exp(f) V."""
        return np.where(y > 0, np.zeros_like(f), _bent(f)) * V

    def _exponential(self, f: Array) -> Array:
        beyond = _beyond(f)
        return _bent(f) * (1 + beyond + beyond * beyond / 2)


def _bent(f: Array) -> Array:
    return np.exp(np.minimum(f, LARGEST))  # type: ignore[no-any-return]


def _beyond(f: Array) -> Array:
    return np.maximum(f - LARGEST, 0)  # type: ignore[no-any-return]
