"""The base classes of kernels: of two rows, of their difference, of a length in bandwidths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.kernels.prepared import Against, Tiles
from bochner.kernels.rows import Array, Rows, centred, checked_pair, checked_rows, mean, tiled
from bochner.validation import FINITE, require_positive

if TYPE_CHECKING:
    from bochner.kernels.composite.on_columns import OnColumns

TILE = 512  # rows and columns of the block that is worked on at once: 1 MB in float32
MEDIAN_ROWS = 1000


class Kernel(Component, ABC, family="kernel"):
    """A symmetric positive semi-definite function k(a, b) of two rows.

    `kernel(A, B)` is the matrix of k between all rows of `A` and all rows of `B`. Kernels are
    added and multiplied, by each other and by positive numbers: ``2 * Gaussian(1.0) + Matern()``.

    `centred` says whether the rows of both sides may be moved together without changing k,
    `precomputed` whether rows are values of the kernel already.
    """

    __array_ufunc__: ClassVar[None] = None  # so that NumPy's numbers leave `*` to `__rmul__`
    centred: ClassVar[bool] = False
    precomputed: ClassVar[bool] = False

    @classmethod
    def resolve(cls, given: Any) -> Self:
        """Return a fresh kernel: a named one, a copy of a given one, or one of a function k(A, B).

        A class is no function: what is meant is an instance of it.
        """
        from bochner.kernels.given.function_kernel import FunctionKernel  # it builds on this module

        function = callable(given) and not isinstance(given, (Kernel, type))
        if function and issubclass(FunctionKernel, cls):
            return FunctionKernel(given)  # type: ignore[return-value]
        return super().resolve(given)

    def __call__(self, A: Rows, B: Rows | None = None) -> Array:
        """Return the matrix k(A, B), of shape (len(A), len(B)); k(A, A) without `B`."""
        self.check()
        A, B = checked_pair(A, B)
        self.require(A)
        if B is not A:
            self.require(B)
        return self.matrix(A, B)

    @abstractmethod
    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) of checked rows of one dtype; `B` may be `A` itself."""

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B), in the dtype of the rows, of few rows (centred ones, if that may be)."""
        return self.matrix(A, B)

    def against(self, B: Rows) -> Against:
        """Return k(., B) for many calls with the same rows `B`, of which much can be prepared."""
        return Tiles(self, B)

    @abstractmethod
    def diagonal(self, A: Rows) -> Array:
        """Return k(a, a) of each row."""

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError if a parameter cannot be used."""

    @abstractmethod
    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy in which every default that depends on the data is a number."""

    def require(self, X: Rows) -> None:
        """Raise a ValueError if these checked rows are none that the kernel is defined for."""
        for part in self._parts().values():
            part.require(X)

    def measured(self, n_columns: int) -> frozenset[int]:
        """Return those of so many columns whose values are taken for numbers, by default all."""
        if parts := self._parts():
            return frozenset[int]().union(*(part.measured(n_columns) for part in parts.values()))
        return frozenset(range(n_columns))

    def placed(self, names: Collection[Any] | None) -> Self:
        """Return a copy in which columns that were given by their names are numbers."""
        parts = {name: part.placed(names) for name, part in self._parts().items()}
        return replace(self, **parts) if parts else self  # type: ignore[type-var]

    def on(self, columns: Any) -> OnColumns:
        """Return this kernel of some columns: numbers or names, one or several.

        >>> from bochner.kernels import Delta, Gaussian
        >>> kernel = Delta().on("tree") * Gaussian().on(["height", "age"])
        """
        from bochner.kernels.composite.on_columns import OnColumns, ShiftInvariantOnColumns

        if isinstance(self, ShiftInvariant):
            return ShiftInvariantOnColumns(self, columns)
        return OnColumns(self, columns)

    def _parts(self) -> dict[str, Kernel]:
        """Return the kernels that this one is made of."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if isinstance(value, Kernel)}

    def __add__(self, other: Any) -> Kernel:
        from bochner.kernels.composite.algebra import (
            GeneralSum,
            Sum,  # the algebra builds on this module
        )

        if not isinstance(other, Kernel):
            return NotImplemented
        if isinstance(self, ShiftInvariant) and isinstance(other, ShiftInvariant):
            return Sum(self, other)
        return GeneralSum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        from bochner.kernels.composite.algebra import GeneralProduct, GeneralScaled, Product, Scaled

        if isinstance(other, Kernel):
            if isinstance(self, ShiftInvariant) and isinstance(other, ShiftInvariant):
                return Product(self, other)
            return GeneralProduct(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        factor = float(other)
        require_positive("The factor of a kernel", factor, FINITE)
        if isinstance(self, ShiftInvariant):
            return Scaled(self, factor)
        return GeneralScaled(self, factor)

    __rmul__ = __mul__

    def stretched(self, scales: ArrayLike, groups: ArrayLike | None = None) -> Kernel:
        """Return the kernel of rows divided by `scales`, one for each column.

        With `groups`, the number 0, 1, ... of each column's group, there is one for each group.
        """
        from bochner.kernels.composite.column_scales import (
            GeneralStretched,
            Stretched,
            scales_of_groups,
        )

        scales = scales if groups is None else scales_of_groups(scales, groups)
        if isinstance(self, ShiftInvariant):
            return Stretched(self, scales)
        return GeneralStretched(self, scales)


class ShiftInvariant(Kernel):
    """A kernel of the difference of two rows, k(a, b) = k(a - b).

    By Bochner's theorem it is the characteristic function of its spectral measure,
    k(a - b) = variance * E cos(omega'(a - b)) (Rahimi and Recht 2007, Random features for
    large-scale kernel machines, Eq. 2).
    """

    centred: ClassVar[bool] = True

    @property
    @abstractmethod
    def variance(self) -> float:
        """The value at 0: k(a, a) of every row."""

    @abstractmethod
    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw angular frequencies omega from the spectral measure, shape (n_columns, size)."""

    @abstractmethod
    def tile(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B), in the dtype of the rows, of few rows that are centred or sparse."""

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile."""
        centre = mean(A)
        K = by_tiles(lambda a, b: self.tile(centred(a, centre), centred(b, centre)), A, B)
        if A is B:
            np.fill_diagonal(K, self.variance)
        return K

    def diagonal(self, A: Rows) -> Array:
        """Return the variance for each row."""
        A = checked_rows(A)
        return np.full(A.shape[0], self.variance, A.dtype)


def by_tiles(tile: Callable[[Rows, Rows], Array], A: Rows, B: Rows) -> Array:
    """Return the matrix of the tiles of `A` and `B`; of k(A, A) only one half is computed."""
    return tiled(lambda rows, columns: tile(A[rows], B[columns]), A, B, TILE)


def shift_invariant(kernel: Any) -> ShiftInvariant:
    """Return the kernel, or refuse one that has no spectral measure."""
    if isinstance(kernel, ShiftInvariant):
        return kernel
    raise ValueError(
        "Sum, Product, Scaled, Stretched and Mapped are made of shift-invariant kernels, as "
        f"Gaussian, Laplacian and Matern are; got {kernel!r}. Write left + right, left * right, "
        "2 * kernel or kernel.stretched(scales), which take any kernel."
    )


def part(kernel: Any) -> Kernel:
    """Return the kernel, or refuse one that cannot be part of another."""
    if isinstance(kernel, Kernel) and not kernel.precomputed:
        return kernel
    raise ValueError(
        "Kernels are made of kernels that can be evaluated at any rows; got "
        f"{kernel!r}. Combine the matrices themselves and give them with kernel='precomputed'."
    )


class Separable(Kernel):
    """A kernel k(a, b) = variance * prod_j k_j(|a_j - b_j|) with convex k_j, k_j(0) = 1.

    A column cut into intervals of width `pitch` at a random place leaves a_j and b_j together with
    probability max(0, 1 - |a_j - b_j| / pitch). If the pitch has the density pitch * k_j''(pitch),
    that probability is k_j on average (Rahimi and Recht 2007, Random features for large-scale
    kernel machines, section 4).
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The value at 0: k(a, a) of every row."""

    @property
    def has_pitches(self) -> bool:
        """Whether there is a law of pitches: one made of other kernels has it if they have."""
        return True

    @abstractmethod
    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the pitches of `size` grids, shape (n_columns, size)."""


def is_separable(kernel: Any) -> TypeGuard[Separable]:
    """Whether a kernel has a law of pitches."""
    return isinstance(kernel, Separable) and kernel.has_pitches


def separable(kernel: Any) -> Separable:
    """Return the kernel, or refuse one that has no law of pitches."""
    if is_separable(kernel):
        return kernel
    raise ValueError(
        "Random binning needs a kernel that is a product over the columns with a law of pitches: "
        "'laplacian', or sums, multiples and column scales (Stretched) of such kernels; got "
        f"{kernel!r}."
    )


class Measured(Kernel):
    """A kernel of a length of two rows divided by a bandwidth.

    The bandwidth is a number, or "median": `multiplier` times the median of the positive lengths
    among at most 1,000 rows of the sample, and `multiplier` itself where there is none. A bandwidth
    given as a number is taken as it is: the multiplier is for the median only. `rules` are the
    words that may stand for a number.
    """

    bandwidth: float | str
    multiplier: float
    rules: ClassVar[tuple[str, ...]] = ("median",)

    @abstractmethod
    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return what the bandwidth divides, of few rows."""

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        name, rules = type(self).__name__, "".join(f' or "{rule}"' for rule in self.rules)
        if not (isinstance(self.bandwidth, str) and self.bandwidth in self.rules):
            require_positive(f"The bandwidth of {name}", self.bandwidth, f"{FINITE}{rules}")
        require_positive(f"The multiplier of {name}", self.multiplier, FINITE)

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        self.check()
        if not isinstance(self.bandwidth, str):
            return replace(self)  # type: ignore[type-var]
        return replace(self, bandwidth=self.multiplier * self._median(X, rng))  # type: ignore[type-var]

    def _median(self, X: Rows, rng: Random) -> float:
        X = checked_rows(X)
        self.require(X)
        some = _some(X, rng).astype(np.float64)
        lengths = self.lengths(some, some)[np.triu_indices(some.shape[0], 1)]
        lengths = lengths[lengths > 0]
        return float(np.median(lengths)) if len(lengths) else 1.0

    def _number(self) -> float:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{self!r} needs a bandwidth that is a number before it can be evaluated; got "
                f"{self.bandwidth!r}. Give a number, or take kernel.resolved(X, rng), which "
                "measures the median on the rows X."
            )
        return float(self.bandwidth)


def _some(X: Rows, rng: Random) -> Rows:
    """Return at most `MEDIAN_ROWS` of the rows, drawn without replacement."""
    if X.shape[0] <= MEDIAN_ROWS:
        return X
    return X[np.sort(rng.permutation(X.shape[0])[:MEDIAN_ROWS])]
