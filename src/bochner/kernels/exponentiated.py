"""Kernels of histograms that are not sums over columns: exponentiated, semigroup and skewed."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.elementwise.pairwise_sums import Term, harmonic_products, reciprocal_products
from bochner.compute.random.counter_based import Random
from bochner.kernels.histogram import (
    Additive,
    BandwidthHistogram,
    ChiSquared,
    Histogram,
    PreparedSums,
)
from bochner.kernels.kernel import ShiftInvariant
from bochner.kernels.prepared import PreparedFunction, PreparedKernel, evaluated
from bochner.kernels.rows import Array, Rows, checked_rows, dense
from bochner.validation import FINITE, require_positive


@dataclass
class Exponentiated(BandwidthHistogram, name="exponentiated_chi_squared"):
    """The Gaussian of an additive kernel's distance, k(a, b) = exp(-d(a, b)^2 / (2 bandwidth^2)).

    d^2 = kernel(a, a) + kernel(b, b) - 2 kernel(a, b). For the chi squared kernel it is
    sum_j (a_j - b_j)^2 / (a_j + b_j), so that this is exp(-gamma chi^2) with gamma =
    1 / (2 bandwidth^2); for the intersection it is |a - b|_1, which gives the Laplacian kernel
    (Sreekanth, Vedaldi, Jawahar and Zisserman 2010, Generalized RBF feature maps for efficient
    detection).

    Parameters
    ----------
    kernel : Additive
        The kernel that defines the distance.
    bandwidth : float or "median"
        The distance at which the value is exp(-1/2); "median" takes it from the data.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

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
                f"Intersection or JensenShannon; got {self.kernel!r}. For other distances take "
                "Gaussian, Laplacian or Matern."
            )

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return the distances."""
        out = evaluated(self.kernel.squared_distances(B), A, B)
        return np.sqrt(np.maximum(out, 0, out=out), out=out)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B."""
        return _exponential_of(self.kernel.squared_distances(B), -0.5 / self._number() ** 2)

    def diagonal(self, A: Rows) -> Array:
        """Return 1 for each row."""
        A = checked_rows(A)
        return np.ones(A.shape[0], A.dtype)


def _exponential_of(sums: PreparedSums, factor: float) -> PreparedKernel:
    """Return the exponential of sums times a negative factor."""
    return PreparedFunction(sums, partial(_exponentiate, factor=factor))


def _exponentiate(sums: Array, factor: float) -> None:
    np.maximum(sums, 0, out=sums)  # sums below 0 are rounding errors
    sums *= sums.dtype.type(factor)
    exponential(sums)


class Semigroup(BandwidthHistogram):
    """A kernel of the sum of two rows, k(a, b) = k(a + b), 1 at 0.

    By Berg's theorem, which is to sums what Bochner's is to differences, it is a Laplace
    transform, k(a + b) = E exp(-omega'(a + b)) with omega >= 0 (Yang, Sindhwani, Fan, Avron
    and Mahoney 2014, Random Laplace feature maps for semigroup kernels on histograms).
    """

    @abstractmethod
    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw omega, shape (n_columns, size)."""


@dataclass
class ExponentialSemigroup(Semigroup, name="exponential_semigroup"):
    """The exponential semigroup kernel, k(a, b) = exp(-sum_j sqrt(a_j + b_j) / bandwidth).

    Its rates have the Levy distribution, 1 / (2 bandwidth^2 g^2) with g standard normal (Yang et
    al. 2014, where beta is 1 / bandwidth).

    Parameters
    ----------
    bandwidth : float or "median"
        The sum of roots at which the value is exp(-1); "median" takes it from the data.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

    Examples
    --------
    >>> ExponentialSemigroup(bandwidth=2.0)([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[0.3679, 0.3806]])
    """

    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return sums of roots."""
        return evaluated(PreparedSums.of(Term.ROOT, B), A, B)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B."""
        return _exponential_of(PreparedSums.of(Term.ROOT, B), -1 / self._number())

    def diagonal(self, A: Rows) -> Array:
        """Return exp(-sum_j sqrt(2 a_j) / bandwidth)."""
        A = checked_rows(A)
        roots = (2 * A).sqrt() if sp.issparse(A) else np.sqrt(2 * A)
        return _of_sums(roots, -1 / self._number())

    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the Levy distribution."""
        return 0.5 / (self._number() * rng.normal((n_columns, size))) ** 2


