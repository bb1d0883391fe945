"""Losses of densities: the one-class loss, and the convex dual of a density ratio."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from bochner.losses.loss import Array, Margin, Offset, Smooth, row_sums

LARGEST_LOGARITHM = 6.0  # logarithm of the ratio beyond which a parabola replaces the exponential


@dataclass
class OneClass(Offset):
    r"""The loss of the one-class support vector machine, max(0, -f), where f = h - rho.

    With a cost -nu rho of the threshold the problem is

        min over h and rho of alpha/2 |h|^2 + mean max(0, rho - h(x)) - nu rho

    (Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001, Estimating the support of a
    high-dimensional distribution, Eq. 4, times nu, for alpha = nu). For a given h its derivative in
    rho is the share of rows below rho, minus nu: the best rho is the nu-quantile of h. Another
    alpha divides h and rho by a number and changes nothing else.

    Parameters
    ----------
    nu : float
        The share of the rows below the threshold, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> OneClass(0.5).value(np.ones((2, 1)), np.array([[0.5], [-2.0]]))
    array([0., 2.])
    >>> OneClass(0.5).offset(np.array([[1.0], [3.0], [2.0], [4.0]]), None)
    array([-2.])
    """

    nu: float = 0.1

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of max(0, -f)."""
        return row_sums(np.maximum(-f, 0))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -1 where f <= 0, and 0 elsewhere; f = 0 at the rows that define the threshold."""
        return -(f <= 0).astype(f.dtype)

    def offset(self, h: Array, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return -rho, rho the nu-quantile of each column of h."""
        order = np.argsort(h, axis=0, kind="stable")
        if weight is None:
            places = np.full(h.shape[1], max(ceil(self.nu * len(h)) - 1, 0))
        else:
            shares = np.cumsum(weight[order], axis=0) / weight.sum()
            places = np.minimum((shares < self.nu).sum(axis=0), len(h) - 1)
        rho = np.take_along_axis(h, order, axis=0)[places, np.arange(h.shape[1])]
        return -np.asarray(rho, np.float64)


@dataclass
class DensityDual(Smooth, Margin):
    r"""The loss -f for rows of p (y = +1) and exp(f) for rows of q (y = -1).

    If each sample has half of the weight, twice its mean is E_q exp(f) - E_p f, which is smallest
    for f = log(p/q), where it is 1 - KL(p, q) (Nguyen, Wainwright and Jordan 2010, Estimating
    divergence functionals and the likelihood ratio by convex risk minimization, section III).
    Beyond f = 6, a ratio of 403, its second-order expansion replaces the exponential, so that
    single rows of q cannot dominate a fit.

    Examples
    --------
    >>> import numpy as np
    >>> DensityDual().value(np.array([[1.0], [-1.0]]), np.array([[0.5], [0.0]]))
    array([-0.5,  1. ])
    """

    curvature_bound = exp(LARGEST_LOGARITHM)
    bound_is_far = True

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of -f or exp(f)."""
        beyond = _beyond(f)
        return row_sums(np.where(y > 0, -f, _capped(f) * (1 + beyond + beyond * beyond / 2)))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -1 or exp(f)."""
        return np.where(y > 0, -np.ones_like(f), _capped(f) * (1 + _beyond(f)))

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return 0 or exp(f) V."""
        return np.where(y > 0, np.zeros_like(f), _capped(f)) * V


def _capped(f: Array) -> Array:
    return np.exp(np.minimum(f, LARGEST_LOGARITHM))  # type: ignore[no-any-return]


def _beyond(f: Array) -> Array:
    return np.maximum(f - LARGEST_LOGARITHM, 0)  # type: ignore[no-any-return]
