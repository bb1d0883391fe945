"""Semigroup kernels: functions of the sum of two histograms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term, reciprocal_products
from bochner.compute.random.counter_based import Random
from bochner.kernels.additive import Sums
from bochner.kernels.against import Against
from bochner.kernels.exponentiated import ExponentialOf
from bochner.kernels.histogram import MeasuredHistogram
from bochner.kernels.rows import Array, Rows, checked_rows, dense


class Semigroup(MeasuredHistogram):
    """A kernel of the sum of two rows, k(a, b) = k(a + b), 1 at 0.

    By Berg's theorem, which is to sums what Bochner's is to differences, it is a Laplace
    transform, k(a + b) = E exp(-omega'(a + b)) with omega from 0 on (Yang, Sindhwani, Fan, Avron
    and Mahoney 2014, Random Laplace feature maps for semigroup kernels on histograms).
    """

    @abstractmethod
    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw omega, shape (n_columns, size)."""


@dataclass
class ExponentialSemigroup(Semigroup, name="exponential_semigroup"):
    """The exponential semigroup kernel, k(a, b) = exp(-sum_j sqrt(a_j + b_j) / bandwidth).

    Its rates follow the law of Levy, 1 / (2 bandwidth^2 g^2) with g standard normal (Yang et al.
    2014, where beta is 1 / bandwidth).

    Parameters
    ----------
    bandwidth : float or "median"
        The sum of roots at which the value is exp(-1); "median" takes it from the data.
    multiplier : float
        Multiplies the median. A bandwidth that is a number is taken as it is.

    Examples
    --------
    >>> ExponentialSemigroup(bandwidth=2.0)([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[0.3679, 0.3806]])
    """

    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return sums of roots."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        Sums.of(Term.ROOT, B).fill(A, 0, B.shape[0], out)
        return out

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side."""
        return ExponentialOf(Sums.of(Term.ROOT, B), -1 / self._number())

    def diagonal(self, A: Rows) -> Array:
        """Return exp(-sum_j sqrt(2 a_j) / bandwidth)."""
        A = checked_rows(A)
        roots = (2 * A).sqrt() if sp.issparse(A) else np.sqrt(2 * A)
        return _of_sums(roots, -1 / self._number())

    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the law of Levy."""
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
        Multiplies the median. A bandwidth that is a number is taken as it is.

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

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side, in bandwidths."""
        number = self._number()
        return Reciprocals(np.ascontiguousarray((dense(B) / B.dtype.type(number)).T), number)

    def diagonal(self, A: Rows) -> Array:
        """Return prod_j 1 / (1 + 2 a_j / bandwidth)."""
        A = checked_rows(A)
        doubled = A * A.dtype.type(2 / self._number())
        return _of_sums(doubled.log1p() if sp.issparse(A) else np.log1p(doubled), -1.0)

    def rates(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw exponential rates."""
        return rng.exponential((n_columns, size)) / self._number()


@dataclass(frozen=True, eq=False)
class Reciprocals(Against):
    """Products of reciprocals against rows that were divided by the bandwidth."""

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
