"""Groups: columns whose scales move together."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Groups = tuple[NDArray[np.int64], ...]


def groups_of(X: NDArray[Any], categorical: tuple[int, ...] = ()) -> Groups:
    """Return single columns, and runs of columns of 0 and 1 of which at most one is 1 at a row.

    Such runs are the categories of one column. Columns that are equal are in one group, constant
    ones in none.

    >>> X = np.array([[0.3, 1, 0, 5], [0.1, 0, 1, 5], [0.7, 0, 0, 5]])
    >>> groups_of(X)
    (array([0]), array([1, 2]))
    """
    found: list[list[int]] = []
    total: NDArray[Any] | None = None  # of the run under way
    group_of: dict[int, list[int]] = {}
    for j, first in enumerate(twins_of(X)):
        x = X[:, j]
        if (x == x[0]).all():
            continue
        if first < j:
            group_of[int(first)].append(j)
            continue
        binary = j not in categorical and bool(((x == 0) | (x == 1)).all())
        if binary and total is not None and (total + x).max() <= 1:
            found[-1].append(j)
            total = total + x
        else:
            found.append([j])
            total = x.copy() if binary else None
        group_of[j] = found[-1]
    return tuple(np.array(columns, np.int64) for columns in found)


def twins_of(X: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each column the number of the first one that is equal to it.

    >>> twins_of(np.array([[1, 2, 1], [3, 4, 3]]))
    array([0, 1, 0])
    """
    seen: dict[bytes, int] = {}
    digests = [hashlib.blake2b(np.ascontiguousarray(column).tobytes()).digest() for column in X.T]
    return np.array([seen.setdefault(digest, j) for j, digest in enumerate(digests)], np.int64)
