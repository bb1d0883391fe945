"""Drawings: ways to draw the frequencies of Fourier features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.compute.linear_algebra.hadamard import hadamard_products, power_of_two
from bochner.compute.random.counter_based import Random
from bochner.compute.random.variance_reduction import (
    OrthogonalRandom,
    QuasiRandom,
    StratifiedRandom,
)
from bochner.kernels import (
    ColumnScaled,
    Kernel,
    NormalMixture,
    Product,
    Scaled,
    ShiftInvariant,
    Sum,
)
from bochner.kernels.composite.transformed_rows import column_scales
from bochner.kernels.kernel import parts
from bochner.kernels.rows import dense, fill_product

PAIRS = 256  # of a cosine and a sine that are drawn together; changing it changes every model
LARGEST_UNIT = 1024  # frequencies of a unit
FEW_COLUMNS = 3
LEAST_BLOCK = 64  # columns of a block: random signs of fewer are too far from uniform directions


class Drawing(Component, ABC, family="drawing"):
    """A way to draw the frequencies of a kernel, a unit at a time.

    Every frequency has the spectral measure of the kernel, or nearly so; drawings differ in how
    frequencies of a unit depend on each other, and in how rows are multiplied by them.
    """

    def pairs(self, n_columns: int) -> int:
        """Return the number of frequencies of a unit: a power of two, at least `PAIRS`."""
        return PAIRS

    def together(self, n_columns: int) -> int:
        """Return how many frequencies take as long as a single one."""
        return 1

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether the frequencies of a kernel, whose defaults are set, can be drawn in this way.

        The answer depends on the parts of the kernel, not on the number of columns.
        """
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Raise a ValueError if the frequencies of this kernel cannot be drawn in this way."""
        return

    @abstractmethod
    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Any:
        """Return a unit of frequencies, divided by 2 pi, in the form that `turns` takes."""

    @abstractmethod
    def unit_bytes(self, n_columns: int, dtype: Any) -> int:
        """Return the bytes of a unit."""

    @abstractmethod
    def turns(self, rows: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write omega_j'x / (2 pi) of some rows, j = first, ..., last - 1 of a unit, into `out`."""


class MatrixDrawing(Drawing):
    """Frequencies that are a matrix; subclasses differ in the random numbers."""

    @abstractmethod
    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return the random numbers for a unit of `size` frequencies."""

    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Any:
        """Return the frequencies of the kernel, (n_columns, pairs)."""
        size = self.pairs(n_columns)
        frequencies = kernel.frequencies(n_columns, size, self.numbers(kernel, size, rng))
        return np.ascontiguousarray(frequencies / (2 * pi), dtype=dtype)

    def unit_bytes(self, n_columns: int, dtype: Any) -> int:
        """Return the bytes of the matrix."""
        return n_columns * self.pairs(n_columns) * int(np.dtype(dtype).itemsize)

    def turns(self, rows: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Multiply the rows by columns of the matrix."""
        fill_product(rows, unit[:, first:last], out)


@dataclass
class Plain(MatrixDrawing, name="plain"):
    """Independent frequencies, for every shift-invariant kernel.

    Rahimi and Recht 2007, Random features for large-scale kernel machines, Algorithm 1.
    """

    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return independent random numbers."""
        return rng


@dataclass
class Orthogonal(MatrixDrawing, name="orthogonal"):
    """Frequencies of orthogonal directions, as many at a time as there are columns.

    omega_j = l_j q_j with orthonormal q_j, independent of the lengths l_j. Each is drawn from the
    spectral measure, but phi(x)'phi(y) has a smaller variance than with independent frequencies,
    above all if there are at least as many of them as columns (Yu, Suresh, Choromanski,
    Holtmann-Rice and Kumar 2016, Orthogonal random features). At most 1,024 at a time are
    orthogonal. Random scales of a kernel are stratified, which the paper does not have.

    The kernel must be a mixture of Gaussians, as all kernels of the Euclidean distance are here, or
    a sum, product, multiple, scaling or map of such kernels; each part of it is then orthogonal by
    itself.
    """

    def pairs(self, n_columns: int) -> int:
        """Return the next power of two from the number of columns on, within bounds."""
        return min(LARGEST_UNIT, max(PAIRS, power_of_two(n_columns)))

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether all parts of the kernel are mixtures of Gaussians, or can be drawn like these."""
        if inner := [part for part in parts(kernel).values() if isinstance(part, ShiftInvariant)]:
            return all(map(self.takes, inner))
        return isinstance(kernel, NormalMixture) or self._draws(kernel)

    def _draws(self, kernel: ShiftInvariant) -> bool:
        try:
            self.check(kernel, FEW_COLUMNS)
        except ValueError:
            return False
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Draw one frequency, which raises for other kernels."""
        kernel.frequencies(n_columns, 1, self.numbers(kernel, 1, Random(0)))

    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return numbers whose normal vectors are orthogonal."""
        return OrthogonalRandom(rng, kernel)


