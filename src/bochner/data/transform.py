"""Transform: what is done to rows before they are learned from, and again before predicting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.data.batch import Batch, Rows
from bochner.data.source import DataSource

SAMPLE_ROWS = 16_384
CHUNK_NUMBERS = 2**22  # 32 MiB of float64
CHUNK_ROWS = (1_024, 8_192)  # fewest and most


class Transform(Component, ABC, family="transform"):
    """A function of rows, the same for batches of a source and for bare rows."""

    @abstractmethod
    def rows(self, X: Rows) -> Rows:
        """Transform rows; float32 stays float32, integers become float64."""

    def __call__(self, batch: Batch) -> Batch:
        """Transform the rows of a batch."""
        return replace(batch, X=self.rows(batch.X))


def learning_batches(source: DataSource) -> Iterator[Batch]:
    """Give one pass over the source, or its sample alone if it can be read only once."""
    if source.once:
        yield source.sample(SAMPLE_ROWS)
        return
    fewest, most = CHUNK_ROWS
    yield from source.batches(min(max(CHUNK_NUMBERS // max(source.n_columns, 1), fewest), most))


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for short floats, float64 for all else."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def require_finite(columns: NDArray[np.float64]) -> None:
    """Refuse columns of which a summary is not finite, by their numbers."""
    bad = np.flatnonzero(~np.isfinite(columns))
    if len(bad) > 0:
        raise ValueError(
            "Columns must hold finite numbers that are not too large to be squared; column(s) "
            f"{', '.join(map(str, bad[:10]))} do not. Fill in or drop NaN and infinity first."
        )
