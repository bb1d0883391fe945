"""ArraySource: rows of an array in memory, of a memory-mapped file, or of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.border import settle
from bochner.data.source import RandomAccess


class ArraySource(RandomAccess):
    """The rows of one array, in their order; the array is never copied as a whole.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns) or SciPy sparse matrix
        Numbers of any dtype, kept as they are; also `numpy.memmap`. Sparse formats other than CSR
        are converted once.
    y : array of n_rows targets (or rows of targets), optional
    weight : array of n_rows weights, optional

    Examples
    --------
    >>> source = ArraySource(np.arange(10.0).reshape(5, 2))
    >>> [batch.index.tolist() for batch in source.batches(3)]
    [[0, 1], [2, 3, 4]]
    """

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self.rows = settle(X, y, weight)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.rows.X.shape[1])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these places; a slice of a dense array is a view."""
        return self.rows[places]
