"""The skewed chi squared kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import harmonic_products
from bochner.compute.random.counter_based import Random
from bochner.kernels.against import Against
from bochner.kernels.histogram import Histogram
from bochner.kernels.kernel import ShiftInvariant, positive
from bochner.kernels.rows import Array, Rows, checked_rows, dense


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
        positive(self.skewness, "The skewness of SkewedChiSquared")

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        self.check()
        return replace(self)

    def logarithms(self, X: Rows) -> Array:
        """Return log(x + c): rows of which this is the kernel `Secant`."""
        X = dense(X)
        return np.log(X + X.dtype.type(self.skewness))  # type: ignore[no-any-return]

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the roots of B side by side."""
        return HarmonicProducts(np.ascontiguousarray(self.roots(B).T), self)

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

    def check(self) -> None:
        """Do nothing: there are no parameters."""

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        return replace(self)

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
class HarmonicProducts(Against):
    """Products of 2 u v / (u^2 + v^2) against rows of roots v."""

    transposed: Array
    kernel: SkewedChiSquared

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products."""
        harmonic_products(np.ascontiguousarray(self.kernel.roots(A)), self.transposed, start, out)
