"""The softmax loss, also known as multinomial cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.compute.bins import loss_rows
from bochner.losses.loss import Array, Multinomial, Probabilistic, Smooth, row_sums


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
