"""Kernels of histograms, rows of non-negative entries, that are sums over the columns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term, pairwise_sums
from bochner.compute.pool import each_tile
from bochner.kernels.kernel import BandwidthKernel, Kernel, by_tiles
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, alike, checked_rows, dense
from bochner.wording import AdvisedError

CHECKED_ROWS = 4096  # rows, or stored entries, that a thread checks at once


class Histogram(Kernel):
    """A kernel of histograms, counts and other rows without negative entries."""

    @abstractmethod
    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) for many calls with the same rows `B`."""

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile; of k(A, A) only one half is computed."""
        return by_tiles(self.tile, A, B)

    def require(self, X: Rows) -> None:
        """Raise a ValueError that names the first negative entry, if there is one."""
        if not _any_negative(X.data if sp.issparse(X) else X):
            return
        entries = sp.coo_array(X)
        first = np.flatnonzero(entries.data < 0)[0]
        row, column = (places[first] for places in entries.coords)
        gaussian = "or choose another kernel, such as 'gaussian'."
        raise AdvisedError(
            f"Negative values in data: {type(self).__name__} is a kernel of histograms, whose "
            f"entries are from 0 on. {{columns}}: {entries.data[first]:g} in row {row} (counted "
            "from 0).",
            f"Do not centre the columns (MinMaxScaler leaves them from 0 on), {gaussian}",
            f"Leave the column out by drop={{names}}, {gaussian}",
            columns=[int(column)],
        )


class BandwidthHistogram(BandwidthKernel, Histogram):
    """A kernel of histograms with a bandwidth."""


def _any_negative(values: Array) -> bool:
    """Whether there is a negative number."""
    found = []

    def check(top: int, bottom: int) -> None:
        if values[top:bottom].min(initial=0) < 0:
            found.append(top)

    each_tile(check, len(values), CHECKED_ROWS)
    return bool(found)


class Additive(Histogram):
    """An additive homogeneous kernel, k(a, b) = sum_j t(a_j, b_j) with t(c x, c y) = c t(x, y).

    t(x, y) = sqrt(x y) K(log(x / y)), and the signature K is the characteristic function of a
    spectrum: K(z) = E cos(omega z), K(0) = 1 (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Figure 1). So k(a, a) is the sum of the entries. `term` is
    t(x, y), and `distance` is x + y - 2 t(x, y).
    """

    term: ClassVar[Term]
    distance: ClassVar[Term]

    @abstractmethod
    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K(z) at z = log(x / y)."""

    @abstractmethod
    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the frequencies |omega| below which these shares of the spectrum lie."""

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B."""
        return PreparedSums.of(self.term, B)

    def squared_distances(self, B: Rows) -> PreparedSums:
        """Return k(., .) + k(b, b) - 2 k(., b) for the rows b of `B`, by its own formula."""
        return PreparedSums.of(self.distance, B)

    def diagonal(self, A: Rows) -> Array:
        """Return the sum of each row's entries."""
        A = checked_rows(A)
        return np.asarray(A.sum(axis=1)).reshape(-1).astype(A.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class PreparedSums(PreparedKernel):
    """The sums over columns of t(a_j, b_j) with fixed rows."""

    term: Term
    transposed: Array

    @classmethod
    def of(cls, term: Term, B: Rows) -> PreparedSums:
        """Prepare the rows `B`."""
        return cls(term, for_loops(dense(B).T))

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the sums."""
        pairwise_sums(self.term, for_loops(dense(A)), self.transposed, start, out)


def for_loops(X: Array) -> Array:
    """Return the array as compiled loops need it, C-contiguous and writeable."""
    return np.require(X, requirements=["C", "W"])


@dataclass
class ChiSquared(Additive, name="chi_squared"):
    """The chi squared kernel, k(a, b) = sum_j 2 a_j b_j / (a_j + b_j).

    It is (|a|_1 + |b|_1 - chi^2) / 2 with chi^2 = sum_j (a_j - b_j)^2 / (a_j + b_j). Its signature
    is 1 / cosh(z / 2), and its spectrum has the density 1 / cosh(pi omega) (Vedaldi and Zisserman
    2012, Efficient additive kernels via explicit feature maps, Figure 1).

    Examples
    --------
    >>> ChiSquared()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6667]])
    """

    term: ClassVar[Term] = Term.HARMONIC
    distance: ClassVar[Term] = Term.CHI_SQUARED

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 / cosh(z / 2)."""
        return np.asarray(1 / np.cosh(z / 2))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return arsinh(tan(pi u / 2)) / pi, as the shares u are 4 / pi arctan(e^(pi w)) - 1."""
        return np.asarray(np.arcsinh(np.tan(np.pi / 2 * shares)) / np.pi)


@dataclass
class Hellinger(Additive, name="hellinger"):
    """Hellinger's kernel, also Bhattacharyya's, k(a, b) = sum_j sqrt(a_j b_j).

    Its signature is 1, so its spectrum is concentrated at 0, and the square roots of the entries
    are its features (Vedaldi and Zisserman 2012, Efficient additive kernels via explicit feature
    maps).

    Examples
    --------
    >>> Hellinger()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.7071]])
    """

    distance: ClassVar[Term] = Term.ROOTS

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1."""
        return np.ones_like(z)

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 0."""
        return np.zeros_like(shares)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the roots of B."""
        return PreparedRootProducts(_roots(B))


