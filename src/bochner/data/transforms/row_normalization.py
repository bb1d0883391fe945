"""RowNormalization: each row divided by its norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.source import DataSource
from bochner.data.transforms.transform import Mapped, Transform, floating, mapped

Norm = Literal["l2", "l1", "max"]


@dataclass(eq=False)
class RowNormalization(Transform, name="row_normalization"):
    """Rows x / ||x||; rows of zeros stay zeros, sparse rows stay sparse.

    Parameters
    ----------
    norm : "l2", "l1" or "max"
        The Euclidean norm, the sum or the largest of the absolute values.

    Examples
    --------
    >>> RowNormalization("l1").rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75], [0.  , 0.  ]])
    """

    norm: Norm = "l2"

    def rows(self, X: Rows) -> Rows:
        """Divide each row by its norm, which is summed in float64."""
        if self.norm not in NORMS:
            names = ", ".join(map(repr, NORMS))
            raise ValueError(f"norm must be one of {names}; got {self.norm!r}.")
        X = X.astype(floating(X.dtype), copy=False)
        norms = NORMS[self.norm](X)
        norms[norms == 0.0] = 1.0
        return _divided(X, norms.astype(X.dtype))


def _divided(X: Rows, norms: NDArray[Any]) -> Rows:
    if not sp.issparse(X):
        return X / norms[:, None]
    X = X.copy()
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def _l2(X: Rows) -> NDArray[np.float64]:
    if sp.issparse(X):
        return np.sqrt(_sums(X, X.data.astype(np.float64) ** 2))
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.sqrt(squares)


def _l1(X: Rows) -> NDArray[np.float64]:
    if sp.issparse(X):
        return _sums(X, np.abs(X.data.astype(np.float64)))
    return np.asarray(np.abs(X).sum(axis=1, dtype=np.float64))


def _max(X: Rows) -> NDArray[np.float64]:
    largest = abs(X).max(axis=1).toarray() if sp.issparse(X) else np.abs(X).max(axis=1)
    return np.asarray(largest, dtype=np.float64).ravel()


def _sums(X: Rows, data: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(rows, data, X.shape[0]), dtype=np.float64)


NORMS: dict[str, Callable[[Rows], NDArray[np.float64]]] = {"l2": _l2, "l1": _l1, "max": _max}


def row_normalized(source: DataSource, norm: Norm = "l2") -> Mapped:
    """Return the source with each row divided by its norm; see `RowNormalization`.

    >>> from bochner.data import ArraySource
    >>> next(row_normalized(ArraySource(np.array([[3.0, 4.0]]))).batches(1)).X
    array([[0.6, 0.8]])
    """
    return mapped(source, RowNormalization(norm))
