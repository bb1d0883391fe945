"""Drawn: rows of a sample for trials, some of them held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bochner.tuning.sample import Sample


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Weights of the rows that judge, and the blocks of those that err together."""

    weight: NDArray[np.float64]
    block: NDArray[np.int64] | None = None

    def mean(self, errors: NDArray[np.float64]) -> Any:
        """Return the weighted mean over the rows, the last axis."""
        return np.average(errors, axis=-1, weights=self.weight)

    def gain(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
        """Return by how much errors fell on average, and the deviation of that mean.

        Rows of a block err together, so that blocks are what is drawn at random.
        """
        fall = before - after
        mean = float(self.mean(fall))
        sums = self.weight * (fall - mean)
        if self.block is not None:
            numbers = np.unique(self.block, return_inverse=True)[1]
            sums = np.bincount(numbers, sums).astype(np.float64)
        count = len(sums)
        if count < 2:
            return mean, np.inf  # a single one tells nothing of others
        return mean, float(np.sqrt(np.square(sums).sum() * count / (count - 1)) / self.weight.sum())


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows by columns, (columns, rows); those after the first `known` are held out."""

    columns: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    known: int
    categorical: tuple[int, ...] = ()
    block: NDArray[np.int64] | None = None
    scores: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, known: Sample, held_out: Sample) -> Drawn:
        """Return the rows of both, the second held out."""
        columns = np.ascontiguousarray(np.concatenate([known.X, held_out.X]).T)
        y = np.concatenate([known.y, held_out.y])
        weight = np.concatenate([known.weight, held_out.weight])
        parts = [part.scores for part in (known, held_out) if part.scores is not None]
        scores = np.concatenate(parts) if parts else None
        return cls(columns, y, weight, len(known), known.categorical, held_out.block, scores)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.columns.shape[1])

    @property
    def held_out(self) -> HeldOut:
        """The rows that judge."""
        return HeldOut(self.weight[self.known :], self.block)
