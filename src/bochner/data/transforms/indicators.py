"""Indicators: columns of categories become columns of 0 and 1, for methods that need numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.transforms.transform import Transform

MOST_INDICATORS = 32  # of a column of categories


@dataclass(eq=False)
class Indicators(Transform):
    """Replace each column of categories by an indicator column for each frequent category.

    The other columns come first, in their order. A category that is rare or unknown has 0 in all
    indicators of its column.

    Parameters
    ----------
    frequent : dict of arrays
        The codes of the most frequent categories of each column of categories, by its position.

    Examples
    --------
    >>> X = np.array([[0.0, 1.5], [2.0, 2.5], [0.0, 3.5]])
    >>> Indicators.learn(X, [0]).rows(X)
    array([[1.5, 1. , 0. ],
           [2.5, 0. , 1. ],
           [3.5, 1. , 0. ]])
    """

    frequent: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def learn(cls, X: Rows, categorical: list[int]) -> Indicators:
        """Find the most frequent categories in a sample of the rows."""
        return cls({column: _most_frequent(X[:, column]) for column in categorical})

    def rows(self, X: Rows) -> Rows:
        """Return the columns of numbers and the indicators; sparse rows have no categories."""
        if sp.issparse(X) or not self.frequent:
            return X
        numbers = np.delete(X, list(self.frequent), axis=1)
        indicators = [X[:, [j]] == codes for j, codes in self.frequent.items()]
        return np.column_stack([numbers, *indicators]).astype(X.dtype, copy=False)


def _most_frequent(column: NDArray[np.float64]) -> NDArray[np.float64]:
    codes, counts = np.unique(column, return_counts=True)
    return np.sort(codes[np.argsort(-counts, kind="stable")[:MOST_INDICATORS]])
