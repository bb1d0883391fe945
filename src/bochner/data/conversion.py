"""as_source: whatever holds rows, as a DataSource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import scipy.sparse as sp

from bochner.data.array_source import ArraySource
from bochner.data.iterator_source import IteratorSource
from bochner.data.source import DataSource


@runtime_checkable
class _ArrayLike(Protocol):
    def __array__(self) -> Any: ...


def as_source(X: Any, y: Any = None, weight: Any = None) -> DataSource:
    """Return a source of the rows of an array, a sparse matrix, blocks, or another source.

    Parameters
    ----------
    X : DataSource, array, SciPy sparse matrix, or iterable of blocks
        A source is returned as it is. An iterable gives blocks `X`, `(X, y)` or
        `(X, y, weight)`, see `IteratorSource`.
    y, weight : arrays, optional
        Only where X is an array or a sparse matrix: sources and blocks bring their own.

    Examples
    --------
    >>> import numpy as np
    >>> as_source(np.eye(3)).n_rows
    3
    """
    if sp.issparse(X) or isinstance(X, _ArrayLike):
        return ArraySource(X, y, weight)
    if not isinstance(X, DataSource | Iterable):
        raise ValueError(
            "Data must be an array, a sparse matrix, a DataSource or an iterable of blocks; "
            f"got {type(X).__name__}."
        )
    if y is not None or weight is not None:
        raise ValueError(
            f"A {type(X).__name__} brings its own targets and weights: leave y and weight out, "
            "and give blocks (X, y) or (X, y, weight)."
        )
    return X if isinstance(X, DataSource) else IteratorSource(X)
