"""Sample: rows for the search of scales, and how some of them are held out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Logarithm, Ranks, Warping

HELD_OUT = 0.25
BLOCKS = 200  # of consecutive rows, of which some are held out
FEWEST_BLOCKS, LEAST_LENGTH = 5, 20
FEW_OUTPUTS = 4  # more outputs are replaced by this many random combinations
MOST_CLASSES = 64  # for which label errors are computed
CODES = 0xC0DE5  # random stream of these draws
NEAR = 0.8  # of the distance of random rows: nearer predecessors show a dependence
LAGS = 12
COMPARED = 4_000_000, 20_000  # at most so many numbers and rows
MIDDLE = 5, 95  # percentiles where the tails of a column begin
HEAVY = 3.0  # range over the width of the middle; that of a normal sample is about 2.4
FEW_VALUES = 20  # columns with fewer distinct values have no heavy tails

Groups = tuple[NDArray[np.int64], ...]


def groups_of(X: NDArray[Any], categorical: tuple[int, ...] = ()) -> Groups:
    """Return the groups of columns that share a scale: single columns and one-hot runs.

    A one-hot run is a sequence of columns of 0 and 1 with at most one 1 per row. Equal columns
    are in one group, constant columns in none.

    >>> X = np.array([[0.3, 1, 0, 5], [0.1, 0, 1, 5], [0.7, 0, 0, 5]])
    >>> groups_of(X)
    (array([0]), array([1, 2]))
    """
    found: list[list[int]] = []
    total: NDArray[Any] | None = None  # of the current run
    group_of: dict[int, list[int]] = {}
    for j, first in enumerate(twins_of(X)):
        x = X[:, j]
        if (x == x[0]).all():
            continue
        if first < j:
            group_of[int(first)].append(j)
            continue
        binary = j not in categorical and bool(((x == 0) | (x == 1)).all())
        if binary and total is not None and (total + x).max() <= 1:
            found[-1].append(j)
            total = total + x
        else:
            found.append([j])
            total = x.copy() if binary else None
        group_of[j] = found[-1]
    return tuple(np.array(columns, np.int64) for columns in found)


def twins_of(X: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each column the index of the first column equal to it.

    >>> twins_of(np.array([[1, 2, 1], [3, 4, 3]]))
    array([0, 1, 0])
    """
    seen: dict[bytes, int] = {}
    digests = [hashlib.blake2b(np.ascontiguousarray(column).tobytes()).digest() for column in X.T]
    return np.array([seen.setdefault(digest, j) for j, digest in enumerate(digests)], np.int64)


