"""HadamardDrawing: frequencies that are never written down, but applied by fast transforms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.hadamard import hadamard_products, power_of_two
from bochner.compute.random.counter_based import Random
from bochner.compute.random.stratified import StratifiedRandom
from bochner.features.drawings.drawing import PAIRS, Drawing
from bochner.kernels import NormalMixture, Product, Scaled, ShiftInvariant, Stretched, Sum
from bochner.kernels.composite.column_scales import column_scales
from bochner.kernels.rows import dense

LEAST = 64  # columns of a block: random signs of fewer are too far from uniform directions


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors L H D_s P_s ... H D_1 of some blocks of frequencies, as `hadamard_products`."""

    diagonals: NDArray[Any]
    orders: NDArray[np.int32]
    lengths: NDArray[Any]

    def products(self, rows: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """Return the products with the blocks first, ..., last - 1."""
        some = slice(first, last)
        return hadamard_products(rows, self.diagonals[some], self.orders[some], self.lengths[some])


class HadamardDrawing(Drawing):
    """Frequencies in blocks of n, L V / sqrt(n) with V a product of Hadamard and other factors.

    n is the number of columns, filled up to a power of two from 64 on. The rows of V are of length
    sqrt(n). L holds chi-distributed lengths with n degrees of freedom times the scales of the
    kernel, a mixture of Gaussians. A product with a row takes n log n additions, and a block is
    known by 4 n or 6 n numbers.
    """

    stages: ClassVar[int]

    def pairs(self, n_columns: int) -> int:
        """Return at least one block."""
        return max(PAIRS, power_of_two(n_columns))

    def together(self, n_columns: int) -> int:
        """Return the frequencies of a block."""
        return max(LEAST, power_of_two(n_columns))

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether the kernel has scales."""
        try:
            scales_of(kernel, 1, Random(0))
        except ValueError:
            return False
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Ask for one scale: other kernels are refused there."""
        scales_of(kernel, 1, Random(0))
        factors_of(kernel, n_columns)

    @abstractmethod
    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the diagonals (stages, n) and the orders (stages - 1, n) of a block V."""

    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Factors:
        """Return the factors; those of columns (`Stretched`) go into the first diagonals."""
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
    """Draw scales of a mixture of Gaussians, or of what is made of such kernels.

    A sum takes them from one of its parts. The frequency of a product is a sum of two normal
    vectors, of scales s and t: a normal vector of the scale sqrt(s^2 + t^2).
    """
    if isinstance(kernel, NormalMixture):
        return kernel.scales(size, rng)
    if isinstance(kernel, Scaled | Stretched):
        return scales_of(kernel.kernel, size, rng)
    if isinstance(kernel, Sum | Product) and not _is_stretched(kernel):
        left, right = scales_of(kernel.left, size, rng), scales_of(kernel.right, size, rng)
        if isinstance(kernel, Product):
            return np.hypot(left, right)
        return np.where(rng.uniform(size) < kernel.left.variance / kernel.variance, left, right)
    raise ValueError(
        "Products of Hadamard matrices draw frequencies of kernels that are mixtures of Gaussians, "
        "as Gaussian, Matern, Cauchy, RationalQuadratic and ExponentialPower are, of their sums, "
        f"products and multiples, and with a scale per column; got {kernel!r}. Take "
        "drawing='plain', or 'orthogonal' for kernels of mapped rows."
    )


def factors_of(kernel: ShiftInvariant, n_columns: int) -> NDArray[np.float64]:
    """Return what the columns are multiplied by before the scales: those of `Stretched`."""
    if isinstance(kernel, Scaled):
        return factors_of(kernel.kernel, n_columns)
    if isinstance(kernel, Stretched):
        scales = column_scales(kernel.kernel, kernel.scales, n_columns)
        return factors_of(kernel.kernel, n_columns) / scales
    return np.ones(n_columns)


def _is_stretched(kernel: ShiftInvariant) -> bool:
    """Whether a part of a sum or product measures distances in a way of its own."""
    if isinstance(kernel, Scaled):
        return _is_stretched(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        return _is_stretched(kernel.left) or _is_stretched(kernel.right)
    return isinstance(kernel, Stretched)
