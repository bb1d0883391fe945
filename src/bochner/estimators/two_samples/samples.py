"""Validation of two samples, arrays or streams, and batches of rows of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_array

from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, Batch, DataSource, Stream, as_source, mapped
from bochner.data.source import Reader
from bochner.data.transforms.transform import checked_source
from bochner.data.weights import positive_rows
from bochner.estimators.inputs.ranges import (
    in_single_precision,
    refuse_vanishing,
    whole_numbers_in_range,
)
from bochner.estimators.inputs.tables import require_numbers
from bochner.estimators.inputs.validation import checked, is_stream, refuse_blocks

ROWS_PER_BATCH = 4_096  # of either sample
FEWEST_ROWS = 4  # of either sample: some are held out


def sample_sources(X: Any, Y: Any, w: Any = None, v: Any = None) -> tuple[DataSource, DataSource]:
    """Return two samples, arrays or streams, as validated sources."""
    x, y = _source(X, w, "X"), _source(Y, v, "Y")
    require_same_columns(x.n_columns, y.n_columns)
    require_same_form(x.sample(1).X, y.sample(1).X)
    return x, y


def weighted_sources(X: Any, Y: Any, w: Any, v: Any) -> tuple[DataSource, DataSource]:
    """Return two samples as validated sources whose batches have weights."""
    x, y = (mapped(source, _with_weight) for source in sample_sources(X, Y, w, v))
    return x, y


def _array_source(given: Any, weight: Any, name: str) -> ArraySource:
    """Return a sample given as an array, possibly without rows."""
    refuse_blocks(given)
    require_numbers(given, f"The sample {name}")
    with whole_numbers_in_range():
        rows = check_array(
            given,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
            input_name=name,
        )
    if weight is not None:
        weight = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
        if weight.any():  # rows of weight 0 are as if they were not there
            rows, weight = rows[weight > 0], weight[weight > 0]
    refuse_vanishing(rows, name)
    return ArraySource(in_single_precision(rows), None, weight)


def require_same_columns(x: int, y: int) -> None:
    """Refuse samples with different numbers of columns."""
    if x != y:
        raise ValueError(f"Both samples need the same columns; got {x} of X and {y} of Y.")


def require_same_form(A: Any, B: Any) -> None:
    """Refuse a sparse and a dense sample together."""
    if sp.issparse(A) != sp.issparse(B):
        raise ValueError("One sample is sparse and the other is not. Give both in one form.")


def _source(given: Any, weight: Any, name: str) -> DataSource:
    if not is_stream(given):
        sample = _array_source(given, weight, name)
        if sample.n_rows == 0:
            raise ValueError(f"The sample {name} has no rows. Give some.")
        return sample
    if weight is not None:
        raise ValueError(
            f"Where {name} is a source or an iterator of blocks, its weights are part of it: give "
            "blocks (rows, None, weights)."
        )
    return positive_rows(checked_source(as_source(given), _validated))


def _validated(batch: Batch) -> Batch:
    """Return the batch if it has no targets and its values are finite in single precision."""
    if batch.y is not None:
        raise ValueError(
            "The rows of a sample have no targets. Give blocks of rows, or (rows, None, weights)."
        )
    checked(batch)
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if np.isnan(values).any():
        raise ValueError(
            f"Rows {batch.index.min()} to {batch.index.max()} contain NaN or infinity. Drop such "
            "rows or fill them in first."
        )
    in_single_precision(batch.X)
    return batch


Weight = NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class FeaturePair:
    """The features of a batch of each sample; the batches may differ in length.

    Rows of the same number are partners. `w` and `v` are the weights, None if all are 1.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    w: Weight = None
    v: Weight = None

    @property
    def difference(self) -> NDArray[np.float32]:
        """phi(x) - phi(y) of partners."""
        shared = self.shared
        return self.x[:shared] - self.y[:shared]

    @property
    def shared(self) -> int:
        """The number of rows with a partner."""
        return min(len(self.x), len(self.y))

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.w is not None or self.v is not None

    def weighted(self) -> list[NDArray[np.float64]]:
        """Return (w phi(x), w) and (v phi(y), v) of the rows with a partner."""
        found = []
        for features, weight in ((self.x, self.w), (self.y, self.v)):
            w = np.ones(len(features)) if weight is None else weight
            both = np.hstack([w[:, None] * features, w[:, None]])
            found.append(np.ascontiguousarray(both[: self.shared]))
        return found


def feature_pairs(x: DataSource, y: DataSource, basis: Any) -> Iterator[FeaturePair]:
    """Yield the features of batches of both samples until both have ended."""
    readers = [Reader(source.batches(ROWS_PER_BATCH)) for source in (x, y)]
    while any(parts := [reader.take(ROWS_PER_BATCH) for reader in readers]):
        features = [_features(part, basis) for part in parts]
        weights = [None if part is None else part.weight for part in parts]
        yield FeaturePair(features[0], features[1], weights[0], weights[1])


def _features(batch: Batch | None, basis: Any) -> NDArray[np.float32]:
    if batch is None:
        return np.zeros((0, basis.end(None)), np.float32)
    code: Any = basis.encode(batch.X)
    return np.asarray(basis.columns(code))


