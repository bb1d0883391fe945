"""Pairs: two samples, walked through side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch, DataSource
from bochner.data.cut import Reader

ROWS = 4_096  # of either sample at a time

Weight = NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Pair:
    """The features of some rows of both samples; beyond the shorter part they are alone.

    `w` and `v` are the weights of the rows, None if all are 1.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    w: Weight = None
    v: Weight = None

    @property
    def difference(self) -> NDArray[np.float32]:
        """phi(x) - phi(y) of the rows that have a partner."""
        shared = self.shared
        return self.x[:shared] - self.y[:shared]

    @property
    def shared(self) -> int:
        """How many rows have a partner."""
        return min(len(self.x), len(self.y))

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.w is not None or self.v is not None

    def weighted(self) -> list[NDArray[np.float64]]:
        """Return w phi(x) beside w, and v phi(y) beside v, of the rows that have a partner."""
        found = []
        for features, weight in ((self.x, self.w), (self.y, self.v)):
            w = np.ones(len(features)) if weight is None else weight
            both = np.hstack([w[:, None] * features, w[:, None]])
            found.append(np.ascontiguousarray(both[: self.shared]))
        return found


def paired(x: DataSource, y: DataSource, basis: Any) -> Iterator[Pair]:
    """Yield features of both samples side by side; once one has ended, the other one's alone.

    Batches of both need not have the same length.
    """
    walks = [Reader(source.batches(ROWS)) for source in (x, y)]
    while any(parts := [walk.take(ROWS) for walk in walks]):
        features = [_features(part, basis) for part in parts]
        weights = [None if part is None else part.weight for part in parts]
        yield Pair(features[0], features[1], weights[0], weights[1])


def _features(batch: Batch | None, basis: Any) -> NDArray[np.float32]:
    if batch is None:
        return np.zeros((0, basis.end(None)), np.float32)
    code: Any = basis.encode(batch.X)
    return np.asarray(basis.columns(code))
