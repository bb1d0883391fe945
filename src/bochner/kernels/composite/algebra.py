"""Sums, products and multiples of kernels.

`KernelPair` and `KernelMultiple` hold what is true of any kernels. `Sum`, `Product` and `Scaled`
add the spectral measure, which the result has if its parts are shift-invariant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.given import Precomputed
from bochner.kernels.kernel import (
    Kernel,
    Separable,
    ShiftInvariant,
    constructor,
    is_separable,
    separable,
)
from bochner.kernels.prepared import (
    PreparedFunction,
    PreparedKernel,
    PreparedPair,
    PreparedTransform,
)
from bochner.kernels.rows import Array, Rows, dense, mean
from bochner.validation import FINITE, require_positive


def shift_invariant(kernel: Any) -> ShiftInvariant:
    """Return the kernel, or raise a ValueError if it has no spectral measure."""
    if isinstance(kernel, ShiftInvariant):
        return kernel
    raise ValueError(
        "Sum, Product, Scaled, ColumnScaled and Mapped need shift-invariant kernels, such as "
        f"Gaussian, Laplacian and Matern; got {kernel!r}. Write left + right, left * right, "
        "2 * kernel or kernel.column_scaled(scales), which take any kernel."
    )


def part_of(whole: Kernel, kernel: Any) -> Kernel:
    """Return the kernel, or raise a ValueError if it cannot be part of the composite `whole`."""
    if isinstance(whole, ShiftInvariant):
        return shift_invariant(kernel)
    if isinstance(kernel, Kernel) and not isinstance(kernel, Precomputed):
        return kernel
    raise ValueError(
        "A composite kernel needs kernels that can be evaluated at any rows; got "
        f"{kernel!r}. Combine the matrices themselves and give them with kernel='precomputed'."
    )


@dataclass
class KernelPair(Kernel):
    """A kernel made of two kernels, whose values an `operation` combines."""

    left: Kernel
    right: Kernel

    operation: ClassVar[np.ufunc]

    @property
    def centred(self) -> bool:
        """Whether both parts stay the same if all rows are shifted."""
        return self.left.centred and self.right.centred

    def check(self) -> None:
        """Raise a ValueError if a part cannot be used."""
        part_of(self, self.left).check()
        part_of(self, self.right).check()

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the matrices of both parts, combined."""
        return np.asarray(self.operation(self.left.matrix(A, B), self.right.matrix(A, B)), A.dtype)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with both parts prepared."""
        return PreparedPair(self._part(self.left, B), self._part(self.right, B), self.operation)

    def diagonal(self, A: Rows) -> Array:
        """Return the diagonals of both parts, combined."""
        return np.asarray(self.operation(self.left.diagonal(A), self.right.diagonal(A)))

    def _part(self, kernel: Kernel, B: Rows) -> PreparedKernel:
        """Return a part prepared, for centred rows if only the other part needs them as they are.

        Far from the origin products of rows would lose the digits of their differences.
        """
        centre = mean(B) if kernel.centred and not self.centred else None
        if centre is None:
            return kernel.prepared(B)
        transform = partial(_dense_centred, centre=centre)
        return PreparedTransform(kernel.prepared(transform(B)), transform)


def _dense_centred(X: Rows, centre: Array) -> Array:
    return dense(X) - centre


@dataclass
class GeneralSum(KernelPair):
    """The sum of two kernels of any kind, k(a, b) = left(a, b) + right(a, b).

    ``left + right`` makes it unless both are shift-invariant, for which there is `Sum`. A sum of
    kernels is a kernel: both matrices are positive semi-definite.

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
class GeneralProduct(KernelPair):
    """The product of two kernels of any kind, k(a, b) = left(a, b) right(a, b).

    ``left * right`` makes it unless both are shift-invariant, for which there is `Product`. A
    product of kernels is a kernel (Schur 1911).

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
class Sum(ShiftInvariant, Separable, KernelPair):
    """The sum of two shift-invariant kernels, k(a, b) = left(a, b) + right(a, b).

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

    left: ShiftInvariant
    right: ShiftInvariant

    operation: ClassVar[np.ufunc] = np.add

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return self.left.variance + self.right.variance

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each frequency from the left or from the right kernel."""
        left = self.left.frequencies(n_columns, size, rng)
        right = self.right.frequencies(n_columns, size, rng)
        return self._mixed(left, right, rng)

    @property
    def has_pitches(self) -> bool:
        """Whether both parts have them."""
        return is_separable(self.left) and is_separable(self.right)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each grid from the left or from the right kernel."""
        left = separable(self.left).pitches(n_columns, size, rng)
        right = separable(self.right).pitches(n_columns, size, rng)
        return self._mixed(left, right, rng)

    def _mixed(
        self, left: NDArray[np.float64], right: NDArray[np.float64], rng: Random
    ) -> NDArray[np.float64]:
        share = self.left.variance / self.variance
        return np.where(rng.uniform(left.shape[1]) < share, left, right)


