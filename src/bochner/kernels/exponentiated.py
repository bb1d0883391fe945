"""Exponentiated: the Gaussian of the distance that an additive kernel measures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.additive import Additive, Sums
from bochner.kernels.against import Against
from bochner.kernels.chi_squared import ChiSquared
from bochner.kernels.histogram import MeasuredHistogram
from bochner.kernels.rows import Array, Rows, checked_rows


@dataclass
class Exponentiated(MeasuredHistogram, name="exponentiated_chi_squared"):
    """The Gaussian of an additive kernel's distance, k(a, b) = exp(-d(a, b)^2 / (2 bandwidth^2)).

    d^2 = kernel(a, a) + kernel(b, b) - 2 kernel(a, b). For the chi squared kernel it is
    sum_j (a_j - b_j)^2 / (a_j + b_j), so that this is exp(-gamma chi^2) with gamma =
    1 / (2 bandwidth^2); for the intersection it is |a - b|_1, which gives the Laplacian kernel
    (Sreekanth, Vedaldi, Jawahar and Zisserman 2010, Generalized RBF feature maps for efficient
    detection).

    Parameters
    ----------
    kernel : Additive
        The kernel whose distance is measured.
    bandwidth : float or "median"
        The distance at which the value is exp(-1/2); "median" takes it from the data.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import chi2_kernel
    >>> a, b = [[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]
    >>> Exponentiated(bandwidth=1.0)(a, b).round(4), chi2_kernel(a, b, gamma=0.5).round(4)
    (array([[1.    , 0.7165]]), array([[1.    , 0.7165]]))
    """

    kernel: Additive = field(default_factory=ChiSquared)
    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def check(self) -> None:
        """Raise a ValueError if the bandwidth or the kernel cannot be used."""
        super().check()
        if not isinstance(self.kernel, Additive):
            raise ValueError(
                "Exponentiated needs an additive kernel of histograms: ChiSquared, Hellinger, "
                f"Intersection or JensenShannon; got {self.kernel!r}. Of other distances Gaussian, "
                "Laplacian and Matern are made."
            )

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        return replace(super().resolved(X, rng), kernel=self.kernel.resolved(X, rng))

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return the distances."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.kernel.squared_distances(B).fill(A, 0, B.shape[0], out)
        return np.sqrt(np.maximum(out, 0, out=out), out=out)

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side."""
        return ExponentialOf(self.kernel.squared_distances(B), -0.5 / self._number() ** 2)

    def diagonal(self, A: Rows) -> Array:
        """Return 1 for each row."""
        A = checked_rows(A)
        return np.ones(A.shape[0], A.dtype)


@dataclass(frozen=True, eq=False)
class ExponentialOf(Against):
    """The exponential of sums times a negative factor; sums below 0 are rounding."""

    sums: Sums
    factor: float

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write sums and replace them by exponentials."""
        self.sums.fill(A, start, stop, out)
        np.maximum(out, 0, out=out)
        out *= out.dtype.type(self.factor)
        exponential(out)
