"""Stretched: a kernel with a scale per column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.compute.random import Random
from bochner.kernels.against import Against, Divided
from bochner.kernels.kernel import ShiftInvariant, shift_invariant
from bochner.kernels.rows import Array, Rows, checked_rows, divided
from bochner.kernels.separable import Separable, is_separable, separable


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

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared for the divided rows."""
        return Divided(self.kernel.against(self._divided(B)), self._scales(B.shape[1]))

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and divide by the scales."""
        return self.kernel.frequencies(n_columns, size, rng) / self._scales(n_columns)[:, None]

    @property
    def has_pitches(self) -> bool:
        """Whether the kernel has them."""
        return is_separable(self.kernel)

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
