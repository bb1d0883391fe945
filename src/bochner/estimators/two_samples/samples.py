"""Two samples: arrays or streams of rows, checked, and read side by side."""

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
from bochner.estimators.fitting.setup import in_single_precision
from bochner.estimators.inputs.validation import checked, is_stream, refuse_blocks

ROWS = 4_096  # of either sample at a time
FEWEST_ROWS = 4  # of which some are held out


def two_samples(X: Any, Y: Any, w: Any = None, v: Any = None) -> tuple[DataSource, DataSource]:
    """Return two samples as sources of finite rows, or refuse them with a sentence."""
    x, y = _sample(X, w, "X"), _sample(Y, v, "Y")
    require_alike(x.n_columns, y.n_columns)
    require_one_form(x.sample(1).X, y.sample(1).X)
    return x, y


def array_sample(given: Any, weight: Any, name: str) -> ArraySource:
    """Return rows at hand, which may be none."""
    refuse_blocks(given)
    rows = check_array(
        given,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=0,
        input_name=name,
    )
    if weight is not None:
        weight = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    return ArraySource(in_single_precision(rows), None, weight)


def require_alike(x: int, y: int) -> None:
    """Refuse samples with different numbers of columns."""
    if x != y:
        raise ValueError(f"Both samples need the same columns; got {x} of X and {y} of Y.")


def require_one_form(A: Any, B: Any) -> None:
    """Refuse rows of which some are sparse and others are not."""
    if sp.issparse(A) != sp.issparse(B):
        raise ValueError("One sample is sparse and the other is not. Give both in one form.")


def _sample(given: Any, weight: Any, name: str) -> DataSource:
    if not is_stream(given):
        sample = array_sample(given, weight, name)
        if sample.n_rows == 0:
            raise ValueError(f"The sample {name} has no rows. Give some.")
        return sample
    if weight is not None:
        raise ValueError(
            f"Where {name} is a source or an iterator of blocks, its weights are part of it: give "
            "blocks (rows, None, weights)."
        )
    return mapped(as_source(given), _rows_alone)


def _rows_alone(batch: Batch) -> Batch:
    """Return the batch if it has no targets and its numbers are finite in single precision."""
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


