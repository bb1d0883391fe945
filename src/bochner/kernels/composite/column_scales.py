"""Stretched kernels: a scale per column, or per group of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from bochner.kernels.prepared import Against, Divided
from bochner.kernels.rows import Array, Rows, checked_rows, divided


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
        require_scales(self.scales)
        shift_invariant(self.kernel).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved on the divided rows."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(self._divided(checked_rows(X)), rng))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's tile of the divided rows."""
        return self.kernel.tile(self._divided(A), self._divided(B))

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared for the divided rows."""
        scales = column_scales(self.kernel, self.scales, B.shape[1])
        return Divided(self.kernel.against(self._divided(B)), scales)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and divide by the scales."""
        frequencies = self.kernel.frequencies(n_columns, size, rng)
        return frequencies / column_scales(self.kernel, self.scales, n_columns)[:, None]

    @property
    def has_pitches(self) -> bool:
        """Whether the kernel has them."""
        return is_separable(self.kernel)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and multiply by the scales."""
        pitches = separable(self.kernel).pitches(n_columns, size, rng)
        return pitches * column_scales(self.kernel, self.scales, n_columns)[:, None]

    def _divided(self, X: Rows) -> Rows:
        return divided(X, column_scales(self.kernel, self.scales, X.shape[1]))


@dataclass
class GeneralStretched(Kernel):
    """A kernel of any kind with a scale per column, k(a, b) = kernel(a / scales, b / scales).

    It is what ``kernel.stretched(scales)`` makes where the kernel is not shift-invariant;
    `Stretched` is for those.

    Parameters
    ----------
    kernel : Kernel
        The kernel that sees the divided columns.
    scales : array-like of shape (n_columns,)
        Positive numbers.

    Examples
    --------
    >>> from bochner.kernels import FunctionKernel
    >>> kernel = FunctionKernel(lambda A, B: A @ B.T).stretched([1.0, 10.0])
    >>> kernel([[1.0, 10.0]], [[1.0, 0.0], [0.0, 20.0]])
    array([[1., 2.]])
    """

    kernel: Kernel
    scales: ArrayLike

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GeneralStretched):
            return NotImplemented
        return self.kernel == other.kernel and np.array_equal(self.scales, other.scales)

    @property
    def centred(self) -> bool:  # type: ignore[override]
        """Whether the kernel does not see a shift of the rows."""
        return self.kernel.centred

    def check(self) -> None:
        """Raise a ValueError if the scales or the kernel cannot be used."""
        require_scales(self.scales)
        part(self.kernel).check()

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved on the divided rows."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(self.seen(checked_rows(X)), rng))

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's matrix of the divided rows."""
        left = self.seen(A)
        return self.kernel.matrix(left, left if B is A else self.seen(B))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's tile of the divided rows."""
        return self.kernel.tile(self.seen(A), self.seen(B))

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared for the divided rows."""
        scales = column_scales(self.kernel, self.scales, B.shape[1])
        return Divided(self.kernel.against(self.seen(B)), scales)

    def diagonal(self, A: Rows) -> Array:
        """Return the kernel's diagonal at the divided rows."""
        return self.kernel.diagonal(self.seen(checked_rows(A)))

    def seen(self, X: Rows) -> Rows:
        """Return rows as the kernel sees them."""
        return divided(X, column_scales(self.kernel, self.scales, X.shape[1]))


def require_scales(scales: Any) -> None:
    """Refuse scales that are no list of positive numbers."""
    given = np.asarray(scales)
    if (
        given.ndim != 1
        or given.dtype.kind not in "fiu"
        or not np.all(np.isfinite(given) & (given > 0))
    ):
        raise ValueError(
            "The scales of Stretched must be a list of finite positive numbers, one for each "
            f"column; got {scales!r}."
        )


def column_scales(kernel: Kernel, scales: Any, n_columns: int) -> NDArray[np.float64]:
    """Return the scales of so many columns, or refuse another number of them.

    Columns that the kernel takes for categories have 1: they are no numbers to be divided.
    """
    given = np.array(scales, dtype=np.float64)
    if len(given) != n_columns:
        raise ValueError(
            f"Stretched needs one scale for each of the {n_columns} columns; got "
            f"{len(given)} scales."
        )
    given[list(set(range(n_columns)) - kernel.measured(n_columns))] = 1.0
    return given


def scales_of_groups(scales: Any, groups: Any) -> NDArray[np.float64]:
    """Return the scale of each column, given those of groups and the group of each column."""
    require_scales(scales)
    given, places = np.asarray(scales, dtype=np.float64), np.asarray(groups)
    whole = places.ndim == 1 and places.dtype.kind in "iu"
    if not whole or np.any((places < 0) | (places >= len(given))):
        raise ValueError(
            "groups must name the group of each column, by a whole number from 0 to "
            f"{len(given) - 1} for {len(given)} scales; got {groups!r}."
        )
    return np.asarray(given[places])