@dataclass(frozen=True, eq=False)
class PreparedRootProducts(PreparedKernel):
    """The products of the square roots of rows with the roots of fixed rows."""

    roots: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products."""
        out[...] = dense(_roots(alike(A, self.roots)) @ self.roots[start:stop].T)


def _roots(X: Rows) -> Rows:
    return X.sqrt() if sp.issparse(X) else np.sqrt(X)


@dataclass
class Intersection(Additive, name="intersection"):
    """The intersection of histograms, k(a, b) = sum_j min(a_j, b_j).

    Its signature is exp(-|z| / 2), and its spectrum is Cauchy with scale 1/2, of the density
    2 / (pi (1 + 4 omega^2)) (Vedaldi and Zisserman 2012, Efficient additive kernels via explicit
    feature maps, Figure 1).

    Examples
    --------
    >>> Intersection()([[0.5, 0.5]], [[0.5, 0.5], [0.8, 0.2]]).round(4)
    array([[1. , 0.7]])
    """

    term: ClassVar[Term] = Term.MINIMUM
    distance: ClassVar[Term] = Term.ABSOLUTE

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp(-|z| / 2)."""
        return np.asarray(np.exp(-np.abs(z) / 2))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tan(pi u / 2) / 2."""
        return np.asarray(np.tan(np.pi / 2 * shares) / 2)


HIGHEST, KNOTS = 12.0, 16_385  # of the tabulated spectrum, of which 1e-18 lies beyond


@dataclass
class JensenShannon(Additive, name="jensen_shannon"):
    """The Jensen-Shannon kernel, from the mean of two relative entropies.

    k(a, b) = sum_j a_j / 2 log2((a_j + b_j) / a_j) + b_j / 2 log2((a_j + b_j) / b_j), which is
    (|a|_1 + |b|_1) / 2 minus the Jensen-Shannon divergence in bits. Its signature is
    e^(z/2) / 2 log2(1 + e^-z) + e^(-z/2) / 2 log2(1 + e^z), and its spectrum has the density
    2 / (log(4) cosh(pi omega) (1 + 4 omega^2)) (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Figure 1).

    Examples
    --------
    >>> JensenShannon()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6887]])
    """

    term: ClassVar[Term] = Term.ENTROPY
    distance: ClassVar[Term] = Term.DIVERGENCE

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return e^(z/2) / 2 log2(1 + e^-z) + e^(-z/2) / 2 log2(1 + e^z)."""
        z = np.abs(z)
        fall = np.exp(-z / 2)
        near = np.log1p(fall**2)  # log(1 + e^-z), which e^(z/2) multiplies
        return np.asarray((near / fall + fall * (z + near)) / (2 * np.log(2)))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of a table of the distribution, linear between its knots."""
        return np.interp(shares, *_distribution())


@cache
def _distribution() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shares and frequencies; the knots are squared, so dense where the density is high."""
    omega = HIGHEST * np.linspace(0, 1, KNOTS) ** 2
    density = 1 / (np.cosh(np.pi * omega) * (1 + 4 * omega**2))
    pieces = np.diff(omega) * (density[1:] + density[:-1]) / 2
    shares = np.concatenate([[0.0], np.cumsum(pieces)])
    return shares / shares[-1], omega
