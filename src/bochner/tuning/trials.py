"""Trials: kernel ridge regressions on few rows, over and over, each with some columns changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.trials import backfit, move_keys, number_keys, shrinkages, subtract
from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random

if TYPE_CHECKING:
    from bochner.tuning.sample import Sample

SWEEPS = 4  # of backfitting: closer to the minimum the order of trials hardly changes


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


Bins = tuple[NDArray[np.int32], NDArray[np.int64]]  # numbers of the rows' bins, grids' beginnings


class Regression:
    """Backfitting, each grid in turn; `ridge` is alpha times the number of rows."""

    def __init__(
        self, drawn: Drawn, targets: NDArray[np.float64], bins: Bins, ridge: float
    ) -> None:
        codes, starts = bins
        self.known, self.bins, self.ridge = drawn.known, bins, ridge * len(codes)
        self.weight = drawn.weight[: drawn.known]
        mean = np.average(targets[: drawn.known], axis=0, weights=self.weight)
        self.left = (targets - mean).T.copy()
        self.shrinkage = np.empty(int(starts[-1]))
        self.values = np.zeros((len(self.left), len(self.shrinkage)))
        self.moves = np.empty((2, int(np.diff(starts).max())))
        shrinkages(codes, starts, self.weight, self.ridge, self.shrinkage)

    def sweep(self, times: int = 1) -> None:
        """Go through the grids some times."""
        for left, values in zip(self.left, self.values, strict=True):
            rows = left[: self.known], self.weight, self.ridge
            for _ in range(times):
                backfit(*self.bins, *rows, self.shrinkage, values, self.moves)

    def missed(self) -> NDArray[np.float64]:
        """Return what is left of the targets at the held-out rows, (outputs, rows)."""
        missed = self.left[:, self.known :].copy()
        for left, values in zip(missed, self.values, strict=True):
            subtract(*self.bins, values, self.known, left)
        return missed

    def errors(self) -> NDArray[np.float64]:
        """Return the squared error at each held-out row."""
        return np.asarray(np.square(self.missed()).sum(axis=0))


Move = Mapping[int, float]  # a new factor for some columns


class Trials:
    """Errors of Laplacian kernel ridge regressions on held-out rows, by random binning.

    The kernel is exp(-sum_j factor_j |a_j - b_j|). A row's bin in a grid is known by a sum over
    the columns, so that a change of one column changes one term of it, and all else is kept: keys
    of rows and grids belong to the present factors, and a trial moves copies of them. Regressions
    are solved by a few sweeps of backfitting, each grid in turn: the first sweep brings what takes
    conjugate gradients tens of steps, since the top of the spectrum is what a single grid fits.
    """

    def __init__(self, drawn: Drawn, grids: int, rng: Random) -> None:
        shape = (grids, len(drawn.columns))
        self.drawn = drawn
        self.pitches, self.shifts = rng.gamma(2, shape), rng.uniform(shape)
        self.multipliers = rng.integers(shape[0] * shape[1]).reshape(shape) | np.uint64(1)
        self.factors = np.zeros(shape[1])
        self.keys = np.zeros((grids, drawn.rows), np.uint64)

    def settle(self, move: Move) -> None:
        """Change factors for all trials that follow."""
        each_tile(lambda r, _: self._move(r, move, self.keys[r]), len(self.keys), 1)
        for j, factor in move.items():
            self.factors[j] = factor

    def errors(
        self, moves: Sequence[Move], ridge: float, bar: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the squared error at each held-out row, (moves, rows); `ridge` is rows * alpha.

        With the errors of the present factors after one sweep as a bar, trials that are worse than
        that by a standard error after one sweep are given up: theirs are infinite.
        """
        out = np.full((len(moves), self.drawn.rows - self.drawn.known), np.inf)

        def fill(number: int, _: int) -> None:
            fit = self._regression(self._bins(moves[number]), ridge)
            fit.sweep()
            if bar is not None:
                gain, deviation = self.drawn.held_out.gain(bar, fit.errors())
                if gain < -deviation:
                    return
            fit.sweep(SWEEPS - 1)
            out[number] = fit.errors()

        each_tile(fill, len(moves), 1)
        return out

    def bar(self, ridge: float) -> NDArray[np.float64]:
        """Return the errors of the present factors after one sweep."""
        fit = self._regression(self._bins({}), ridge)
        fit.sweep()
        return fit.errors()

    def errors_by_ridge(
        self, moves: Sequence[Move], ridges: Sequence[float], sweeps: int = SWEEPS
    ) -> NDArray[np.float64]:
        """Return the squared error at each held-out row, (moves, ridges, rows)."""
        out = np.empty((len(moves), len(ridges), self.drawn.rows - self.drawn.known))
        bins: list[Any] = [None] * len(moves)

        def find(number: int, _: int) -> None:
            bins[number] = self._bins(moves[number])

        def fill(pair: int, _: int) -> None:
            number, k = divmod(pair, len(ridges))
            fit = self._regression(bins[number], ridges[k])
            fit.sweep(sweeps)
            out[number, k] = fit.errors()

        each_tile(find, len(moves), 1)
        each_tile(fill, len(moves) * len(ridges), 1)
        return out

    def wrong(self, move: Move, ridge: float) -> NDArray[np.float64]:
        """Return 1 for each held-out row whose class is missed, else 0: the nearest scores win."""
        scores = self.drawn.scores
        assert scores is not None  # the caller knows that there are classes
        held_out = scores[self.drawn.known :]
        fit = Regression(self.drawn, scores, self._bins(move), ridge)
        fit.sweep(SWEEPS)
        found = held_out - fit.missed().T
        classes = scores[np.unique(_labels(scores), return_index=True)[1]]
        distances = np.square(classes).sum(axis=1) - 2 * found @ classes.T
        nearest = classes[np.argmin(distances, axis=1)]
        return np.asarray((_labels(nearest) != _labels(held_out)).astype(np.float64))

    def _regression(self, bins: Bins, ridge: float) -> Regression:
        return Regression(self.drawn, self.drawn.y, bins, ridge)

    def _move(self, r: int, move: Move, keys: NDArray[np.uint64]) -> None:
        old, new = np.empty(len(keys)), np.empty(len(keys))
        for j, factor in move.items():
            if factor == self.factors[j]:
                continue
            x, multiplier = self.drawn.columns[j], self.multipliers[r, j]
            if j in self.drawn.categorical:
                if self._tells(r, j, self.factors[j]):
                    keys -= x.astype(np.int64).view(np.uint64) * multiplier
                if self._tells(r, j, factor):
                    keys += x.astype(np.int64).view(np.uint64) * multiplier
                continue
            before, after = self.factors[j] / self.pitches[r, j], factor / self.pitches[r, j]
            bits = old.view(np.uint64), new.view(np.uint64)
            move_keys(x, before, after, self.shifts[r, j], multiplier, old, new, *bits, keys)

    def _tells(self, r: int, j: int, factor: float) -> bool:
        """Whether a grid tells the categories of a column apart, as it would tell 0 from 1."""
        inverse, shift = factor / self.pitches[r, j], self.shifts[r, j]
        return bool(round(inverse - shift) != round(-shift))

    def _bins(self, move: Move) -> Bins:
        known, codes = self.drawn.known, np.empty(self.keys.shape, np.int32)
        places = 1 << (2 * self.drawn.rows).bit_length()
        table, numbers = np.empty(places, np.uint64), np.empty(places, np.int32)
        starts = np.zeros(len(codes) + 1, np.int64)
        for r in range(len(codes)):
            keys = self.keys[r].copy()
            self._move(r, move, keys)
            starts[r + 1] = starts[r] + number_keys(keys, known, table, numbers, codes[r])
        return codes, starts


def _labels(scores: NDArray[np.float64]) -> NDArray[Any]:
    """Return the class that each row of targets stands for."""
    return scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
