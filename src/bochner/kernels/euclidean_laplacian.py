"""The Laplacian kernel of the Euclidean norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, Euclidean
from bochner.kernels.matern import t_scales
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.rows import Array

MULTIPLIER = 0.5


@dataclass
class EuclideanLaplacian(NormalMixture, name="euclidean_laplacian"):
    """The Laplacian kernel of the Euclidean norm, k(a, b) = exp(-|a - b| / bandwidth).

    It is the Matérn kernel with nu = 1/2 (Rasmussen and Williams 2006, Gaussian processes for
    machine learning, section 4.2.1), and often meant where papers say Laplacian, as in Belkin, Ma
    and Mandal 2018, To understand deep learning we need to understand kernel learning. Its
    frequencies are multivariate Cauchy with scale 1 / bandwidth.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is exp(-1); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> EuclideanLaplacian(bandwidth=5.0)([[0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    bandwidth: float | str = "median"
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = Euclidean

    @property
    def factor(self) -> float:
        """-1 / bandwidth."""
        return -1 / self._number()

    def profile(self, z: Array) -> None:
        """Take the exponential."""
        exponential(z)

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the scales of a multivariate Cauchy law: t with one degree of freedom."""
        return t_scales(0.5, size, rng) / self._number()
