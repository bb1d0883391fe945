"""Batch: rows with their targets, row numbers and weights, validated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.records import Validated, require_sound

NUMBERS = "fiub"  # the dtype kinds of numbers: float, signed, unsigned, bool
Rows = Any  # a 2-d array of numbers, or SciPy CSR rows


@dataclass(frozen=True, eq=False)
class Batch(Validated):
    """Rows `X`, targets `y` (None if absent), row numbers `index`, weights (None: all 1).

    >>> batch = Batch(np.eye(3), np.array([1.0, 2.0, 3.0]), np.arange(3))
    >>> len(batch), batch[1:].y
    (3, array([2., 3.]))
    """

    X: Rows
    y: NDArray[Any] | None
    index: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None

    def validate(self) -> None:
        """Check that X is a table of numbers, and that all parts have as many rows as it."""
        X, index, weight = self.X, self.index, self.weight
        require_sound(isinstance(X, np.ndarray | sp.csr_array | sp.csr_matrix), "X is not an array")
        require_sound(X.ndim == 2 and X.dtype.kind == "f", "X is not a 2-d array of floats")
        for part in (self.y, index, weight):
            fits = part is None or part.shape[:1] == X.shape[:1]
            require_sound(fits, "its parts differ in length")
        require_sound(weight is None or weight.ndim == 1, "its weights are not 1-d")
        require_sound(index.ndim == 1, "its row numbers are not 1-d")

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, rows: Any) -> Batch:
        return Batch(
            self.X[rows],
            None if self.y is None else self.y[rows],
            self.index[rows],
            None if self.weight is None else self.weight[rows],
        )

    @property
    def targets(self) -> NDArray[Any]:
        """The targets of a batch that has some, as training batches do."""
        assert self.y is not None
        return self.y

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row, 1 if the batch has none."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """Stack batches in order."""
        if len(batches) == 1:
            return batches[0]
        rows = [b.X for b in batches]
        return Batch(
            sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows),
            _stack([b.y for b in batches]),
            np.concatenate([b.index for b in batches]),
            _stack([b.weight for b in batches]),
        )


def _stack(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given else None


def make_batch(X: Any, y: Any, weight: Any, first_row: int = 0, where: str = "X") -> Batch:
    """Return validated rows as a batch, numbered from `first_row`; errors call them `where`."""
    X = _check_rows(X, where)
    n_rows = X.shape[0]
    return Batch(
        X,
        None if y is None else _check_length(np.asarray(y), n_rows, "y", where),
        np.arange(first_row, first_row + n_rows, dtype=np.int64),
        None if weight is None else _check_weight(weight, n_rows, where),
    )


def _check_rows(X: Any, where: str) -> Rows:
    """Return a 2-d array of numbers unchanged, sparse rows as canonical CSR."""
    X = _canonical(X.tocsr()) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"{where} must be 2-d (rows, columns); got {X.ndim} dimension(s). "
            "Reshape one column by X.reshape(-1, 1)."
        )
    if X.dtype.kind not in NUMBERS:
        raise ValueError(
            f"{where} must hold real numbers; got dtype {X.dtype}. Encode its columns first."
        )
    return X


def _canonical(X: Any) -> Any:
    """Sum duplicate entries, in a copy."""
    if X.ndim != 2 or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _check_length(array: NDArray[Any], n_rows: int, name: str, where: str) -> NDArray[Any]:
    if array.ndim == 0 or len(array) != n_rows:
        raise ValueError(
            f"{name} must have one entry for each row of {where}, {n_rows}; "
            f"got shape {array.shape}."
        )
    return array


def _check_weight(weight: Any, n_rows: int, where: str) -> NDArray[np.float64]:
    array = _check_length(np.asarray(weight, dtype=np.float64), n_rows, "weight", where)
    if array.ndim != 1:
        raise ValueError(f"weight must be 1-d, one number for each row; got shape {array.shape}.")
    return array