@dataclass
class QuasiMonteCarlo(MatrixDrawing, name="quasi_monte_carlo"):
    """Frequencies that fill the spectral measure evenly, for every shift-invariant kernel.

    Scrambled Halton points, mapped by the inverse distribution functions of the kernel's random
    numbers, in place of random points (Avron, Sindhwani, Yang and Mahoney 2016, Quasi-Monte Carlo
    feature maps for shift-invariant kernels). A random scale takes one more coordinate. For few
    columns the error is much smaller than with random points, and falls faster with the size; for
    hundreds it is about the same. Unit i holds the points 256 i, ..., 256 i + 255.
    """

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Draw one frequency, which raises if the last axis is not the frequencies."""
        kernel.frequencies(n_columns, 1, QuasiRandom(Random(0), 0, 1))

    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return the coordinates of the points that belong to the unit."""
        return QuasiRandom(rng, rng.path[-1] * size, size)


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors L H D_s P_s ... H D_1 of blocks of frequencies, for `hadamard_products`."""

    diagonals: NDArray[Any]
    orders: NDArray[np.int32]
    lengths: NDArray[Any]

    def products(self, rows: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """Return the products with the blocks first, ..., last - 1."""
        some = slice(first, last)
        return hadamard_products(rows, self.diagonals[some], self.orders[some], self.lengths[some])


class HadamardDrawing(Drawing):
    """Frequencies in blocks of n, L V / sqrt(n) with V a product of Hadamard and other factors.

    n is the number of columns, padded to a power of two, at least 64. The rows of V are of length
    sqrt(n). L holds chi-distributed lengths with n degrees of freedom times the scales of the
    kernel, a mixture of Gaussians. A product with a row takes n log n additions, and a block is
    stored as 4 n or 6 n numbers.
    """

    stages: ClassVar[int]

    def pairs(self, n_columns: int) -> int:
        """Return at least one block."""
        return max(PAIRS, power_of_two(n_columns))

    def together(self, n_columns: int) -> int:
        """Return the frequencies of a block."""
        return max(LEAST_BLOCK, power_of_two(n_columns))

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether the kernel has scales."""
        try:
            scales_of(kernel, 1, Random(0))
        except ValueError:
            return False
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Draw one scale, which raises for other kernels."""
        scales_of(kernel, 1, Random(0))
        factors_of(kernel, n_columns)

    @abstractmethod
    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the diagonals (stages, n) and the orders (stages - 1, n) of a block V."""

    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Factors:
        """Return the factors; column scales go into the first diagonals."""
        n, size = self.together(n_columns), self.pairs(n_columns)
        blocks = [self.block(n, rng) for _ in range(size // n)]
        diagonals = np.stack([diagonal for diagonal, _ in blocks])
        diagonals[:, 0, :n_columns] *= factors_of(kernel, n_columns)
        even = StratifiedRandom(rng)
        chi = np.sqrt(2 * even.gamma(n / 2, size))
        lengths = chi * scales_of(kernel, size, even) / (2 * pi * np.sqrt(n))
        return Factors(
            diagonals.astype(dtype),
            np.stack([order for _, order in blocks]).astype(np.int32),
            lengths.reshape(-1, n).astype(dtype),
        )

    def unit_bytes(self, n_columns: int, dtype: Any) -> int:
        """Return the bytes of the factors."""
        itemsize = int(np.dtype(dtype).itemsize)
        each = (self.stages + 1) * itemsize + (self.stages - 1) * 4
        return each * self.pairs(n_columns)

    def turns(self, rows: Any, unit: Factors, first: int, last: int, out: NDArray[Any]) -> None:
        """Transform the rows by the blocks that hold these frequencies."""
        n = unit.lengths.shape[1]
        begin, end = first // n, -(-last // n)
        out[:] = unit.products(dense(rows), begin, end)[:, first - begin * n : last - begin * n]


def signs(shape: tuple[int, ...], rng: Random) -> NDArray[np.float64]:
    """Return numbers that are 1 or -1."""
    return np.where(rng.uniform(shape) < 0.5, -1.0, 1.0)


def scales_of(kernel: ShiftInvariant, size: int, rng: Random) -> NDArray[np.float64]:
    """Draw scales of a mixture of Gaussians, or of a composition of such kernels.

    A sum takes them from one of its parts. The frequency of a product is a sum of two normal
    vectors, of scales s and t: a normal vector of the scale sqrt(s^2 + t^2).
    """
    if isinstance(kernel, NormalMixture):
        return kernel.scales(size, rng)
    if isinstance(kernel, Scaled | ColumnScaled):
        return scales_of(kernel.kernel, size, rng)
    if isinstance(kernel, Sum | Product) and not _has_column_scales(kernel):
        left, right = scales_of(kernel.left, size, rng), scales_of(kernel.right, size, rng)
        if isinstance(kernel, Product):
            return np.hypot(left, right)
        return np.where(rng.uniform(size) < kernel.left.variance / kernel.variance, left, right)
    raise ValueError(
        "Products of Hadamard matrices need a kernel that is a mixture of Gaussians, such as "
        "Gaussian, Matern, Cauchy, RationalQuadratic and ExponentialPower, or a sum, product or "
        f"multiple of these, or one of them with column scales; got {kernel!r}. Take "
        "drawing='plain', or 'orthogonal' for kernels of mapped rows."
    )


def factors_of(kernel: ShiftInvariant, n_columns: int) -> NDArray[np.float64]:
    """Return the column scales of the kernel, by which columns are multiplied first."""
    if isinstance(kernel, Scaled):
        return factors_of(kernel.kernel, n_columns)
    if isinstance(kernel, ColumnScaled):
        scales = column_scales(kernel.kernel, kernel.scales, n_columns)
        return factors_of(kernel.kernel, n_columns) / scales
    return np.ones(n_columns)


def _has_column_scales(kernel: Kernel) -> bool:
    """Whether a part of a sum or product has column scales of its own."""
    if isinstance(kernel, Scaled | Sum | Product):
        return any(map(_has_column_scales, parts(kernel).values()))
    return isinstance(kernel, ColumnScaled)


@dataclass
class StructuredOrthogonal(HadamardDrawing, name="structured_orthogonal"):
    """Frequencies L H D_3 H D_2 H D_1, orthogonal and applied by fast transforms.

    H is a Hadamard matrix and the D have random signs on their diagonals, so that H D_3 H D_2 H D_1
    has orthogonal rows, which for many columns are nearly uniform (Yu, Suresh, Choromanski,
    Holtmann-Rice and Kumar 2016, Orthogonal random features, section 4). There all lengths are
    sqrt(n); here L has the lengths of the kernel's own law, which is what few columns need.
    """

    stages: ClassVar[int] = 3

    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return D_1, D_2 / sqrt(n), D_3 / sqrt(n); nothing is permuted."""
        diagonals = signs((3, n), rng)
        diagonals[1:] /= np.sqrt(n)  # H^3 has the length n^(3/2), and it is to be sqrt(n)
        return diagonals, np.tile(np.arange(n), (2, 1))


@dataclass
class Fastfood(HadamardDrawing, name="fastfood"):
    """Frequencies L H G P H B, applied by fast transforms.

    H is a Hadamard matrix, B has random signs and G normal numbers on its diagonal, P is a random
    permutation, and L gives each frequency its length (Le, Sarlos and Smola 2013, Fastfood:
    approximating kernel expansions in loglinear time, where L is called S; there it has the lengths
    of the Gaussian kernel, here of any mixture of Gaussians). A row of n columns takes n log n
    operations for n frequencies, instead of n^2, and no matrix is stored. Each frequency is normal,
    but those of a block depend on each other: the variance is up to twice that of independent ones.
    `StructuredOrthogonal` has the smaller one, and takes half as long again.
    """

    stages: ClassVar[int] = 2

    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return B and G, divided by its norm, and P."""
        normal = rng.normal(n)
        # The rows of H G P H B have the length sqrt(n) |G|.
        diagonals = np.stack([signs((n,), rng), normal / np.linalg.norm(normal)])
        return diagonals, rng.permutation(n)[None]