@dataclass
class ReciprocalSemigroup(Semigroup, name="reciprocal_semigroup"):
    """The reciprocal semigroup kernel, k(a, b) = prod_j 1 / (1 + (a_j + b_j) / bandwidth).

    Its rates are exponential with mean 1 / bandwidth (Yang et al. 2014, where lambda is
    the bandwidth and the factor lambda^columns is left out).

    Parameters
    ----------
    bandwidth : float or "median"
        The sum of two entries at which a column's factor is 1/2; "median" takes the median of
        |a + b|_1 from the data, so that values are about exp(-1).
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

    Examples
    --------
    >>> ReciprocalSemigroup(bandwidth=1.0)([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[0.25  , 0.2667]])
    """

    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return |a + b|_1."""
        left, right = (np.asarray(X.sum(axis=1)).reshape(-1) for X in (A, B))
        return np.asarray(left[:, None] + right)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B divided by the bandwidth."""
        number = self._number()
        transposed = (dense(B) / B.dtype.type(number)).T
        return PreparedReciprocals(np.ascontiguousarray(transposed), number)

    def diagonal(self, A: Rows) -> Array:
        """Return prod_j 1 / (1 + 2 a_j / bandwidth)."""
        A = checked_rows(A)
        doubled = A * A.dtype.type(2 / self._number())
        return _of_sums(doubled.log1p() if sp.issparse(A) else np.log1p(doubled), -1.0)

    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw exponential rates."""
        return rng.exponential((n_columns, size)) / self._number()


@dataclass(frozen=True, eq=False)
class PreparedReciprocals(PreparedKernel):
    """The products of reciprocals with fixed rows, which are divided by the bandwidth."""

    transposed: Array
    bandwidth: float

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products."""
        A = np.ascontiguousarray(dense(A) / A.dtype.type(self.bandwidth))
        reciprocal_products(A, self.transposed, start, out)


def _of_sums(terms: Rows, factor: float) -> Array:
    """Return the exponential of the factor times the sum of each row."""
    sums = np.asarray(terms.sum(axis=1, dtype=np.float64)).reshape(-1)
    return np.exp(factor * sums).astype(terms.dtype)


@dataclass
class SkewedChiSquared(Histogram, name="skewed_chi_squared"):
    """The skewed chi squared kernel, with c = skewness.

    k(a, b) = prod_j 2 sqrt(a_j + c) sqrt(b_j + c) / (a_j + b_j + 2 c), which is the product of
    1 / cosh of half the differences of log(a_j + c): a shift-invariant kernel of the logarithms
    (Li, Ionescu and Sminchisescu 2010, Random Fourier approximations for skewed multiplicative
    histogram kernels).

    Parameters
    ----------
    skewness : float
        A positive number that is added to all entries.

    Examples
    --------
    >>> SkewedChiSquared()([[0.0, 3.0]], [[0.0, 3.0], [3.0, 3.0]])
    array([[1. , 0.8]])
    """

    skewness: float = 1.0

    def check(self) -> None:
        """Raise a ValueError unless the skewness is a positive number."""
        require_positive("The skewness of SkewedChiSquared", self.skewness, FINITE)

    def logarithms(self, X: Rows) -> Array:
        """Return log(x + c), of which this is the kernel `Secant`."""
        X = dense(X)
        return np.log(X + X.dtype.type(self.skewness))  # type: ignore[no-any-return]

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transposed roots of B."""
        return PreparedHarmonicProducts(np.ascontiguousarray(self.roots(B).T), self)

    def roots(self, X: Rows) -> Array:
        """Return sqrt(x + c)."""
        X = dense(X)
        return np.sqrt(X + X.dtype.type(self.skewness))  # type: ignore[no-any-return]

    def diagonal(self, A: Rows) -> Array:
        """Return 1 for each row."""
        A = checked_rows(A)
        return np.ones(A.shape[0], A.dtype)


@dataclass
class Secant(ShiftInvariant):
    """The product of hyperbolic secants, k(a, b) = prod_j 1 / cosh((a_j - b_j) / 2).

    Its spectrum has the density 1 / cosh(pi omega) in each column.

    Examples
    --------
    >>> Secant()([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.6481]])
    """

    @property
    def variance(self) -> float:
        """The value at 0, which is 1."""
        return 1.0

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return 1 / cosh as 2 u v / (u^2 + v^2) with u = exp(a / 2), v = exp(b / 2)."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        left, right = (np.exp(dense(X) / 2) for X in (A, B))
        harmonic_products(np.ascontiguousarray(left), np.ascontiguousarray(right.T), 0, out)
        return out

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw arsinh(tan(pi (u - 1/2))) / pi for u uniform in (0, 1)."""
        centred = np.pi * (rng.uniform((n_columns, size)) - 0.5)
        return np.asarray(np.arcsinh(np.tan(centred)) / np.pi)


@dataclass(frozen=True, eq=False)
class PreparedHarmonicProducts(PreparedKernel):
    """The products of 2 u v / (u^2 + v^2) with fixed rows of roots v."""

    transposed: Array
    kernel: SkewedChiSquared

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products."""
        harmonic_products(np.ascontiguousarray(self.kernel.roots(A)), self.transposed, start, out)
