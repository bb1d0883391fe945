"""Batch: some rows with their targets, row numbers and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Rows = Any  # a 2-d array of numbers, or SciPy CSR rows


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows `X`, targets `y` (None if there are none), row numbers `index`, weights (None: all 1).

    >>> batch = Batch(np.eye(3), np.array([1.0, 2.0, 3.0]), np.arange(3))
    >>> len(batch), batch[1:].y
    (3, array([2., 3.]))
    """

    X: Rows
    y: NDArray[Any] | None
    index: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, rows: Any) -> Batch:
        return Batch(
            self.X[rows],
            None if self.y is None else self.y[rows],
            self.index[rows],
            None if self.weight is None else self.weight[rows],
        )

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """Stack batches, in order."""
        if len(batches) == 1:
            return batches[0]
        return Batch(
            _stack_rows([b.X for b in batches]),
            _stack([b.y for b in batches]),
            np.concatenate([b.index for b in batches]),
            _stack([b.weight for b in batches]),
        )


def _stack(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given else None


def _stack_rows(parts: Sequence[Rows]) -> Rows:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
