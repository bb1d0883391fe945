"""The exponential power kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
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

# Small powers have frequencies beyond all numbers. In single precision phases from 2^23 turns on
# are whole numbers of them, at which all rows look alike: with at most this many per bandwidth rows
# of 1,000 bandwidths are still told apart. What would be higher takes close rows for equal ones.
HIGHEST = 1e4


@dataclass
class ExponentialPower(NormalMixture, name="exponential_power"):
    """The exponential power kernel, k(a, b) = exp(-(|a - b| / bandwidth)^power), 0 < power <= 2.

    It is the characteristic function of an isotropic stable law. With the index power / 2, a
    positive stable number s has the mean E exp(-s t) = exp(-t^(power / 2)), so that the frequencies
    are sqrt(2 s) / bandwidth times standard normal ones (Samorodnitsky and Taqqu 1994, Stable
    non-Gaussian random processes, Proposition 2.5.2). Power 1 is the Laplacian kernel of the
    Euclidean norm, power 2 the Gaussian kernel with bandwidth / sqrt(2). Random features of small
    powers take rows that are closer than bandwidth / 10,000 for more alike than they are.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is exp(-1); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    power : float
        The exponent, above 0 and at most 2; the smaller, the rougher the functions.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> ExponentialPower(bandwidth=1.0, power=0.5)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    bandwidth: float | str = "median"
    power: float = 1.0
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = Euclidean

    def check(self) -> None:
        """Raise a ValueError unless all parameters can be used."""
        super().check()
        number = isinstance(self.power, Real) and not isinstance(self.power, bool)
        if not (number and 0 < self.power <= 2):
            raise ValueError(
                "The power of ExponentialPower must be a number above 0 and at most 2; got "
                f"{self.power!r}. Above 2 there is no such kernel: take 2, or Gaussian."
            )

    @property
    def factor(self) -> float:
        """1 / bandwidth."""
        return 1 / self._number()

    def profile(self, z: Array) -> None:
        """Take exp(-z^power)."""
        with np.errstate(over="ignore"):  # of rows that are too far from each other
            np.power(z, z.dtype.type(self.power), out=z)
        exponential(np.negative(z, out=z))

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw roots of stable variances."""
        logs = 0.5 * log_positive_stable(self.power / 2, size, rng) + 0.5 * log(2)
        return np.exp(np.minimum(logs, log(HIGHEST))) / self._number()


def log_positive_stable(index: float, size: int, rng: Random) -> NDArray[np.float64]:
    """Draw logarithms of positive stable numbers s with E exp(-s t) = exp(-t^index).

    With u uniform in (0, pi) and e exponential,

        s = sin(index u) / sin(u)^(1 / index) (sin((1 - index) u) / e)^((1 - index) / index)

    (Kanter 1975, Stable densities under change of scale and total variation inequalities; the case
    of Chambers, Mallows and Stuck 1976, A method for simulating stable random variables).
    """
    u, e = np.pi * rng.uniform(size), rng.exponential(size)
    if index == 1:
        return np.zeros(size)
    rest = np.log(np.sin((1 - index) * u)) - np.log(e)
    return np.log(np.sin(index * u)) - np.log(np.sin(u)) / index + (1 - index) / index * rest
