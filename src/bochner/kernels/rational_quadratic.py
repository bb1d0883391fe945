"""The rational quadratic kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, SquaredEuclidean
from bochner.kernels.kernel import positive
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.rows import Array

MULTIPLIER = 0.5


@dataclass
class RationalQuadratic(NormalMixture, name="rational_quadratic"):
    """The rational quadratic kernel, k(a, b) = (1 + |a - b|^2 / (2 shape bandwidth^2))^-shape.

    As (1 + r^2 / (2 shape))^-shape is the mean of exp(-t r^2 / (2 shape)) over t ~ Gamma(shape),
    it is a mixture of Gaussians whose scales are sqrt(t / shape) / bandwidth (Rasmussen and
    Williams 2006, Gaussian processes for machine learning, Eq. 4.19 and 4.20, where the shape is
    called alpha). For a large shape it is the Gaussian kernel, for shape 1 the Cauchy kernel with
    sqrt(2) times the bandwidth.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The unit of distance; "median" takes it from the data,
        "auto" from held-out rows of a fit.
    shape : float
        A positive number; the smaller, the longer the tails.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> RationalQuadratic(bandwidth=1.0, shape=2.0)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]])
    array([[1.  , 0.25]])
    """

    bandwidth: float | str = "median"
    shape: float = 1.0
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = SquaredEuclidean

    def check(self) -> None:
        """Raise a ValueError unless all parameters can be used."""
        super().check()
        positive(self.shape, "The shape of RationalQuadratic")

    @property
    def factor(self) -> float:
        """1 / (2 shape bandwidth^2)."""
        return 0.5 / (self.shape * self._number() ** 2)

    def profile(self, z: Array) -> None:
        """Take (1 + z)^-shape."""
        np.log1p(z, out=z)
        z *= z.dtype.type(-self.shape)
        exponential(z)

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw roots of Gamma variances."""
        return np.sqrt(rng.gamma(self.shape, size) / self.shape) / self._number()
