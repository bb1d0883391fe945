"""Trials: kernel ridge regressions on few rows with different scales of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.trials import backfit, move_keys, number_keys, shrinkages, subtract
from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.tuning.sample import TrialSplit

SWEEPS = 4  # of backfitting: with more, the ranking of the trials hardly changes

Move = Mapping[int, float]  # a new factor for some columns
Bins = tuple[NDArray[np.int32], NDArray[np.int64]]  # bin of each row, first bin of each grid


class TrialRidge:
    """Ridge regression on bins by backfitting; `ridge` is alpha times the number of rows."""

    def __init__(
        self, split: TrialSplit, targets: NDArray[np.float64], bins: Bins, ridge: float
    ) -> None:
        codes, starts = bins
        self.known, self.bins, self.ridge = split.known, bins, ridge * len(codes)
        self.weight = split.weight[: split.known]
        mean = np.average(targets[: split.known], axis=0, weights=self.weight)
        self.residual = (targets - mean).T.copy()
        self.shrinkage = np.empty(int(starts[-1]))
        self.values = np.zeros((len(self.residual), len(self.shrinkage)))
        self.moves = np.empty((2, int(np.diff(starts).max())))
        shrinkages(codes, starts, self.weight, self.ridge, self.shrinkage)

    def sweep(self, times: int = 1) -> None:
        """Update the values of all grids in turn, `times` times."""
        for residual, values in zip(self.residual, self.values, strict=True):
            rows = residual[: self.known], self.weight, self.ridge
            for _ in range(times):
                backfit(*self.bins, *rows, self.shrinkage, values, self.moves)

    def held_out_residuals(self) -> NDArray[np.float64]:
        """Return targets minus predictions at the held-out rows, (outputs, rows)."""
        residuals = self.residual[:, self.known :].copy()
        for residual, values in zip(residuals, self.values, strict=True):
            subtract(*self.bins, values, self.known, residual)
        return residuals

    def errors(self) -> NDArray[np.float64]:
        """Return the squared error at each held-out row."""
        return np.asarray(np.square(self.held_out_residuals()).sum(axis=0))


class Trials:
    """Errors of Laplacian kernel ridge regressions on held-out rows, by random binning.

    The kernel is exp(-sum_j factor_j |a_j - b_j|). A key that identifies a row's bin in a grid is
    a sum over the columns, so a new factor of one column changes one term. `keys` belong to the
    current factors; a trial changes copies of them. A few sweeps of backfitting solve each
    regression. The first sweep achieves what takes conjugate gradients tens of steps, since a
    single grid fits the top of the spectrum.
    """

    def __init__(self, split: TrialSplit, grids: int, rng: Random) -> None:
        shape = (grids, len(split.columns))
        self.split = split
        self.pitches, self.shifts = rng.gamma(2, shape), rng.uniform(shape)
        self.multipliers = rng.integers(shape[0] * shape[1]).reshape(shape) | np.uint64(1)
        self.factors = np.zeros(shape[1])
        self.keys = np.zeros((grids, split.rows), np.uint64)

    def apply(self, move: Move) -> None:
        """Change the current factors."""
        each_tile(lambda r, _: self._move(r, move, self.keys[r]), len(self.keys), 1)
        for j, factor in move.items():
            self.factors[j] = factor

    def errors(
        self, moves: Sequence[Move], ridge: float, first_sweep: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the squared error at each held-out row, (moves, rows); `ridge` is rows * alpha.

        `first_sweep` are the errors of the current factors after one sweep. A trial that is worse
        than these by more than a standard error after one sweep ends there, with infinite errors.
        """
        out = np.full((len(moves), self.split.rows - self.split.known), np.inf)

        def fill(number: int, _: int) -> None:
            fit = self._regression(self._bins(moves[number]), ridge)
            fit.sweep()
            if first_sweep is not None:
                gain, deviation = self.split.held_out.gain(first_sweep, fit.errors())
                if gain < -deviation:
                    return
            fit.sweep(SWEEPS - 1)
            out[number] = fit.errors()

        each_tile(fill, len(moves), 1)
        return out

    def first_sweep_errors(self, ridge: float) -> NDArray[np.float64]:
        """Return the errors of the current factors after one sweep."""
        fit = self._regression(self._bins({}), ridge)
        fit.sweep()
        return fit.errors()

    def errors_by_ridge(
        self, moves: Sequence[Move], ridges: Sequence[float], sweeps: int = SWEEPS
    ) -> NDArray[np.float64]:
        """Return the squared error at each held-out row, (moves, ridges, rows)."""
        out = np.empty((len(moves), len(ridges), self.split.rows - self.split.known))
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

    def label_errors(self, move: Move, ridge: float) -> NDArray[np.float64]:
        """Return 1 for each misclassified held-out row, else 0; the class of nearest scores wins.

        Only for splits with `scores`.
        """
        scores = self.split.scores
        assert scores is not None
        held_out = scores[self.split.known :]
        fit = TrialRidge(self.split, scores, self._bins(move), ridge)
        fit.sweep(SWEEPS)
        found = held_out - fit.held_out_residuals().T
        classes = scores[np.unique(_labels(scores), return_index=True)[1]]
        distances = np.square(classes).sum(axis=1) - 2 * found @ classes.T
        nearest = classes[np.argmin(distances, axis=1)]
        return np.asarray((_labels(nearest) != _labels(held_out)).astype(np.float64))

    def _regression(self, bins: Bins, ridge: float) -> TrialRidge:
        return TrialRidge(self.split, self.split.y, bins, ridge)

    def _move(self, r: int, move: Move, keys: NDArray[np.uint64]) -> None:
        old, new = np.empty(len(keys)), np.empty(len(keys))
        for j, factor in move.items():
            if factor == self.factors[j]:
                continue
            x, multiplier = self.split.columns[j], self.multipliers[r, j]
            if j in self.split.categorical:
                if self._separates(r, j, self.factors[j]):
                    keys -= x.astype(np.int64).view(np.uint64) * multiplier
                if self._separates(r, j, factor):
                    keys += x.astype(np.int64).view(np.uint64) * multiplier
                continue
            before, after = self.factors[j] / self.pitches[r, j], factor / self.pitches[r, j]
            bits = old.view(np.uint64), new.view(np.uint64)
            move_keys(x, before, after, self.shifts[r, j], multiplier, old, new, *bits, keys)

    def _separates(self, r: int, j: int, factor: float) -> bool:
        """Whether a grid has different bins for the categories of a column, as for 0 and 1."""
        inverse, shift = factor / self.pitches[r, j], self.shifts[r, j]
        return bool(round(inverse - shift) != round(-shift))

    def _bins(self, move: Move) -> Bins:
        known, codes = self.split.known, np.empty(self.keys.shape, np.int32)
        places = 1 << (2 * self.split.rows).bit_length()
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
