"""Mapped: a kernel of rows times a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bochner.compute.blas import single_blas
from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import ShiftInvariant, shift_invariant
from bochner.kernels.prepared import Against, Transformed
from bochner.kernels.rows import Array, Rows, centred, checked_rows, mean


@dataclass
class Mapped(ShiftInvariant):
    """A kernel of rows times a matrix, k(a, b) = kernel(a M, b M) with M = directions.

    The kernel sees a column for each direction. A Euclidean one measures the metric M M', as
    |(a - b) M|^2 = (a - b) M M' (a - b)'. Recursive feature machines put there the average gradient
    outer product of what they have learned so far (Radhakrishnan, Beaglehole, Pandit and Belkin
    2024, Mechanism for feature learning in neural networks and backpropagation-free machine
    learning models). `Stretched` is the case M = diag(1 / scales). The frequencies are M times
    those of the kernel. A median bandwidth is measured on the mapped rows, which are dense, also
    those of sparse rows.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel that sees the mapped rows.
    directions : array-like of shape (n_columns, n_directions)
        The matrix M: finite numbers, not all zero.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = Mapped(Gaussian(1.0), directions=[[1.0], [1.0]])
    >>> kernel([[0.0, 0.0]], [[1.0, 0.0], [1.0, -1.0]]).round(4)
    array([[0.6065, 1.    ]])
    """

    kernel: ShiftInvariant
    directions: ArrayLike

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapped):
            return NotImplemented
        return self.kernel == other.kernel and np.array_equal(self.directions, other.directions)

    @property
    def variance(self) -> float:
        """The variance of the kernel."""
        return self.kernel.variance

    def check(self) -> None:
        """Raise a ValueError if the directions or the kernel cannot be used."""
        directions = np.asarray(self.directions)
        if directions.ndim != 2 or directions.dtype.kind not in "fiu":
            raise ValueError(
                "The directions of Mapped must be a matrix of real numbers, (columns, directions); "
                f"got an array of shape {directions.shape} and dtype {directions.dtype}. Use "
                "directions.reshape(-1, 1) for one direction, Stretched for a scale per column."
            )
        if not np.all(np.isfinite(directions)):
            raise ValueError(
                "The directions of Mapped must be finite; got "
                f"{np.sum(~np.isfinite(directions))} numbers that are NaN or infinite. Replace "
                "them, by 0 if a column is to play no part in a direction."
            )
        if not np.any(directions):
            raise ValueError(
                "The directions of Mapped must not all be zero, which makes all rows equal; got "
                f"zeros of shape {directions.shape}. Give one that is not."
            )
        shift_invariant(self.kernel).check()

    def measured(self, n_columns: int) -> frozenset[int]:
        """Return all columns: directions mix them."""
        return frozenset(range(n_columns))

    def require(self, X: Rows) -> None:
        """Refuse rows whose images the kernel refuses."""
        self.kernel.require(self._mapped(X))

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved on the mapped rows."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(self._mapped(checked_rows(X)), rng))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's tile of the mapped rows."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.against(B).fill(A, 0, B.shape[0], out)
        return out

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared for the mapped rows.

        They are centred here: sparse rows were not, and a kernel expects it of dense ones.
        """
        mapped = self._mapped(B)
        centre = mean(mapped)
        values = self.kernel.against(centred(mapped, centre))
        return Transformed(values, self._matrix(B.shape[1], B.dtype), centre)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel, for the directions, and multiply by the matrix."""
        matrix = self._matrix(n_columns, np.float64)
        frequencies = self.kernel.frequencies(matrix.shape[1], size, rng)
        with single_blas():  # the same bits for any number of threads
            return matrix @ frequencies

    def _mapped(self, X: Rows) -> Array:
        matrix = self._matrix(X.shape[1], X.dtype)
        with single_blas():
            return X @ matrix  # type: ignore[no-any-return]

    def _matrix(self, n_columns: int, dtype: DTypeLike) -> NDArray[Any]:
        matrix = np.asarray(self.directions, dtype=dtype)
        if len(matrix) != n_columns:
            raise ValueError(
                f"Mapped needs directions with one row for each of the {n_columns} columns; got "
                f"{len(matrix)} rows. If a row is a direction, give the transpose."
            )
        return matrix
