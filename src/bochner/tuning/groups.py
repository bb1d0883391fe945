"""Groups: columns whose scales move together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Groups = tuple[NDArray[np.int64], ...]


def groups_of(X: NDArray[Any], categorical: tuple[int, ...] = ()) -> Groups:
    """Return single columns, and runs of columns of 0 and 1 of which at most one is 1 at a row.

    Such runs are the categories of one column; constant columns are in none.

    >>> X = np.array([[0.3, 1, 0, 5], [0.1, 0, 1, 5], [0.7, 0, 0, 5]])
    >>> groups_of(X)
    (array([0]), array([1, 2]))
    """
    found: list[list[int]] = []
    total: NDArray[Any] | None = None  # of the run under way
    for j in range(X.shape[1]):
        x = X[:, j]
        if (x == x[0]).all():
            continue
        binary = j not in categorical and bool(((x == 0) | (x == 1)).all())
        if binary and total is not None and (total + x).max() <= 1:
            found[-1].append(j)
            total = total + x
        else:
            found.append([j])
            total = x.copy() if binary else None
    return tuple(np.array(columns, np.int64) for columns in found)
