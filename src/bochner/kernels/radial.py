"""Kernels of a norm of the difference of two rows, divided by a bandwidth."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial, ldexp, log, log2, sqrt
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import (
    Distances,
    Euclidean,
    Manhattan,
    SquaredEuclidean,
    euclidean,
    manhattan,
)
from bochner.kernels.kernel import BandwidthKernel, Separable, ShiftInvariant, Weight
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, centred, mean, times_power_of_two
from bochner.validation import FINITE, is_number, require_positive

MULTIPLIER = 0.5
# Rows are divided by a power of two if the bandwidth is beyond 2^32 or below 2^-32: squares of such
# distances overflow or vanish in single precision. The division rounds nothing.
TYPICAL = 32
LARGEST_NU = 100.5  # for larger nu it is nearly the Gaussian kernel
SINGLE = 10  # the largest degree whose coefficients single precision can represent
# By item size: beyond these z, exp(-z) is 0 and the powers of z may overflow.
FARTHEST = {4: 88.0, 8: 709.0}
# The frequencies of small powers may overflow. In single precision phases of 2^23 turns or more are
# whole turns, for which all rows are equal; with at most this many turns per bandwidth, rows up to
# 1,000 bandwidths long differ. Higher frequencies are clipped: rows very close then count as equal.
HIGHEST = 1e4


class Radial(BandwidthKernel, ShiftInvariant):
    """A kernel of |a - b| / bandwidth, in a norm that the subclass defines, 1 at 0.

    A machine with targets chooses a bandwidth "auto" on held-out rows.
    """

    rules: ClassVar[tuple[str, ...]] = ("median", "auto")

    @abstractmethod
    def distances(self, A: Rows, B: Rows) -> Array:
        """Return the distances in the norm of this kernel, of few rows centred or sparse."""

    @property
    def variance(self) -> float:
        """The value at 0, which is 1."""
        return 1.0

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return the distances."""
        centre = mean(A)
        return self.distances(centred(A, centre), centred(B, centre))

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy whose bandwidth is a number."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "auto":
            raise ValueError(
                f"{self!r} takes its bandwidth from held-out rows, for which it must be the whole "
                "kernel of a machine with targets, such as KernelClassifier. Give a number, or "
                '"median".'
            )
        return super().resolved(X, rng, weight)


class Profile(Radial):
    """A kernel k(a, b) = profile(factor * distance(a, b)); `metric` computes the distance."""

    metric: ClassVar[type[Distances]]

    @property
    @abstractmethod
    def factor(self) -> float:
        """The number that multiplies distances before the profile is applied."""

    def profile(self, z: Array) -> None:
        """Replace each multiplied distance z by the kernel value, exp(z) by default."""
        exponential(z)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the distances prepared."""
        exponent = unusual_exponent(self._number())
        return PreparedProfile(self, self.metric(times_power_of_two(B, -exponent)), exponent)


@dataclass(frozen=True, eq=False)
class PreparedProfile(PreparedKernel):
    """The profile of distances from fixed rows, which are divided by 2^exponent."""

    kernel: Profile
    distances: Distances
    exponent: int

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write distances and replace them by kernel values."""
        A = times_power_of_two(A, -self.exponent)
        factor = ldexp(self.kernel.factor, self.exponent * self.kernel.metric.degree)
        self.distances.fill(A, start, stop, factor, out)
        self.kernel.profile(out)


def unusual_exponent(bandwidth: float) -> int:
    """Return the power of 2 by which rows are divided, 0 for a bandwidth of usual size."""
    exponent = round(log2(bandwidth))
    return 0 if abs(exponent) <= TYPICAL else exponent


class NormalMixture(Profile):
    """A kernel k(a, b) = E exp(-scale^2 |a - b|^2 / 2) with a random `scale`.

    Its frequencies are standard normal vectors times the scale: their directions are uniform, and
    the law of the scale does not depend on the number of columns. A function of |a - b| that is a
    kernel for any number of columns is of this form (Schoenberg 1938, Metric spaces and completely
    monotone functions, Theorem 2).
    """

    @abstractmethod
    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw scales, shape (size,)."""

    def distances(self, A: Rows, B: Rows) -> Array:
        """Return |a - b|."""
        return euclidean(A, B)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw normal vectors times scales."""
        normal = rng.normal((n_columns, size))
        return normal * self.scales(size, rng)


@dataclass
class Gaussian(NormalMixture, name="gaussian"):
    """The Gaussian kernel, k(a, b) = exp(-|a - b|^2 / (2 bandwidth^2)).

    Its frequencies are normal with standard deviation 1 / bandwidth (Rahimi and Recht 2007,
    Random features for large-scale kernel machines, Figure 1).

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is exp(-1/2); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

    Examples
    --------
    >>> Gaussian(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    bandwidth: float | str = "median"
    multiplier: float = MULTIPLIER

    metric: ClassVar[type[Distances]] = SquaredEuclidean

    @property
    def factor(self) -> float:
        """-1 / (2 bandwidth^2)."""
        return -0.5 / self._number() ** 2

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Return 1 / bandwidth: nothing is drawn."""
        return np.full(size, 1 / self._number())


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
        Multiplies the median, but not a bandwidth given as a number.

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

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Cauchy frequencies."""
        return rng.cauchy((n_columns, size)) / self._number()

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Gamma(2, bandwidth) pitches: delta k''(delta) = delta exp(-delta / b) / b^2."""
        return rng.gamma(2, (n_columns, size)) * self._number()


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
        Multiplies the median, but not a bandwidth given as a number.

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

    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the scales of a multivariate Cauchy law: t with one degree of freedom."""
        return t_scales(0.5, size, rng) / self._number()


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
        Multiplies the median, but not a bandwidth given as a number.

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
        if not (is_number(self.nu) and 0 < self.nu <= LARGEST_NU and 2 * self.nu % 2 == 1):
            raise ValueError(
                f"The nu of Matern must be 0.5, 1.5, 2.5, ... or at most {LARGEST_NU}; got "
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
    """Draw the factors that turn normal vectors into t-distributed ones, 2 nu degrees of freedom.

    That is 1 / sqrt(chi^2 / (2 nu)), and chi^2 with 2 nu degrees of freedom is 2 Gamma(nu).
    """
    return 1 / np.sqrt(rng.gamma(nu, size) / nu)


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
        Multiplies the median, but not a bandwidth given as a number.

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
        require_positive("The shape of RationalQuadratic", self.shape, FINITE)

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
        Multiplies the median, but not a bandwidth given as a number.

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


@dataclass
class ExponentialPower(NormalMixture, name="exponential_power"):
    """The exponential power kernel, k(a, b) = exp(-(|a - b| / bandwidth)^power), 0 < power <= 2.

    It is the characteristic function of an isotropic stable law. With the index power / 2, a
    positive stable number s has the mean E exp(-s t) = exp(-t^(power / 2)), so that the frequencies
    are sqrt(2 s) / bandwidth times standard normal ones (Samorodnitsky and Taqqu 1994, Stable
    non-Gaussian random processes, Proposition 2.5.2). Power 1 is the Laplacian kernel of the
    Euclidean norm, power 2 the Gaussian kernel with bandwidth / sqrt(2). Random features of small
    powers overestimate the similarity of rows that are closer than bandwidth / 10,000.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance at which the kernel is exp(-1); "median" takes it from the data,
        "auto" from held-out rows of a fit.
    power : float
        The exponent, above 0 and at most 2; the smaller, the rougher the functions.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

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
        if not (is_number(self.power) and 0 < self.power <= 2):
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
        with np.errstate(over="ignore"):  # of rows that are too far apart
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
