"""Kernels made of kernels: sums, products and multiples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.against import Against, Combined, Multiplied
from bochner.kernels.kernel import ShiftInvariant, positive, shift_invariant
from bochner.kernels.rows import Array, Rows
from bochner.kernels.separable import Separable, is_separable, separable


@dataclass
class Pair(ShiftInvariant):
    """A kernel made of two kernels, whose values an `operation` combines."""

    left: ShiftInvariant
    right: ShiftInvariant

    operation: ClassVar[np.ufunc]

    def check(self) -> None:
        """Raise a ValueError if a part cannot be used."""
        shift_invariant(self.left).check()
        shift_invariant(self.right).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with both parts resolved."""
        self.check()
        return replace(self, left=self.left.resolved(X, rng), right=self.right.resolved(X, rng))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the tiles of both parts, combined."""
        return self.operation(self.left.tile(A, B), self.right.tile(A, B))  # type: ignore[no-any-return]

    def against(self, B: Rows) -> Against:
        """Return k(., B) with both parts prepared."""
        return Combined(self.left.against(B), self.right.against(B), self.operation)


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

    operation: ClassVar[np.ufunc] = np.add

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return self.left.variance + self.right.variance

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each frequency from the left or from the right."""
        left = self.left.frequencies(n_columns, size, rng)
        right = self.right.frequencies(n_columns, size, rng)
        return self._mixed(left, right, rng)

    @property
    def has_pitches(self) -> bool:
        """Whether both parts have them."""
        return is_separable(self.left) and is_separable(self.right)

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

    operation: ClassVar[np.ufunc] = np.multiply

    @property
    def variance(self) -> float:
        """The product of the variances."""
        return self.left.variance * self.right.variance

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

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared."""
        return Multiplied(self.kernel.against(B), self.factor)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel: the factor is in the variance."""
        return self.kernel.frequencies(n_columns, size, rng)

    @property
    def has_pitches(self) -> bool:
        """Whether the kernel has them."""
        return is_separable(self.kernel)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel: the factor is in the variance."""
        return separable(self.kernel).pitches(n_columns, size, rng)
