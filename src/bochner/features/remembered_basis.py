"""RememberedBasis: a basis that keeps its columns at training rows, by the rows' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.features.basis import Basis
from bochner.features.dense_basis import DenseBasis
from bochner.features.kernel_matrix import KernelRows


class RememberedBasis(DenseBasis):
    """The functions of another basis, kept at each of `rows` training rows once it has come by.

    For walks in random order; `TabulatedBasis` is for those in the order of the rows.
    """

    size: int
    _matrix: NDArray[Any] | None
    _known: NDArray[np.bool_]

    def __init__(self, inner: DenseBasis, rows: int) -> None:
        self.inner, self.rows = inner, rows
        self.size, self.dtype = inner.end(None), inner.dtype
        self.few_outputs = inner.few_outputs
        self.forget()

    @property
    def plain(self) -> Basis:
        """The basis that computes its columns."""
        return self.inner.plain

    def encode(self, X: Any) -> Any:
        """Return rows of no number as the other basis takes them."""
        return self.inner.encode(X)

    def coded(self, batch: Batch) -> KernelRows:
        """Return the rows of a batch by their numbers; columns that are new are computed."""
        if self._matrix is None:
            self._matrix = np.empty((self.rows, self.size), self.dtype)
        new = ~self._known[batch.index]
        if new.any():
            fresh = batch[new]
            self._matrix[fresh.index] = self.inner.columns(self.inner.coded(fresh))
            self._known[fresh.index] = True
        return KernelRows(self._matrix, batch.index)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy columns that are kept."""
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

    def forget(self) -> None:
        """Let the columns go."""
        self._matrix, self._known = None, np.zeros(self.rows, np.bool_)

    def __getstate__(self) -> dict[str, Any]:
        return {"inner": self.inner, "rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
