"""Pairs: two samples, walked through side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_array

from bochner.data import ArraySource, Batch, DataSource, as_source, mapped
from bochner.data.cut import Reader
from bochner.estimators.setup import in_single_precision
from bochner.estimators.sources import checked, is_stream, refuse_blocks

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


def two_samples(X: Any, Y: Any, w: Any = None, v: Any = None) -> tuple[DataSource, DataSource]:
    """Return two samples as sources of finite rows, or refuse them with a sentence."""
    x, y = _sample(X, w, "X"), _sample(Y, v, "Y")
    if x.n_columns != y.n_columns:
        raise ValueError(
            f"Both samples need the same columns; got {x.n_columns} of X and {y.n_columns} of Y."
        )
    require_one_form(x.sample(1).X, y.sample(1).X)
    return x, y


def paired(x: DataSource, y: DataSource, basis: Any) -> Iterator[Pair]:
    """Yield features of both samples side by side; once one has ended, the other one's alone.

    Batches of both need not have the same length.
    """
    walks = [Reader(source.batches(ROWS)) for source in (x, y)]
    while any(parts := [walk.take(ROWS) for walk in walks]):
        features = [_features(part, basis) for part in parts]
        weights = [None if part is None else part.weight for part in parts]
        yield Pair(features[0], features[1], weights[0], weights[1])


def require_one_form(A: Any, B: Any) -> None:
    """Refuse rows of which some are sparse and others are not."""
    if sp.issparse(A) != sp.issparse(B):
        raise ValueError("One sample is sparse and the other is not. Give both in one form.")


def refuse_weights(weight: Any, name: str) -> None:
    """Refuse weights beside a stream."""
    if weight is not None:
        raise ValueError(
            f"Where {name} is a source or an iterator of blocks, its weights are part of it: give "
            "blocks (rows, None, weights)."
        )


def _sample(given: Any, weight: Any, name: str) -> DataSource:
    if is_stream(given):
        refuse_weights(weight, name)
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
    if weight is not None:
        weight = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    return mapped(ArraySource(rows, None, weight), _alone)


def _alone(batch: Batch) -> Batch:
    """Return rows and weights, if their numbers are finite in single precision."""
    return replace(finite(batch if batch.weight is None else checked(batch)), y=None)


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
