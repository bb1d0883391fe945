"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, SquaredEuclidean
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.rows import Array

MULTIPLIER = 0.5


@dataclass
class Gaussian(NormalMixture, name="gaussian"):
    """The Gaussian kernel, k(a, b) = exp(-|a - b|^2 / (2 bandwidth^2)).

    Its frequencies are normal with standard deviation 1 / bandwidth (Rahimi and Recht 2007,
    Random features for large-scale kernel machines, Figure 1).

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is exp(-1/2); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> Gaussian(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    bandwidth: float | str = "median"
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = SquaredEuclidean

    @property
    def factor(self) -> float:
        """-1 / (2 bandwidth^2)."""
        return -0.5 / self._number() ** 2

    def profile(self, z: Array) -> None:
        """Take the exponential."""
        exponential(z)

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Return 1 / bandwidth: nothing is drawn."""
        return np.full(size, 1 / self._number())
