"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, Manhattan, manhattan
from bochner.kernels.profile import Profile
from bochner.kernels.rows import Array, Rows
from bochner.kernels.separable import Separable

MULTIPLIER = 0.5


@dataclass
class Laplacian(Profile, Separable, name="laplacian"):
    """The Laplacian kernel, k(a, b) = exp(-|a - b|_1 / bandwidth).

    Its frequencies are Cauchy with scale 1 / bandwidth, each column by itself (Rahimi and Recht
    2007, Random features for large-scale kernel machines, Figure 1). It is also the kernel of
    random binning with Gamma(2, bandwidth) pitches.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The l1 distance at which the kernel is exp(-1); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> Laplacian(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 0.0], [1.0, -1.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    bandwidth: float | str = "median"
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = Manhattan

    def distances(self, A: Rows, B: Rows) -> Array:
        """Return |a - b|_1."""
        return manhattan(A, B)

    @property
    def factor(self) -> float:
        """-1 / bandwidth."""
        return -1 / self._number()

    def profile(self, z: Array) -> None:
        """Take the exponential."""
        exponential(z)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Cauchy frequencies."""
        return rng.cauchy((n_columns, size)) / self._number()

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Gamma(2, bandwidth) pitches: delta k''(delta) = delta exp(-delta / b) / b^2."""
        return rng.gamma(2, (n_columns, size)) * self._number()
