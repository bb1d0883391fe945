"""The exponential kernel of the inner product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.inner_product import median_square
from bochner.kernels.kernel import positive
from bochner.kernels.power_series import PowerSeries
from bochner.kernels.rows import Array, Rows

POWERS = 64  # of the endless series; up to a'a = 30 bandwidth^2 the others are a millionth of it


@dataclass
class Exponential(PowerSeries, name="exponential"):
    """The exponential kernel, k(a, b) = exp(a'b / bandwidth^2).

    It is exp(|a|^2 / (2 bandwidth^2)) exp(|b|^2 / (2 bandwidth^2)) times the Gaussian kernel of
    the same bandwidth (Steinwart 2001, On the influence of the kernel on the consistency of
    support vector machines). Rows much longer than others rule it: bring them to
    similar lengths first.

    Parameters
    ----------
    bandwidth : float or "median"
        The length of a row with k(a, a) = e; "median" takes the median length of the rows.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> Exponential(2.0)([[2.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]).round(4)
    array([[2.7183, 1.    ]])
    """

    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "median"):
            positive(self.bandwidth, "The bandwidth of Exponential", ' or "median"')
        positive(self.multiplier, "The multiplier of Exponential")

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        self.check()
        if not isinstance(self.bandwidth, str):
            return replace(self)
        return replace(self, bandwidth=self.multiplier * sqrt(median_square(X)))

    @property
    def length(self) -> float:
        """The bandwidth, or an error if it is still open."""
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{self!r} needs a bandwidth that is a number before it can be evaluated; got "
                f"{self.bandwidth!r}. Give a number, or take kernel.resolved(X, rng), which "
                "measures it on the rows X."
            )
        return float(self.bandwidth)

    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return the logarithms of (length / bandwidth)^2n / n! for the first powers."""
        n = np.arange(POWERS)
        return 2 * n * np.log(length / self.length) - gammaln(n + 1.0)  # type: ignore[no-any-return]

    def evaluate(self, products: Array) -> None:
        """Take the exponential."""
        products *= products.dtype.type(self.length**-2)
        exponential(products)
