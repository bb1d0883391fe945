"""Sums, products and multiples of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import (
    Kernel,
    Separable,
    ShiftInvariant,
    is_separable,
    part,
    separable,
    shift_invariant,
)
from bochner.kernels.prepared import Against, Combined, Moved, Multiplied
from bochner.kernels.rows import Array, Rows, centred, mean
from bochner.validation import FINITE, require_positive


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
        require_positive("The factor of Scaled", self.factor, FINITE)
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


@dataclass
class GeneralPair(Kernel):
    """A kernel made of two kernels of any kind, whose values an `operation` combines."""

    left: Kernel
    right: Kernel

    operation: ClassVar[np.ufunc]

    @property
    def centred(self) -> bool:  # type: ignore[override]
        """Whether neither part sees a shift of the rows."""
        return self.left.centred and self.right.centred

    def check(self) -> None:
        """Raise a ValueError if a part cannot be used."""
        part(self.left).check()
        part(self.right).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with both parts resolved."""
        self.check()
        return replace(self, left=self.left.resolved(X, rng), right=self.right.resolved(X, rng))

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the matrices of both parts, combined."""
        return np.asarray(self.operation(self.left.matrix(A, B), self.right.matrix(A, B)), A.dtype)

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the tiles of both parts, combined."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.against(B).fill(A, 0, B.shape[0], out)
        return out

    def against(self, B: Rows) -> Against:
        """Return k(., B) with both parts prepared, each where it is exact."""
        return Combined(_against(self.left, B), _against(self.right, B), self.operation)

    def diagonal(self, A: Rows) -> Array:
        """Return the diagonals of both parts, combined."""
        return np.asarray(self.operation(self.left.diagonal(A), self.right.diagonal(A)))


@dataclass
class GeneralSum(GeneralPair):
    """The sum of two kernels of any kind, k(a, b) = left(a, b) + right(a, b).

    It is what ``left + right`` makes where not both are shift-invariant; `Sum` is for those. A sum
    of kernels is one: both matrices are positive semi-definite.

    Parameters
    ----------
    left, right : Kernel
        The kernels that are added.

    Examples
    --------
    >>> from bochner.kernels import FunctionKernel, Gaussian
    >>> linear = FunctionKernel(lambda A, B: A @ B.T)
    >>> kernel = Gaussian(1.0) + linear
    >>> kernel([[1.0]], [[1.0], [2.0]]).round(4)
    array([[2.    , 2.6065]])
    """

    operation: ClassVar[np.ufunc] = np.add


@dataclass
class GeneralProduct(GeneralPair):
    """The product of two kernels of any kind, k(a, b) = left(a, b) right(a, b).

    It is what ``left * right`` makes where not both are shift-invariant; `Product` is for those. A
    product of kernels is one (Schur 1911).

    Parameters
    ----------
    left, right : Kernel
        The kernels that are multiplied.

    Examples
    --------
    >>> from bochner.kernels import FunctionKernel, Gaussian
    >>> linear = FunctionKernel(lambda A, B: A @ B.T)
    >>> kernel = Gaussian(1.0) * linear
    >>> kernel([[1.0]], [[1.0], [2.0]]).round(4)
    array([[1.    , 1.2131]])
    """

    operation: ClassVar[np.ufunc] = np.multiply


@dataclass
class GeneralScaled(Kernel):
    """A multiple of a kernel of any kind, k(a, b) = factor * kernel(a, b).

    It is what ``factor * kernel`` makes where the kernel is not shift-invariant; `Scaled` is for
    those.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is multiplied.
    factor : float
        A positive number.

    Examples
    --------
    >>> from bochner.kernels import FunctionKernel
    >>> kernel = 3 * FunctionKernel(lambda A, B: A @ B.T)
    >>> kernel([[1.0]], [[1.0], [2.0]])
    array([[3., 6.]])
    """

    kernel: Kernel
    factor: float

    @property
    def centred(self) -> bool:  # type: ignore[override]
        """Whether the kernel does not see a shift of the rows."""
        return self.kernel.centred

    def check(self) -> None:
        """Raise a ValueError if the factor or the kernel cannot be used."""
        require_positive("The factor of GeneralScaled", self.factor, FINITE)
        part(self.kernel).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(X, rng))

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the factor times the kernel's matrix."""
        return float(self.factor) * self.kernel.matrix(A, B)

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the factor times the kernel's tile."""
        return float(self.factor) * self.kernel.tile(A, B)

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared."""
        return Multiplied(self.kernel.against(B), self.factor)

    def diagonal(self, A: Rows) -> Array:
        """Return the factor times the kernel's diagonal."""
        return float(self.factor) * self.kernel.diagonal(A)


def _against(kernel: Kernel, B: Rows) -> Against:
    """Return k(., B), of a kernel that does not see it with the rows moved to where it is exact."""
    centre = mean(B) if kernel.centred else None
    if centre is None:
        return kernel.against(B)
    return Moved(kernel.against(centred(B, centre)), centre)