@dataclass(frozen=True)
class Alternative:
    """A column and a monotone map that may replace it."""

    column: int
    map: Logarithm | Ranks


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows X, targets of mean 0 and total variance 1, weights of mean 1, and blocks.

    Rows of one block are held out together; if `block` is None, each row is a block. Columns have
    mean 0, except categorical ones, which hold integers. Columns of one of the `groups` share
    changes of scale; `twins` is the first of equal columns. The values of the `alternatives`
    follow the columns in X. `ordered` rows depend on their predecessors. `scores` are the targets
    of all classes, where `y` may hold random combinations of them.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    categorical: tuple[int, ...]
    block: NDArray[np.int64] | None
    groups: Groups
    twins: NDArray[np.int64]
    alternatives: tuple[Alternative, ...] = ()
    ordered: bool = False
    scores: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        *,
        categorical: tuple[int, ...] = (),
        held_out: Any = "auto",
        seed: int = 0,
        warp: bool = False,
        classes: bool = False,
    ) -> Sample:
        """Return the sample; `held_out` is "random", "blocks", "auto" or a group for each row.

        With `warp`, columns with heavy tails get alternatives. With `classes`, the targets encode
        classes, as -1 and 1 or as one column per class.
        """
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, np.float64)
        counted = weight > 0
        if counted.sum() < 2:
            raise ValueError(
                "Scales are learned from at least two rows of positive weight; got "
                f"{int(counted.sum())}. Give more rows, or scales=None."
            )
        X, y, weight = X[counted], y[counted], weight[counted] / weight[counted].mean()
        held_out = held_out if isinstance(held_out, str) else np.asarray(held_out)[counted]
        alternatives = _alternatives(X[in_proportion(weight)], categorical) if warp else ()
        warped = [one.map(X[:, one.column]) for one in alternatives]
        ordered, y = _is_ordered(X, held_out), _standard(y, weight)
        return cls(
            _centred(np.column_stack([X, *warped]), categorical),
            _few(y, seed),
            weight,
            categorical,
            _blocks(len(X), held_out, ordered),
            groups_of(X, categorical),
            twins_of(X),
            alternatives,
            ordered,
            y if classes and y.shape[1] <= MOST_CLASSES else None,
        )

    @property
    def n_columns(self) -> int:
        """The number of columns without alternatives."""
        return int(self.X.shape[1]) - len(self.alternatives)

    def warped(self, warping: Warping | None) -> Sample:
        """Return the sample with the alternatives that a warping chooses, and no others."""
        places, maps = np.arange(self.n_columns), {} if warping is None else warping.maps
        for place, one in enumerate(self.alternatives, self.n_columns):
            if maps.get(one.column) is one.map:
                places[one.column] = place
        return replace(self, X=self.X[:, places], alternatives=())

    def widths(self) -> NDArray[np.float64]:
        """Return the standard deviation of each column; 1 for categories and one-hot columns."""
        widths = np.asarray(self.X[in_proportion(self.weight)].std(axis=0, dtype=np.float64))
        for group in self.groups:
            if len(group) > 1 and _is_one_hot(self.X[:, group]):
                widths[group] = 1.0
        widths[list(self.categorical)] = 1.0
        return np.where(widths > 0, widths, 1.0)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Sample:
        block, scores = (None if a is None else a[rows] for a in (self.block, self.scores))
        X, y, weight = self.X[rows], self.y[rows], self.weight[rows]
        return replace(self, X=X, y=y, weight=weight, block=block, scores=scores)

    def split(self, share: float, rng: Random) -> tuple[Sample, Sample]:
        """Return two samples, the second with about this `share` of the blocks."""
        block = np.arange(len(self)) if self.block is None else self.block
        numbers = np.unique(block)
        if len(numbers) < 2:  # all rows are of one block
            block = numbers = np.arange(len(self))
        least = 2 if len(numbers) >= 4 else 1  # one block says nothing about the variance
        count = min(max(least, int(share * len(numbers))), len(numbers) - 1)
        last = np.isin(block, numbers[rng.permutation(len(numbers))[:count]])
        return self[~last], self[last]

    def folds(self, count: int) -> list[tuple[Sample, Sample]]:
        """Return pairs (training rows, test rows) for contiguous folds; each fold is one block."""
        count = min(count, len(self))
        fold = np.arange(len(self)) * count // len(self)
        parts = [(self[fold != k], self[fold == k]) for k in range(count)]
        numbered = [(*both, np.full(len(both[1]), k)) for k, both in enumerate(parts)]
        return [(rest, replace(part, block=block)) for rest, part, block in numbered]

    def draw_split(self, size: int, rng: Random, held_out: float = HELD_OUT) -> TrialSplit:
        """Return at most `size` rows in random order, a share `held_out` of them held out."""
        some = self[rng.permutation(len(self))[:size]]
        return TrialSplit.of(*some.split(held_out, rng))


@dataclass(frozen=True, eq=False)
class HeldOutWeights:
    """The weights of held-out rows, and the blocks within which their errors are dependent."""

    weight: NDArray[np.float64]
    block: NDArray[np.int64] | None = None

    def mean(self, errors: NDArray[np.float64]) -> Any:
        """Return the weighted mean over the rows, the last axis."""
        return np.average(errors, axis=-1, weights=self.weight)

    def gain(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
        """Return the mean decrease of the errors and its standard error.

        Errors are dependent within a block, so the blocks are the random sample.
        """
        fall = before - after
        mean = float(self.mean(fall))
        sums = self.weight * (fall - mean)
        if self.block is not None:
            numbers = np.unique(self.block, return_inverse=True)[1]
            sums = np.bincount(numbers, sums).astype(np.float64)
        count = len(sums)
        if count < 2:
            return mean, np.inf  # one block says nothing about the variance
        return mean, float(np.sqrt(np.square(sums).sum() * count / (count - 1)) / self.weight.sum())


@dataclass(frozen=True, eq=False)
class TrialSplit:
    """Rows stored by columns, (columns, rows); those after the first `known` are held out."""

    columns: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    known: int
    categorical: tuple[int, ...] = ()
    block: NDArray[np.int64] | None = None
    scores: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, known: Sample, held_out: Sample) -> TrialSplit:
        """Return the rows of both samples, the second held out."""
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
    def held_out(self) -> HeldOutWeights:
        """The weights and blocks of the held-out rows."""
        return HeldOutWeights(self.weight[self.known :], self.block)


