"""Filling: replace missing numbers by a value far from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.transforms.transform import Transform

GAP = 2.0  # in units of max - min of a column


@dataclass(eq=False)
class Filling(Transform):
    """Replace a missing number (NaN) of a column by max + 2 (max - min) of that column.

    All missing numbers of a column are then equal and far from the others, so that a kernel can
    distinguish them: in random binning they have their own bin. Statistics that are learned later,
    such as standard deviations, include the filled-in numbers. Of a stream only the first rows
    determine min and max. Sparse rows are not changed.

    Parameters
    ----------
    values : array of n_columns numbers
        What replaces a missing number.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]])
    >>> Filling.learn(X).rows(X)
    array([[1., 5.],
           [7., 5.],
           [3., 5.]])
    """

    values: NDArray[np.float64]

    @classmethod
    def learn(cls, X: Rows) -> Filling:
        """Learn the values from the numbers that are not missing."""
        if sp.issparse(X):
            return cls(np.zeros(X.shape[1]))
        low, high = (_extremes(X, end) for end in (np.fmin, np.fmax))  # these ignore NaN
        return cls(high + GAP * np.where(high > low, high - low, 1.0))

    def rows(self, X: Rows) -> Rows:
        """Fill in missing numbers; rows without any are returned unchanged."""
        if sp.issparse(X):
            return X
        missing = np.isnan(X)
        return np.where(missing, self.values.astype(X.dtype), X) if missing.any() else X


def _extremes(X: NDArray[Any], end: np.ufunc) -> NDArray[np.float64]:
    return np.asarray(np.nan_to_num(end.reduce(X, axis=0).astype(np.float64)))
