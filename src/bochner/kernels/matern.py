"""The Matérn kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.exponential import exponential
from bochner.compute.random import Random
from bochner.kernels.distances import Distances, Euclidean, euclidean
from bochner.kernels.profile import Profile
from bochner.kernels.rows import Array, Rows

MULTIPLIER = 0.5

# Coefficients of the polynomial in z = sqrt(2 nu) r that goes with exp(-z), highest power first.
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1 / 3, 1.0, 1.0)}


@dataclass
class Matern(Profile, name="matern"):
    """The Matérn kernels, with r = |a - b| / bandwidth:

    - nu = 1/2: k(a, b) = exp(-r)
    - nu = 3/2: k(a, b) = (1 + sqrt(3) r) exp(-sqrt(3) r)
    - nu = 5/2: k(a, b) = (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)

    (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq. 4.16 and 4.17.)
    The spectral measure is a multivariate t distribution with 2 nu degrees of freedom and scale
    1 / bandwidth.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The unit of distance; "median" takes it from the data,
        "auto" from held-out rows of a fit.
    nu : {0.5, 1.5, 2.5}
        The smoothness: functions of the space have derivatives up to below nu.
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

    def distances(self, A: Rows, B: Rows) -> Array:
        """Return |a - b|."""
        return euclidean(A, B)

    def check(self) -> None:
        """Raise a ValueError unless all parameters can be used."""
        super().check()
        if self.nu not in POLYNOMIALS:
            raise ValueError(f"The nu of Matern must be 0.5, 1.5 or 2.5; got {self.nu!r}.")

    @property
    def factor(self) -> float:
        """sqrt(2 nu) / bandwidth."""
        return sqrt(2 * self.nu) / self._number()

    def profile(self, z: Array) -> None:
        """Take the polynomial times the exponential of -z."""
        highest, *others = POLYNOMIALS[self.nu]
        polynomial = np.full_like(z, highest)
        for coefficient in others:
            polynomial *= z
            polynomial += coefficient
        exponential(np.negative(z, out=z))
        z *= polynomial

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw multivariate t frequencies."""
        return multivariate_t(self.nu, n_columns, size, rng) / self._number()


def multivariate_t(nu: float, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
    """Draw from the t distribution with 2 nu degrees of freedom, shape (n_columns, size).

    It is a normal vector over the root of chi^2 / (2 nu).
    """
    normal = rng.normal((n_columns, size))
    # chi^2 with 2 nu degrees of freedom is 2 Gamma(nu).
    return normal / np.sqrt(rng.gamma(nu, size) / nu)