class PairStream(Stream):
    """Batches of as many rows of x, labelled +1, as of y, labelled -1, with equal total weights.

    A sample that ends before the other one is read again if it can be, and else ends the pass.
    """

    def __init__(self, x: DataSource, y: DataSource) -> None:
        self.x, self.y = x, y
        self.once = x.once or y.once

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.x.n_columns

    @property
    def n_rows(self) -> None:
        """Unknown: rows of the shorter sample occur several times."""
        return None

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield `size` rows at a time, half of them from either sample."""
        rows, both = max(1, size // 2), (self.x, self.y)
        readers = [Reader(source.batches(rows, seed, pass_)) for source in both]
        later = [Reader(_later_passes(source, rows, seed, pass_)) for source in both]
        while any(parts := [reader.take(rows) for reader in readers]):
            most = max(len(part) for part in parts if part is not None)
            x, y = (_fill_up(part, more, most) for part, more in zip(parts, later, strict=True))
            if x is None or y is None:
                return
            if (pair := SamplePair(x, y)).has_weight:
                yield pair.labelled()

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a labelled sample of both."""
        rows = max(1, size // 2)
        return SamplePair(self.x.sample(rows, seed), self.y.sample(rows, seed)).labelled()


def _later_passes(source: DataSource, rows: int, seed: int, pass_: int) -> Iterator[Batch]:
    """Yield the batches of all later passes, none if the source can be read once."""
    for number in count(pass_ + 1):
        batch = None
        for batch in () if source.once else source.batches(rows, seed, number):
            yield batch
        if batch is None:
            return


def _fill_up(part: Batch | None, more: Reader, most: int) -> Batch | None:
    """Return a batch filled up to `most` rows, as far as there are more."""
    missing = most - (0 if part is None else len(part))
    parts = [part, more.take(missing) if missing else None]
    given = [rows for rows in parts if rows is not None]
    return Batch.join(given) if given else None


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Rows x of p and rows y of q, each with weights."""

    x: Batch
    y: Batch

    @classmethod
    def from_arrays(cls, X: Any, Y: Any, w: Any, v: Any) -> SamplePair:
        """Return two validated samples given as arrays."""
        x, y = _array_source(X, w, "X"), _array_source(Y, v, "Y")
        return cls(_with_weight(x.rows), _with_weight(y.rows)).validated()

    def validated(self) -> SamplePair:
        """Return the pair if both samples have the same columns, enough rows and some weight."""
        require_same_columns(self.x.X.shape[1], self.y.X.shape[1])
        for name, rows in (("X", self.x), ("Y", self.y)):
            if len(rows) < FEWEST_ROWS:
                raise ValueError(
                    f"The sample {name} needs at least {FEWEST_ROWS} rows, of which some are held "
                    f"out; got {len(rows)}."
                )
            if not rows.weights.any():
                raise ValueError(
                    f"The weights of {name} are zero for every row. Give at least one row a "
                    "positive one."
                )
        require_same_form(self.x.X, self.y.X)
        return self

    def __len__(self) -> int:
        return len(self.x) + len(self.y)

    @property
    def is_uniform(self) -> bool:
        """Whether the rows of either sample have the same weight."""
        return all(np.ptp(rows.weights) == 0 for rows in (self.x, self.y))

    @property
    def has_weight(self) -> bool:
        """Whether both samples have rows with a positive weight."""
        return bool(self.x.weights.any() and self.y.weights.any())

    def split(self, share: float, rng: Random) -> tuple[SamplePair, SamplePair]:
        """Return training rows and held-out rows, a random share of either sample."""
        orders = [rng.permutation(len(rows)) for rows in (self.x, self.y)]
        cuts = [min(max(1, round(share * len(order))), len(order) - 2) for order in orders]
        indices = [(order[cut:], order[:cut]) for order, cut in zip(orders, cuts, strict=True)]
        training, held_out = (
            SamplePair(self.x[a], self.y[b]) for a, b in zip(*indices, strict=True)
        )
        if not (training.has_weight and held_out.has_weight):
            raise ValueError(
                "All rows that are held out, or all others, have weight 0. Leave such rows out."
            )
        return training, held_out

    def head(self, rows: int) -> SamplePair:
        """Return the first rows of either sample, or all if those have no weight."""
        first = SamplePair(self.x[:rows], self.y[:rows])
        return first if first.has_weight else self

    def labelled(self) -> Batch:
        """Return all rows, those of p labelled +1 and those of q -1, with equal total weights."""
        total = len(self) / 2
        parts = []
        for rows, label in ((self.x, 1.0), (self.y, -1.0)):
            weight = rows.weights
            targets = np.full((len(rows), 1), label)
            weight = total * weight / (weight.sum() or 1.0)
            parts.append(replace(rows, y=targets, weight=weight))
        return Batch.join(parts)

    def shuffled(self, rng: Random) -> ArraySource:
        """Return the labelled rows in random order."""
        rows = self.labelled()[rng.permutation(len(self))]
        return ArraySource(rows.X, rows.y, rows.weight)


def _with_weight(rows: Batch) -> Batch:
    """Return the rows with weights of 1 if they have none."""
    return rows if rows.weight is not None else replace(rows, weight=np.ones(len(rows)))
