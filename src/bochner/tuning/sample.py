"""Sample: rows to tune on, and how some of them are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random import Random
from bochner.tuning.groups import Groups, groups_of

HELD_OUT = 0.25
BLOCKS = 200  # of consecutive rows, of which some are held out
FEW_OUTPUTS = 8  # squared errors of more are told by so many random combinations of them
CODES = 0xC0DE5  # keeps these draws apart from others of the same seed
NEAR = 0.8  # of the distance of random rows: rows this near to one just before depend on it
LAGS = 12
COMPARED = 4_000_000, 20_000  # numbers and rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows X, targets as columns of mean 0 and variance 1 in all, weights of mean 1, and blocks.

    Rows of one block are held out together; each is a block of its own if `block` is None.
    Columns have mean 0 but for categorical ones, which hold whole numbers; `groups` are those
    whose scales move together.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    categorical: tuple[int, ...]
    block: NDArray[np.int64] | None
    groups: Groups

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
    ) -> Sample:
        """Return the sample; `held_out` is "random", "blocks", "auto" or a group for each row."""
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, np.float64)
        counted = weight > 0  # the others have no say, and no weight to divide by
        if counted.sum() < 2:
            raise ValueError("Scales are learned from two rows at least that have a weight.")
        X, y, weight = X[counted], y[counted], weight[counted] / weight[counted].mean()
        held_out = held_out if isinstance(held_out, str) else np.asarray(held_out)[counted]
        return cls(
            _centred(X, categorical),
            _few(_standard(y, weight), seed),
            weight,
            categorical,
            _blocks(X, held_out),
            groups_of(X, categorical),
        )

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Sample:
        block = None if self.block is None else self.block[rows]
        X, y, weight = self.X[rows], self.y[rows], self.weight[rows]
        return Sample(X, y, weight, self.categorical, block, self.groups)

    def split(self, share: float, rng: Random) -> tuple[Sample, Sample]:
        """Return two samples, the second with about this share of the blocks."""
        block = np.arange(len(self)) if self.block is None else self.block
        numbers = np.unique(block)
        if len(numbers) < 2:  # all rows drawn are of one block
            block = numbers = np.arange(len(self))
        count = min(max(1, int(share * len(numbers))), len(numbers) - 1)
        last = np.isin(block, numbers[rng.permutation(len(numbers))[:count]])
        return self[~last], self[last]

    def drawn(self, size: int, rng: Random) -> Drawn:
        """Return at most so many rows in random order, a quarter of them held out."""
        some = self[rng.permutation(len(self))[:size]]
        return Drawn.of(*some.split(HELD_OUT, rng))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows by columns, (columns, rows); those after the first `known` are held out."""

    columns: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    known: int
    categorical: tuple[int, ...] = ()
    block: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, known: Sample, held_out: Sample) -> Drawn:
        """Return the rows of both, the second held out."""
        columns = np.ascontiguousarray(np.concatenate([known.X, held_out.X]).T)
        y = np.concatenate([known.y, held_out.y])
        weight = np.concatenate([known.weight, held_out.weight])
        return cls(columns, y, weight, len(known), known.categorical, held_out.block)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.columns.shape[1])

    def mean(self, errors: NDArray[np.float64]) -> Any:
        """Return the weighted mean over the held-out rows, the last axis."""
        return np.average(errors, axis=-1, weights=self.weight[self.known :])

    def gain(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
        """Return by how much errors fell on average, and the deviation of that mean.

        Rows of a block err together, so that blocks are what is drawn at random.
        """
        weight, fall = self.weight[self.known :], before - after
        mean = float(self.mean(fall))
        block = np.arange(len(fall)) if self.block is None else self.block
        sums = np.bincount(np.unique(block, return_inverse=True)[1], weight * (fall - mean))
        count = max(len(sums) - 1, 1)
        return mean, float(np.sqrt(np.square(sums).sum() * len(sums) / count) / weight.sum())


def depends_on_order(X: NDArray[Any]) -> bool:
    """Whether rows are nearer to one of those just before them than to others, as in a time series.

    Not always to the last: several series may take turns. Rows that are held out at random would
    have their neighbours among the others, and a search on them would find out which neighbours
    are alike.
    """
    numbers, rows = COMPARED
    X = np.asarray(X[: min(rows, numbers // X.shape[1])], np.float64)
    deviation = X.std(axis=0)
    X = X[:, deviation > 0] / deviation[deviation > 0]
    if len(X) < BLOCKS or X.shape[1] == 0:
        return False
    some = np.abs(X - np.roll(X, len(X) // 2, axis=0)).mean()
    return any(np.abs(X[lag:] - X[:-lag]).mean() < NEAR * some for lag in range(1, LAGS + 1))


def _blocks(X: NDArray[Any], held_out: Any) -> NDArray[np.int64] | None:
    if not isinstance(held_out, str):
        names, numbers = np.unique(held_out, return_inverse=True)
        if len(names) < 2:
            raise ValueError("Groups are held out whole, so there must be two at least; got one.")
        return numbers.astype(np.int64)
    blocks = held_out == "blocks" or (held_out == "auto" and depends_on_order(X))
    return np.arange(len(X)) * BLOCKS // len(X) if blocks else None


def _centred(X: NDArray[Any], categorical: tuple[int, ...]) -> NDArray[np.float32]:
    """Return single precision, in which a time in seconds would be rounded to minutes."""
    mean = X.mean(axis=0, dtype=np.float64)
    mean[list(categorical)] = 0.0
    return np.asarray(X - mean, np.float32)


def _standard(y: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0, divided by one number, so that the mean squared row is 1."""
    y = y - np.average(y, axis=0, weights=weight)
    size = np.sqrt(np.average(np.square(y).sum(axis=1), weights=weight))
    return y / size if size > 0 else y


def _few(y: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return few columns whose squared norms are those of many on average (random signs)."""
    if y.shape[1] <= FEW_OUTPUTS:
        return np.ascontiguousarray(y)
    bits = Random(seed, CODES).uniform((y.shape[1], FEW_OUTPUTS)) < 0.5
    return np.asarray(y @ (np.where(bits, 1.0, -1.0) / np.sqrt(FEW_OUTPUTS)))
