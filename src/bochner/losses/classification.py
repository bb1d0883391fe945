"""Losses of labels: hinge, squared hinge, logistic and softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from bochner.compute.bins import loss_rows
from bochner.losses.loss import (
    Array,
    ClippedLine,
    Margin,
    Multinomial,
    PiecewiseQuadratic,
    Probabilistic,
    Smooth,
    row_sums,
)


@dataclass
class Hinge(PiecewiseQuadratic, Margin, name="hinge"):
    """The hinge loss, sum over outputs of max(0, 1 - y f), y = -1 or +1.

    The loss of the support vector machine (Cortes and Vapnik 1995, Support-vector networks).

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

    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return a jump of the derivative at y, from 0 to -y."""
        return (ClippedLine(y, np.minimum(-y, 0), np.maximum(-y, 0), 0.0),)


@dataclass
class SquaredHinge(PiecewiseQuadratic, Smooth, Margin, name="squared_hinge"):
    """The squared hinge loss, sum over outputs of max(0, 1 - y f)^2, y = -1 or +1.

    The loss of the L2 support vector machine (Chang, Hsieh and Lin 2008, Coordinate descent method
    for large-scale L2-loss linear support vector machines).

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

    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return the line 2 (f - y), bounded by 0 where the margin exceeds 1."""
        left, right = np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)
        return (ClippedLine(y, left, right, 0.5),)


@dataclass
class Logistic(Smooth, Margin, Probabilistic, name="logistic"):
    """The logistic loss, sum over outputs of log(1 + exp(-y f)), y = -1 or +1.

    The negative log-likelihood of P(y) = 1 / (1 + exp(-y f)) (Hastie, Tibshirani and Friedman
    2009, The Elements of Statistical Learning, section 4.4).

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().probabilities(np.array([[0.0], [np.log(3.0)]]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    curvature_bound = 0.25
    row_loop = loss_rows.logistic

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of log(1 + exp(-y f))."""
        return row_sums(log_one_plus_exp(-y * f))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y / (1 + exp(y f))."""
        return -y * sigmoid(-y * f)

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return p (1 - p) V, p = 1 / (1 + exp(-f))."""
        return sigmoid(f) * sigmoid(-f) * V

    def probabilities(self, f: Array) -> Array:
        """Return [1 - p, p] for one column, else p of each column divided by their sum."""
        if f.shape[1] == 1:
            return np.concatenate([sigmoid(-f), sigmoid(f)], axis=1)
        # p / sum(p) by logarithms: never 0 / 0, however negative all columns are.
        return softmax(-log_one_plus_exp(-f))


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z))."""
    return expit(z)  # type: ignore[no-any-return]


def log_one_plus_exp(z: Array) -> Array:
    """Return log(1 + exp(z)) without overflow."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


@dataclass
class Softmax(Smooth, Multinomial, Probabilistic, name="softmax"):
    """The softmax loss, log(sum over classes of exp f) - y'f, y one-hot.

    The Hessian diag(p) - p p' has no eigenvalue above 1/2 (Böhning 1992, Multinomial logistic
    regression algorithm, section 2).

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().probabilities(np.log([[1.0, 1.0, 2.0]]))
    array([[0.25, 0.25, 0.5 ]])
    """

    curvature_bound = 0.5
    row_loop = loss_rows.softmax

    def value(self, y: Array, f: Array) -> Array:
        """Return log(sum exp f) - y'f."""
        shifted = f - f.max(axis=1, keepdims=True)
        return np.log(row_sums(np.exp(shifted))) - row_sums(y * shifted)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return p - y, p the probabilities."""
        return softmax(f) - y

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return (diag(p) - p p') V of each row."""
        p = softmax(f)
        pV = p * V
        return pV - p * row_sums(pV)[:, None]

    def diagonal_bound(self, y: Array, f: Array) -> Array:
        """Return 2 p (1 - p): 2 diag(p (1 - p)) - (diag(p) - p p') is diagonally dominant."""
        p = softmax(f)
        return 2 * p * (1 - p)

    def probabilities(self, f: Array) -> Array:
        """Return exp f / sum exp f."""
        return softmax(f)


def softmax(f: Array) -> Array:
    """Return exp f / sum exp f of each row, without overflow."""
    exponentials: Array = np.exp(f - f.max(axis=1, keepdims=True))
    return exponentials / row_sums(exponentials)[:, None]
