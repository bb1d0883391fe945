"""The Matérn kernels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial, sqrt
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import Distances, Euclidean
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.rows import Array

MULTIPLIER = 0.5
LARGEST = 100.5  # beyond, it is all but the Gaussian kernel
SINGLE = 10  # the degree up to which single precision has room for the coefficients

# By bytes of a number: beyond these exp(-z) is 0, and the powers of z might not be finite.
FARTHEST = {4: 88.0, 8: 709.0}


@dataclass
class Matern(NormalMixture, name="matern"):
    """The Matérn kernels of order nu = p + 1/2, with z = sqrt(2 nu) |a - b| / bandwidth.

    k(a, b) = exp(-z) p! / (2p)! sum_i (p + i)! / (i! (p - i)!) (2z)^(p - i), i = 0, ..., p
    (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq. 4.16):

    - nu = 1/2: k(a, b) = exp(-z)
    - nu = 3/2: k(a, b) = (1 + z) exp(-z)
    - nu = 5/2: k(a, b) = (1 + z + z^2 / 3) exp(-z)

    The spectral measure is a multivariate t distribution with 2 nu degrees of freedom and scale
    1 / bandwidth.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The unit of distance; "median" takes it from the data,
        "auto" from held-out rows of a fit.
    nu : float
        The smoothness, 0.5, 1.5, 2.5, ..., 100.5: functions of the space have derivatives up to
        below nu.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> Matern(bandwidth=2.0, nu=0.5)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    bandwidth: float | str = "median"
    nu: float = 1.5
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = Euclidean

    def check(self) -> None:
        """Raise a ValueError unless all parameters can be used."""
        super().check()
        number = isinstance(self.nu, Real) and not isinstance(self.nu, bool)
        if not (number and 0 < self.nu <= LARGEST and 2 * self.nu % 2 == 1):
            raise ValueError(
                f"The nu of Matern must be 0.5, 1.5, 2.5, ... or at most {LARGEST}; got "
                f"{self.nu!r}. Take the nearest of these, or Gaussian, the limit of large nu."
            )

    @property
    def factor(self) -> float:
        """sqrt(2 nu) / bandwidth."""
        return sqrt(2 * self.nu) / self._number()

    def profile(self, z: Array) -> None:
        """Take the polynomial times the exponential of -z."""
        degree = round(self.nu - 0.5)
        if degree > SINGLE and z.dtype == np.float32:
            wide = z.astype(np.float64)
            self.profile(wide)
            z[...] = wide
            return
        np.minimum(z, FARTHEST[z.itemsize], out=z)
        highest, *others = polynomial(degree)
        values = np.full_like(z, highest)
        for coefficient in others:
            values *= z
            values += coefficient
        exponential(np.negative(z, out=z))
        z *= values

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the scales of a t distribution."""
        return t_scales(self.nu, size, rng) / self._number()


@cache
def polynomial(p: int) -> tuple[float, ...]:
    """Return the coefficients of z^p, ..., z, 1 that go with exp(-z) for nu = p + 1/2."""
    share = Fraction(factorial(p), factorial(2 * p))
    return tuple(
        float(share * 2 ** (p - i) * factorial(p + i) / (factorial(i) * factorial(p - i)))
        for i in range(p + 1)
    )


def t_scales(nu: float, size: int, rng: Random) -> NDArray[np.float64]:
    """Draw what makes normal vectors vectors of a t distribution with 2 nu degrees of freedom.

    That is 1 / sqrt(chi^2 / (2 nu)), and chi^2 with 2 nu degrees of freedom is 2 Gamma(nu).
    """
    return 1 / np.sqrt(rng.gamma(nu, size) / nu)
