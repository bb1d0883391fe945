"""Pairs: two samples, walked through side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from bochner.data import ArraySource, Batch, DataSource, as_source, mapped
from bochner.data.cut import Reader
from bochner.estimators.setup import in_single_precision
from bochner.estimators.sources import is_stream, refuse_blocks

ROWS = 4_096  # of either sample at a time


@dataclass(frozen=True, eq=False)
class Pair:
    """The features of some rows of both samples; beyond the shorter part they are alone."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]

    @property
    def difference(self) -> NDArray[np.float32]:
        """phi(x) - phi(y) of the rows that have a partner."""
        shared = min(len(self.x), len(self.y))
        return self.x[:shared] - self.y[:shared]


def two_samples(X: Any, Y: Any) -> tuple[DataSource, DataSource]:
    """Return two samples as sources of finite rows, or refuse them with a sentence."""
    x, y = _sample(X, "X"), _sample(Y, "Y")
    if x.n_columns != y.n_columns:
        raise ValueError(
            f"Both samples need the same columns; got {x.n_columns} of X and {y.n_columns} of Y."
        )
    if not is_stream(X) and not is_stream(Y) and sp.issparse(X) != sp.issparse(Y):
        raise ValueError("One sample is sparse and the other is not. Give both in one form.")
    return x, y


def paired(x: DataSource, y: DataSource, basis: Any) -> Iterator[Pair]:
    """Yield features of both samples side by side; once one has ended, the other one's alone.

    Batches of both need not have the same length.
    """
    walks = [Reader(source.batches(ROWS)) for source in (x, y)]
    while any(parts := [walk.take(ROWS) for walk in walks]):
        yield Pair(*(_features(part, basis) for part in parts))


def _sample(given: Any, name: str) -> DataSource:
    if is_stream(given):
        return mapped(as_source(given), _alone)
    refuse_blocks(given)
    rows = check_array(
        given,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=0,
        input_name=name,
    )
    if rows.shape[0] == 0:
        raise ValueError(f"The sample {name} has no rows. Give at least two.")
    return mapped(ArraySource(rows), _alone)


def _alone(batch: Batch) -> Batch:
    """Return the rows alone, if their numbers are finite in single precision."""
    if batch.weight is not None:
        raise ValueError("The test of two samples knows no weights. Give blocks of rows alone.")
    return Batch(finite(batch).X, None, batch.index)


def finite(batch: Batch) -> Batch:
    """Return the batch if its numbers are finite in single precision."""
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if not np.isfinite(values).all():
        raise ValueError(
            f"Rows {batch.index.min()} to {batch.index.max()} contain NaN or infinity. Drop such "
            "rows or fill them in first."
        )
    in_single_precision(batch.X)
    return batch


def _features(batch: Batch | None, basis: Any) -> NDArray[np.float32]:
    if batch is None:
        return np.zeros((0, basis.end(None)), np.float32)
    code: Any = basis.encode(batch.X)
    return np.asarray(basis.columns(code))
