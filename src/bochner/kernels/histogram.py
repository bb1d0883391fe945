"""Histogram: kernels of rows whose entries are from 0 on."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp

from bochner.compute.pool import each_tile
from bochner.kernels.against import Against
from bochner.kernels.kernel import TILE, Kernel
from bochner.kernels.measured import Measured
from bochner.kernels.rows import Array, Rows
from bochner.kernels.tiled import tiled

LOOK = 4096  # rows, or stored entries, that a thread looks at together


class Histogram(Kernel):
    """A kernel of histograms, counts and other rows without negative entries."""

    @abstractmethod
    def against(self, B: Rows) -> Against:
        """Return k(., B) for many calls with the same rows `B`, of which much can be prepared."""

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B), in the dtype of the rows, of few rows."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.against(B).fill(A, 0, B.shape[0], out)
        return out

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile; of k(A, A) only one half is computed."""
        against = self.against(B)

        def values(rows: slice, columns: slice) -> Array:
            tile = np.empty((rows.stop - rows.start, columns.stop - columns.start), A.dtype)
            against.fill(A[rows], columns.start, columns.stop, tile)
            return tile

        return tiled(values, A, B, TILE)

    def require(self, X: Rows) -> None:
        """Refuse negative entries, and say in which row the first one is."""
        if not _any_negative(X.data if sp.issparse(X) else X):
            return
        below = sp.coo_array(X) if sp.issparse(X) else None
        rows, columns = np.nonzero(X < 0) if below is None else below.coords
        numbers = X[rows, columns] if below is None else below.data
        first = np.flatnonzero(numbers < 0)[0]
        raise ValueError(
            f"Negative values in data: {type(self).__name__} is a kernel of histograms, whose "
            f"entries are from 0 on; got {numbers[first]:g} in row {rows[first]}, column "
            f"{columns[first]} (counted from 0). Do not centre the columns (MinMaxScaler leaves "
            "them from 0 on), or choose another kernel, such as 'gaussian'."
        )


class MeasuredHistogram(Measured, Histogram):
    """A kernel of histograms and of a length measured in bandwidths."""


def _any_negative(values: Array) -> bool:
    """Whether there is a number below 0, looked for by all threads."""
    found = []

    def look(top: int, bottom: int) -> None:
        if values[top:bottom].min(initial=0) < 0:
            found.append(top)

    each_tile(look, len(values), LOOK)
    return bool(found)
