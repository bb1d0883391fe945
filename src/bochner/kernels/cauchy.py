"""The Cauchy kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, SquaredEuclidean
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.rows import Array

MULTIPLIER = 0.5


@dataclass
class Cauchy(NormalMixture, name="cauchy"):
    """The Cauchy kernel, k(a, b) = 1 / (1 + |a - b|^2 / bandwidth^2).

    It is the rational quadratic kernel with shape 1 and bandwidth / sqrt(2)
    (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq. 4.19). As
    1 / (1 + r^2) is the mean of exp(-t r^2) over t ~ Exp(1), it is a mixture of Gaussians, and its
    frequencies are sqrt(2 t) / bandwidth times standard normal ones, with one t for each.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is 1/2; "median" takes it from the data,
        "auto" from held-out rows of a fit.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> Cauchy(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0], [6.0, 0.0]])
    array([[1. , 0.5, 0.1]])
    """

    bandwidth: float | str = "median"
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = SquaredEuclidean

    @property
    def factor(self) -> float:
        """1 / bandwidth^2."""
        return 1 / self._number() ** 2

    def profile(self, z: Array) -> None:
        """Take 1 / (1 + z)."""
        z += 1
        np.reciprocal(z, out=z)

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw roots of exponential variances."""
        return np.sqrt(2 * rng.exponential(size)) / self._number()
