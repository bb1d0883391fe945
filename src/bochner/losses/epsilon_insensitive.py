"""The losses of support vector regression, and the absolute deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.losses.loss import Array, Regression, Smooth, row_sums
from bochner.losses.ranges import require_not_negative
from bochner.losses.rounded_absolute import Rounded, Shape


@dataclass
class EpsilonInsensitive(Rounded, name="epsilon_insensitive"):
    """max(0, |f - y| - epsilon), summed over outputs, its kinks rounded off (`RoundedAbsolute`).

    Of support vector regression (Drucker et al. 1997, Support vector regression machines): what is
    nearer than epsilon is near enough.

    Parameters
    ----------
    epsilon : float
        In units of the targets; with 0 it is the absolute deviation.
    width : float, tuple of floats or "auto"
        How near to the kinks they are rounded off, in units of the targets; "auto" is 0.3 of
        the deviation that is expected to be left of them.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(0.5).value(np.array([[0.0], [0.0]]), np.array([[0.125], [-2.0]]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1
    width: Any = "auto"

    def check(self) -> None:
        """Refuse a negative epsilon."""
        super().check()
        require_not_negative("epsilon", self.epsilon)

    @property
    def shape(self) -> Shape:
        """Two kinks."""
        return self._shape(0.0, 1.0, self.epsilon)


@dataclass
class Absolute(Rounded, name="absolute"):
    """The absolute deviation |f - y|, summed over outputs: f estimates the median.

    Its kink is rounded off (`RoundedAbsolute`).

    Parameters
    ----------
    width : float, tuple of floats or "auto"
        How near to the kink it is rounded off, in units of the targets; "auto" is 0.3 of the
        deviation that is expected to be left of them.

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().value(np.array([[1.0, 2.0]]), np.array([[3.0, 3.0]]))
    array([3.])
    """

    width: Any = "auto"

    @property
    def shape(self) -> Shape:
        """One kink."""
        return self._shape(0.0, 1.0, 0.0)


@dataclass
class SquaredEpsilonInsensitive(Smooth, Regression, name="squared_epsilon_insensitive"):
    """max(0, |f - y| - epsilon)^2 / 2, summed over outputs.

    Parameters
    ----------
    epsilon : float
        In units of the targets; with 0 it is the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(1.0).value(np.array([[0.0]]), np.array([[3.0]]))
    array([2.])
    """

    curvature_bound = 1.0

    epsilon: float = 0.1

    def check(self) -> None:
        """Refuse a negative epsilon."""
        require_not_negative("epsilon", self.epsilon)

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of max(0, |f - y| - epsilon)^2 / 2."""
        return row_sums(np.maximum(np.abs(f - y) - self.epsilon, 0) ** 2) / 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return f - y, epsilon nearer to 0."""
        residual = f - y
        return np.asarray(np.sign(residual) * np.maximum(np.abs(residual) - self.epsilon, 0))

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return V where |f - y| is beyond epsilon, else 0."""
        return np.asarray(V * (np.abs(f - y) > self.epsilon))
