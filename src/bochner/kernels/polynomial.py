"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, log
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bochner.compute.random.counter_based import Random
from bochner.kernels.inner_product import median_square, whole_number
from bochner.kernels.kernel import positive
from bochner.kernels.power_series import PowerSeries
from bochner.kernels.rows import Array, Rows


@dataclass
class Polynomial(PowerSeries, name="polynomial"):
    """The polynomial kernel, k(a, b) = (scale a'b + constant)^degree.

    Its functions are the polynomials of at most this degree in the columns (Scholkopf and Smola
    2002, Learning with kernels, section 2.1); without a constant, those whose terms all have it.

    Parameters
    ----------
    degree : int
        The power, from 1 on.
    constant : float
        At least 0. The larger it is, the more terms of a low degree count.
    scale : float or "median"
        Multiplies a'b. "median" takes 1 / (the median of |x|^2) from the data, so that the scaled
        products of most rows lie between -1 and 1.

    Examples
    --------
    >>> Polynomial(2, scale=1.0)([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]])
    array([[36.,  1.]])
    """

    degree: int = 3
    constant: float = 1.0
    scale: float | str = "median"

    def check(self) -> None:
        """Raise a ValueError unless this is a kernel."""
        whole_number(self.degree, "The degree of Polynomial", 1)
        number = isinstance(self.constant, Real) and not isinstance(self.constant, bool)
        if not (number and isfinite(self.constant) and self.constant >= 0):
            raise ValueError(
                "The constant of Polynomial must be a finite number from 0 on, since it is no "
                f"kernel otherwise; got {self.constant!r}."
            )
        if not (isinstance(self.scale, str) and self.scale == "median"):
            positive(self.scale, "The scale of Polynomial", ' or "median"')

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose scale is a number."""
        self.check()
        is_open = isinstance(self.scale, str)
        return replace(self, scale=1 / median_square(X) if is_open else self.scale)

    @property
    def factor(self) -> float:
        """The scale, or an error if it is still open."""
        if isinstance(self.scale, str):
            raise ValueError(
                f"{self!r} needs a scale that is a number before it can be evaluated; got "
                f"{self.scale!r}. Give a number, or take kernel.resolved(X, rng), which measures "
                "it on the rows X."
            )
        return float(self.scale)

    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return the logarithms of binomial coefficients times powers of scale and constant."""
        p, n = self.degree, np.arange(self.degree + 1)
        binomials = gammaln(p + 1) - gammaln(n + 1) - gammaln(p - n + 1)
        powers = n * (log(self.factor) + 2 * log(length)) + xlogy(p - n, float(self.constant))
        return np.asarray(binomials + powers, np.float64)

    def evaluate(self, products: Array) -> None:
        """Take the power; multiplying is faster than a general power."""
        products *= products.dtype.type(self.factor)
        products += products.dtype.type(self.constant)
        base = products.copy()
        for _ in range(self.degree - 1):
            products *= base