class PairStream(Stream):
    """As many rows of x, as +1, as of y, as -1, in each batch, and of equal mass.

    A sample that can be read again begins anew if it ends before the other one; one that can be
    read once ends the walk.
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
        """Not known: rows of a short sample come several times."""
        return None

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Give `size` rows at a time, half of them from either sample."""
        rows, both = max(1, size // 2), (self.x, self.y)
        walks = [Reader(source.batches(rows, seed, pass_)) for source in both]
        later = [Reader(_again(source, rows, seed, pass_)) for source in both]
        while any(parts := [walk.take(rows) for walk in walks]):
            most = max(len(part) for part in parts if part is not None)
            x, y = (_filled(part, more, most) for part, more in zip(parts, later, strict=True))
            if x is None or y is None:
                return
            if (pair := SamplePair(x, y)).weighs:
                yield pair.labelled()

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a labelled sample of both."""
        rows = max(1, size // 2)
        return SamplePair(self.x.sample(rows, seed), self.y.sample(rows, seed)).labelled()


def _again(source: DataSource, rows: int, seed: int, pass_: int) -> Iterator[Batch]:
    """Walk through what can be read again without an end."""
    for number in count(pass_ + 1):
        batch = None
        for batch in () if source.once else source.batches(rows, seed, number):
            yield batch
        if batch is None:
            return


def _filled(part: Batch | None, more: Reader, most: int) -> Batch | None:
    """Return `most` rows if so many can be had."""
    missing = most - (0 if part is None else len(part))
    parts = [part, more.take(missing) if missing else None]
    given = [rows for rows in parts if rows is not None]
    return Batch.join(given) if given else None


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Rows x of p and rows y of q, both with weights."""

    x: Batch
    y: Batch

    @classmethod
    def checked(cls, X: Any, Y: Any, w: Any, v: Any) -> SamplePair:
        """Return two samples of finite rows, or refuse them with a sentence."""
        x, y = array_sample(X, w, "X"), array_sample(Y, v, "Y")
        return cls(_weighed(x.rows), _weighed(y.rows)).required()

    def required(self) -> SamplePair:
        """Return the pair if both samples are alike, have some rows and some weight."""
        require_alike(self.x.X.shape[1], self.y.X.shape[1])
        for name, rows in (("X", self.x), ("Y", self.y)):
            if len(rows) < FEWEST_ROWS:
                raise ValueError(
                    f"The sample {name} needs at least {FEWEST_ROWS} rows, of which some are held "
                    f"out; got {len(rows)}."
                )
            if not _weight(rows).any():
                raise ValueError(
                    f"The weights of {name} are zero for every row. Give at least one row a "
                    "positive one."
                )
        require_one_form(self.x.X, self.y.X)
        return self

    def __len__(self) -> int:
        return len(self.x) + len(self.y)

    @property
    def weighs(self) -> bool:
        """Whether both samples have rows with a positive weight."""
        return bool(_weight(self.x).any() and _weight(self.y).any())

    def split(self, share: float, rng: Random) -> tuple[SamplePair, SamplePair]:
        """Return the pair without some rows, and those; both samples are in random order."""
        orders = [rng.permutation(len(rows)) for rows in (self.x, self.y)]
        cuts = [min(max(1, round(share * len(order))), len(order) - 2) for order in orders]
        kept = [order[cut:] for order, cut in zip(orders, cuts, strict=True)]
        held = [order[:cut] for order, cut in zip(orders, cuts, strict=True)]
        learned, judged = (SamplePair(self.x[a], self.y[b]) for a, b in (kept, held))
        if not (learned.weighs and judged.weighs):
            raise ValueError(
                "All rows that are held out, or all others, have weight 0. Leave such rows out."
            )
        return learned, judged

    def part(self, rows: int) -> SamplePair:
        """Return the first rows of either sample."""
        some = SamplePair(self.x[:rows], self.y[:rows])
        return some if some.weighs else self

    def joined(self, other: SamplePair) -> SamplePair:
        """Return the rows of both pairs."""
        return SamplePair(Batch.join([self.x, other.x]), Batch.join([self.y, other.y]))

    def labelled(self) -> Batch:
        """Return all rows, those of p as +1 and of q as -1, of equal mass."""
        mass = len(self) / 2
        parts = []
        for rows, label in ((self.x, 1.0), (self.y, -1.0)):
            weight = _weight(rows)
            targets = np.full((len(rows), 1), label)
            weight = mass * weight / (weight.sum() or 1.0)
            parts.append(replace(rows, y=targets, weight=weight))
        return Batch.join(parts)

    def stacked(self, rng: Random) -> ArraySource:
        """Return the labelled rows in random order."""
        rows = self.labelled()[rng.permutation(len(self))]
        return ArraySource(rows.X, rows.y, rows.weight)


def two_sources(X: Any, Y: Any, w: Any, v: Any) -> tuple[DataSource, DataSource]:
    """Return two samples, streams or not, as sources of finite rows with weights."""
    x, y = (_with_weights(source) for source in two_samples(X, Y, w, v))
    return x, y


def _with_weights(source: DataSource) -> DataSource:
    if isinstance(source, ArraySource):
        rows = _weighed(source.rows)
        return ArraySource(rows.X, None, rows.weight)
    return mapped(source, _weighed)


def _weighed(rows: Batch) -> Batch:
    return rows if rows.weight is not None else replace(rows, weight=np.ones(len(rows)))


def _weight(rows: Batch) -> NDArray[np.float64]:
    assert rows.weight is not None  # the border has seen to that
    return rows.weight
