"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from bochner.compute.bins import loss_rows
from bochner.losses.loss import Array, Margin, Probabilistic, Smooth, row_sums
from bochner.losses.softmax import softmax


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
        """Return [1 - p, p] of one column, or of many each p as a share of their sum."""
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