def in_proportion(weight: NDArray[np.float64]) -> slice | NDArray[np.int64]:
    """Return as many places of rows as there are, each about as often as its weight says.

    >>> in_proportion(np.array([1.0, 5.0, 1.0, 1.0]))
    array([0, 1, 1, 2])
    """
    if (weight == weight[0]).all():
        return slice(None)
    sums = np.cumsum(weight)
    middles = (np.arange(len(weight)) + 0.5) / len(weight)
    return np.asarray(np.searchsorted(sums, middles * sums[-1]))


def depends_on_order(X: NDArray[Any]) -> bool:
    """Whether rows are nearer to a recent predecessor than to random rows, as in a time series.

    The nearest may be a few rows before, since several series may alternate. Rows held out at
    random would have near neighbours among the training rows, and their errors would be too low.
    """
    numbers, rows = COMPARED
    X = np.asarray(X[: min(rows, numbers // X.shape[1])], np.float64)
    deviation = X.std(axis=0)
    X = X[:, deviation > 0] / deviation[deviation > 0]
    if len(X) < BLOCKS or X.shape[1] == 0:
        return False
    some = np.abs(X - np.roll(X, len(X) // 2, axis=0)).mean()
    return any(np.abs(X[lag:] - X[:-lag]).mean() < NEAR * some for lag in range(1, LAGS + 1))


def _is_one_hot(X: NDArray[np.float32]) -> bool:
    """Whether centred columns had the values 0 and 1 only."""
    low, high = X.min(axis=0), X.max(axis=0)
    return bool(((low == X) | (high == X)).all() and np.allclose(high - low, 1.0, atol=1e-5))


def _is_ordered(X: NDArray[Any], held_out: Any) -> bool:
    named = held_out if isinstance(held_out, str) else ""
    return named == "blocks" or (named == "auto" and depends_on_order(X))


def _blocks(rows: int, held_out: Any, ordered: bool) -> NDArray[np.int64] | None:
    if not isinstance(held_out, str):
        names, numbers = np.unique(held_out, return_inverse=True)
        if len(names) < 2:
            raise ValueError(
                "held_out of Tuning must have at least two groups, since each is held out as a "
                "whole; got one."
            )
        return numbers.astype(np.int64)
    blocks = max(FEWEST_BLOCKS, min(BLOCKS, rows // LEAST_LENGTH))
    return np.arange(rows) * blocks // rows if ordered else None


def _alternatives(X: NDArray[Any], categorical: tuple[int, ...]) -> tuple[Alternative, ...]:
    """Return logarithms and ranks of the columns with heavy tails."""
    low, high = np.percentile(X, MIDDLE, axis=0)
    heavy = np.ptp(X, axis=0) > HEAVY * (high - low)
    columns = [int(j) for j in np.flatnonzero(heavy) if j not in categorical]
    columns = [j for j in columns if len(np.unique(X[:, j])) > FEW_VALUES]
    kinds = Logarithm, Ranks
    return tuple(Alternative(j, kind.learn(X[:, j])) for j in columns for kind in kinds)


def _centred(X: NDArray[Any], categorical: tuple[int, ...]) -> NDArray[np.float32]:
    """Return centred columns in single precision; large means would lose digits there."""
    mean = X.mean(axis=0, dtype=np.float64)
    mean[list(categorical)] = 0.0
    return np.asarray(X - mean, np.float32)


def _standard(y: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0, divided by one number so that the total variance is 1."""
    y = y - np.average(y, axis=0, weights=weight)
    size = np.sqrt(np.average(np.square(y).sum(axis=1), weights=weight))
    return y / size if size > 0 else y


def _few(y: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return few random combinations (signs), which keep squared norms of rows on average."""
    if y.shape[1] <= FEW_OUTPUTS:
        return np.ascontiguousarray(y)
    bits = Random(seed, CODES).uniform((y.shape[1], FEW_OUTPUTS)) < 0.5
    return np.asarray(y @ (np.where(bits, 1.0, -1.0) / np.sqrt(FEW_OUTPUTS)))
