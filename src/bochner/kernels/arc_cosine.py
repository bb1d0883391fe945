"""The arc-cosine kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi
from typing import Self

import numpy as np

from bochner.compute.random.counter_based import Random
from bochner.kernels.angular import Angular
from bochner.kernels.inner_product import whole_number
from bochner.kernels.rows import Array, Rows


@dataclass
class ArcCosine(Angular, name="arc_cosine"):
    """The arc-cosine kernel, k(a, b) = |a|^order |b|^order J(angle) / pi.

    J is pi - t for the order 0, sin t + (pi - t) cos t for 1, and 3 sin t cos t +
    (pi - t) (1 + 2 cos^2 t) for 2 (Cho and Saul 2009, Kernel methods for deep learning, section
    2.1). It is the limit of a layer of infinitely many neurons with steps, ramps or
    squared ramps: 2 E h(w'a) h(w'b) for normal w and h(t) = max(t, 0)^order. A row of zeros has
    the value 0 with all others.

    Parameters
    ----------
    order : int
        0, 1 or 2.

    Examples
    --------
    >>> ArcCosine(0)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[1. , 0.5, 0. ]])
    """

    order: int = 1

    def check(self) -> None:
        """Raise a ValueError unless the order is known."""
        whole_number(self.order, "The order of ArcCosine", 0, 2)

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        self.check()
        return replace(self)

    @property
    def power(self) -> int:
        """The order."""
        return self.order

    def profile(self, cosines: Array, n_columns: int) -> Array:
        """Return J / pi."""
        angles = np.arccos(cosines)
        rest = pi - angles
        if self.order == 0:
            return rest / pi
        sines = np.sin(angles)
        if self.order == 1:
            return (sines + rest * cosines) / pi
        return (3 * sines * cosines + rest * (1 + 2 * cosines**2)) / pi
