"""Bases and codes that store their columns, so that a pass costs only a product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.linear_algebra.products import add_row_products
from bochner.compute.pool import each_tile
from bochner.data.batch import Batch
from bochner.features.basis import Basis, WrappedBasis
from bochner.features.centring import MOST_FUNCTIONS
from bochner.features.dense_basis import BLOCK, TILE_ROWS, DenseBasis, NumberedRows, cuts, padded
from bochner.records import require_sound


@dataclass(frozen=True, eq=False)
class KernelRows(NumberedRows):
    """The code of rows whose columns are stored: their numbers in a matrix."""

    matrix: NDArray[Any]
    numbers: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of functions."""
        return len(self.numbers), self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the matrix."""
        return self.matrix.dtype

    def __getitem__(self, rows: Any) -> KernelRows:
        return KernelRows(self.matrix, self.numbers[rows])

    def padded(self, height: int) -> KernelRows:
        """Return these rows, padded to `height` by repeating the first.

        Other rows of the matrix may not be computed yet and hold NaN.
        """
        numbers = np.full(height, self.numbers[0] if len(self.numbers) else 0, np.int64)
        numbers[: len(self.numbers)] = self.numbers
        return KernelRows(self.matrix, numbers)

    def fill(self, start: int, out: NDArray[Any]) -> None:
        """Copy the columns start, start + 1, ... into `out`."""
        _gather(self.matrix, self.numbers, start, out)


@dataclass(init=False, eq=False, repr=False)
class TabulatedBasis(WrappedBasis, DenseBasis):
    """The functions of another basis; the code of rows is the matrix Phi_ij = phi_j(x_i) itself.

    The tiles are those of the other basis, so the results are the same in every bit.
    """

    size: int
    dtype: np.dtype[Any]
    inner: DenseBasis
    few_outputs: int = field()

    def __init__(self, inner: DenseBasis) -> None:
        self.inner, self.size, self.dtype = inner, inner.end(None), inner.dtype
        self.few_outputs = inner.few_outputs

    def validate(self) -> None:
        """Check that size and dtype are those of the other basis."""
        require_sound(self.size == self.inner.size, "its size is not that of its inner basis")
        require_sound(self.dtype == self.inner.dtype, "its dtypes differ")

    @property
    def for_prediction(self) -> Basis:
        """The basis that computes its columns."""
        return self.inner.for_prediction

    def encode(self, X: Any) -> NDArray[Any]:
        """Return the columns at the rows, computed by the tiles of the other basis."""
        code = self.inner.encode(X)
        out = np.empty((code.shape[0], self.size), code.dtype)
        for first, last in self.inner.spans(0, self.size):
            each_tile(partial(self._keep, code, first, last, out), len(out), TILE_ROWS)
        return out

    def fill(self, code: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy the columns."""
        out[:] = code[:, start:stop]

    def add_products(
        self,
        tile: NDArray[Any],
        begin: int,
        end: int,
        weights: NDArray[Any],
        out: NDArray[np.float64],
    ) -> None:
        """Add the products of a tile's rows with the weights, (outputs, functions), of a block."""
        add_row_products(np.ascontiguousarray(tile), np.arange(len(out)), begin, weights, out)

    def _keep(
        self, code: Any, first: int, last: int, out: NDArray[Any], top: int, bottom: int
    ) -> None:
        for begin, end, block in self.inner.blocks(padded(code, top, bottom), first, last):
            out[top:bottom, begin:end] = block[: bottom - top]

    def blocks(
        self, tile: NDArray[Any], first: int, last: int
    ) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield begin, end and a view of the columns begin, ..., end - 1, block by block."""
        return ((begin, end, tile[:, begin:end]) for begin, end in cuts(first, last, BLOCK))

    def __deepcopy__(self, memo: Any) -> TabulatedBasis:
        return self  # it does not change


@dataclass(init=False, eq=False, repr=False)
class RememberedBasis(WrappedBasis, DenseBasis):
    """The functions of another basis, stored for each of `rows` training rows at its first use.

    For random access to rows; `TabulatedBasis` is for passes in the order of the rows.
    """

    inner: DenseBasis
    rows: int

    def __init__(self, inner: DenseBasis, rows: int) -> None:
        self.inner, self.rows = inner, rows
        self.size, self.dtype = inner.end(None), inner.dtype
        self.few_outputs = inner.few_outputs
        self.clear_cache()

    def clear_cache(self) -> None:
        """Free the stored columns."""
        self._matrix: NDArray[Any] | None = None
        self._known = np.zeros(self.rows, np.bool_)

    def validate(self) -> None:
        """Check the number of rows."""
        require_sound(0 <= self.rows < MOST_FUNCTIONS, "its number of rows is impossible")

    @property
    def for_prediction(self) -> Basis:
        """The basis that computes its columns."""
        return self.inner.for_prediction

    def encode_batch(self, batch: Batch) -> KernelRows:
        """Return the rows of a batch by their numbers; rows that are new are computed first."""
        if self._matrix is None:
            self._matrix = np.empty((self.rows, self.end(None)), self.dtype)
        new = ~self._known[batch.index]
        if new.any():
            fresh = batch[new]
            self._matrix[fresh.index] = self.inner.columns(self.inner.encode_batch(fresh))
            self._known[fresh.index] = True
        return KernelRows(self._matrix, batch.index)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy stored columns."""
        code.fill(start, out)

    def columns(
        self, code: Any, start: int = 0, stop: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the functions start, ..., stop - 1 at all rows."""
        if isinstance(code, KernelRows):
            return super().columns(code, start, stop, out)
        return self.inner.columns(code, start, stop, out)

    def evaluate(self, code: Any, weights: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return sum_j phi_j(x_i) w_j."""
        if isinstance(code, KernelRows):
            return super().evaluate(code, weights, start)
        return self.inner.evaluate(code, weights, start)

    def project(
        self, code: Any, G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return sum_i phi_j(x_i) G_i."""
        if isinstance(code, KernelRows):
            return super().project(code, G, start, stop)
        return self.inner.project(code, G, start, stop)

    def __getstate__(self) -> dict[str, Any]:
        return {"inner": self.inner, "rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def with_kept_columns(basis: Basis, rows: int | None, memory: int) -> Basis:
    """Return a basis that stores its columns, if those of `rows` rows fit into `memory` bytes.

    The results are the same.
    """
    if rows is None or basis.size is None or isinstance(basis, TabulatedBasis):
        return basis
    if not isinstance(basis, DenseBasis):
        return basis
    fits = rows * basis.size * basis.dtype.itemsize <= memory
    return TabulatedBasis(basis) if fits else basis


@compiled(
    "void(float32[:, ::1], int64[::1], int64, float32[:, ::1])",
    "void(float64[:, ::1], int64[::1], int64, float64[:, ::1])",
)
def _gather(matrix, numbers, start, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        row = matrix[numbers[i], start:]
        for j in range(out.shape[1]):
            out[i, j] = row[j]