@dataclass
class Product(ShiftInvariant, KernelPair):
    """The product of two shift-invariant kernels, k(a, b) = left(a, b) right(a, b).

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

    left: ShiftInvariant
    right: ShiftInvariant

    operation: ClassVar[np.ufunc] = np.multiply

    @property
    def variance(self) -> float:
        """The product of the variances."""
        return self.left.variance * self.right.variance

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Add a frequency of the left kernel and one of the right."""
        left = self.left.frequencies(n_columns, size, rng)
        return left + self.right.frequencies(n_columns, size, rng)


@dataclass
class KernelMultiple(Kernel):
    """A kernel times a positive number."""

    kernel: Kernel
    factor: float

    @property
    def centred(self) -> bool:
        """Whether the kernel stays the same if all rows are shifted."""
        return self.kernel.centred

    def check(self) -> None:
        """Raise a ValueError if the factor or the kernel cannot be used."""
        require_positive(f"The factor of {type(self).__name__}", self.factor, FINITE)
        part_of(self, self.kernel).check()

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the factor times the kernel's matrix."""
        return float(self.factor) * self.kernel.matrix(A, B)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the kernel prepared."""
        return PreparedFunction(self.kernel.prepared(B), partial(_multiply, factor=self.factor))

    def diagonal(self, A: Rows) -> Array:
        """Return the factor times the kernel's diagonal."""
        return float(self.factor) * self.kernel.diagonal(A)


def _multiply(values: Array, factor: float) -> None:
    values *= values.dtype.type(factor)


@dataclass
class GeneralScaled(KernelMultiple):
    """A multiple of a kernel of any kind, k(a, b) = factor * kernel(a, b).

    ``factor * kernel`` makes it unless the kernel is shift-invariant, for which there is `Scaled`.

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


@dataclass
class Scaled(ShiftInvariant, Separable, KernelMultiple):
    """A multiple of a shift-invariant kernel, k(a, b) = factor * kernel(a, b).

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

    @property
    def variance(self) -> float:
        """The factor times the variance of the kernel."""
        return self.factor * self.kernel.variance

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


@constructor
def add(left: Kernel, right: Kernel) -> Kernel:
    """Return left + right."""
    if isinstance(left, ShiftInvariant) and isinstance(right, ShiftInvariant):
        return Sum(left, right)
    return GeneralSum(left, right)


@constructor
def multiply(left: Kernel, right: Kernel) -> Kernel:
    """Return left * right."""
    if isinstance(left, ShiftInvariant) and isinstance(right, ShiftInvariant):
        return Product(left, right)
    return GeneralProduct(left, right)


@constructor
def scale(kernel: Kernel, factor: float) -> Kernel:
    """Return factor * kernel."""
    require_positive("The factor of a kernel", factor, FINITE)
    if isinstance(kernel, ShiftInvariant):
        return Scaled(kernel, factor)
    return GeneralScaled(kernel, factor)
