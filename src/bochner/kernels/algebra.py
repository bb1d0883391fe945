"""Kernels made of kernels: sums, products, multiples, and a scale per column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.compute.random import Random
from bochner.kernels.kernel import ShiftInvariant, positive, shift_invariant
from bochner.kernels.rows import Array, Rows, checked_rows, divided
from bochner.kernels.separable import Separable, separable


@dataclass
class Pair(ShiftInvariant):
    """A kernel made of two kernels."""

    left: ShiftInvariant
    right: ShiftInvariant

    def check(self) -> None:
        """Raise a ValueError if a part cannot be used."""
        shift_invariant(self.left).check()
        shift_invariant(self.right).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with both parts resolved."""
        self.check()
        return replace(self, left=self.left.resolved(X, rng), right=self.right.resolved(X, rng))


@dataclass
class Sum(Pair, Separable):
    """The sum of two kernels, k(a, b) = left(a, b) + right(a, b).

    Its spectral measure is a mixture: each frequency is drawn from one of the two, with
    probabilities in proportion to their variances.

    Parameters
    ----------
    left, right : ShiftInvariant
        The kernels that are added.

    Examples
    --------
    >>> from bochner.kernels import Gaussian, Laplacian
    >>> kernel = Gaussian(1.0) + Laplacian(3.0)
    >>> kernel([[0.0]], [[0.0], [3.0]]).round(4)
    array([[2.   , 0.379]])
    """

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return self.left.variance + self.right.variance

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the sum of the parts' tiles."""
        return self.left.tile(A, B) + self.right.tile(A, B)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each frequency from the left or from the right."""
        left = self.left.frequencies(n_columns, size, rng)
        right = self.right.frequencies(n_columns, size, rng)
        return self._mixed(left, right, rng)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each grid from the left or from the right."""
        left = separable(self.left).pitches(n_columns, size, rng)
        right = separable(self.right).pitches(n_columns, size, rng)
        return self._mixed(left, right, rng)

    def _mixed(
        self, left: NDArray[np.float64], right: NDArray[np.float64], rng: Random
    ) -> NDArray[np.float64]:
        share = self.left.variance / self.variance
        return np.where(rng.uniform(left.shape[1]) < share, left, right)


@dataclass
class Product(Pair):
    """The product of two kernels, k(a, b) = left(a, b) right(a, b).

    Its spectral measure is a convolution: a frequency is the sum of one of each.

    Parameters
    ----------
    left, right : ShiftInvariant
        The kernels that are multiplied.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = Gaussian(1.0) * Gaussian(1.0)
    >>> kernel([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    @property
    def variance(self) -> float:
        """The product of the variances."""
        return self.left.variance * self.right.variance

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the product of the parts' tiles."""
        return self.left.tile(A, B) * self.right.tile(A, B)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Add a frequency of the left and one of the right."""
        left = self.left.frequencies(n_columns, size, rng)
        return left + self.right.frequencies(n_columns, size, rng)


@dataclass
class Scaled(ShiftInvariant, Separable):
    """A multiple of a kernel, k(a, b) = factor * kernel(a, b).

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel that is multiplied.
    factor : float
        A positive number.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = 3 * Gaussian(1.0)
    >>> kernel([[0.0]], [[0.0], [1.0]]).round(4)
    array([[3.    , 1.8196]])
    """

    kernel: ShiftInvariant
    factor: float

    @property
    def variance(self) -> float:
        """The factor times the variance of the kernel."""
        return self.factor * self.kernel.variance

    def check(self) -> None:
        """Raise a ValueError if the factor or the kernel cannot be used."""
        positive(self.factor, "The factor of Scaled")
        shift_invariant(self.kernel).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(X, rng))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the factor times the kernel's tile."""
        return float(self.factor) * self.kernel.tile(A, B)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel: the factor is in the variance."""
        return self.kernel.frequencies(n_columns, size, rng)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel: the factor is in the variance."""
        return separable(self.kernel).pitches(n_columns, size, rng)


@dataclass
class Stretched(ShiftInvariant, Separable):
    """A kernel with a scale per column, k(a, b) = kernel(a / scales, b / scales).

    Automatic relevance determination: a column with a large scale matters little (Rasmussen and
    Williams 2006, Gaussian processes for machine learning, Eq. 5.2). The frequencies are those of
    the kernel divided by the scales. A median bandwidth is measured on the rows divided by the
    scales.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel that sees the divided columns.
    scales : array-like of shape (n_columns,)
        Positive numbers.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = Stretched(Gaussian(1.0), scales=[1.0, 10.0])
    >>> kernel([[0.0, 0.0]], [[1.0, 0.0], [0.0, 10.0]]).round(4)
    array([[0.6065, 0.6065]])
    """

    kernel: ShiftInvariant
    scales: ArrayLike

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stretched):
            return NotImplemented
        return self.kernel == other.kernel and np.array_equal(self.scales, other.scales)

    @property
    def variance(self) -> float:
        """The variance of the kernel."""
        return self.kernel.variance

    def check(self) -> None:
        """Raise a ValueError if the scales or the kernel cannot be used."""
        scales = np.asarray(self.scales)
        if (
            scales.ndim != 1
            or scales.dtype.kind not in "fiu"
            or not np.all(np.isfinite(scales) & (scales > 0))
        ):
            raise ValueError(
                "The scales of Stretched must be a list of finite positive numbers, one for each "
                f"column; got {self.scales!r}."
            )
        shift_invariant(self.kernel).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved on the divided rows."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(self._divided(checked_rows(X)), rng))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's tile of the divided rows."""
        return self.kernel.tile(self._divided(A), self._divided(B))

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and divide by the scales."""
        return self.kernel.frequencies(n_columns, size, rng) / self._scales(n_columns)[:, None]

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and multiply by the scales."""
        pitches = separable(self.kernel).pitches(n_columns, size, rng)
        return pitches * self._scales(n_columns)[:, None]

    def _divided(self, X: Rows) -> Rows:
        return divided(X, self._scales(X.shape[1]))

    def _scales(self, n_columns: int) -> NDArray[np.float64]:
        scales = np.asarray(self.scales, dtype=np.float64)
        if len(scales) != n_columns:
            raise ValueError(
                f"Stretched needs one scale for each of the {n_columns} columns; got "
                f"{len(scales)} scales."
            )
        return scales
