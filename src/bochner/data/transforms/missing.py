"""Filling: missing numbers become numbers that no other is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.transforms.transform import Transform

GAP = 2.0  # times the width of a column


@dataclass(eq=False)
class Filling(Transform):
    """A missing number (NaN) of a column lies twice the column's width beyond its largest.

    So those that are missing are alike, and a kernel that tells the column's numbers apart tells
    the missing ones from all of them: in random binning they have a bin of their own. What is
    learned later from columns, their deviations for instance, sees the numbers that were filled in;
    and of a stream only the first rows say how far a column reaches. Sparse rows are left as they
    are.

    Parameters
    ----------
    values : array of n_columns numbers
        What stands for a missing number.

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
        """Find the values from the numbers that are not missing."""
        if sp.issparse(X):
            return cls(np.zeros(X.shape[1]))
        low, high = (_ends(X, end) for end in (np.fmin, np.fmax))  # these pass over NaN
        return cls(high + GAP * np.where(high > low, high - low, 1.0))

    def rows(self, X: Rows) -> Rows:
        """Fill in what is missing; rows without are returned as they are."""
        if sp.issparse(X):
            return X
        missing = np.isnan(X)
        return np.where(missing, self.values.astype(X.dtype), X) if missing.any() else X


def _ends(X: NDArray[Any], end: np.ufunc) -> NDArray[np.float64]:
    return np.asarray(np.nan_to_num(end.reduce(X, axis=0).astype(np.float64)))
