"""Trials: kernel ridge regressions on few rows, over and over, each with some columns changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.random import Random
from bochner.compute.trial_loops import backfit, move_keys, number_keys, subtract
from bochner.tuning.sample import Drawn

SWEEPS = 4  # of backfitting: closer to the minimum the order of trials hardly changes
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
        self, moves: Sequence[Move], ridge: float | Sequence[float], sweeps: int = SWEEPS
    ) -> NDArray[np.float64]:
        """Return the squared error at each held-out row, (moves, rows).

        `ridge` is rows * alpha, one for all moves or one for each.
        """
        out = np.empty((len(moves), self.drawn.rows - self.drawn.known))
        ridges = np.broadcast_to(np.asarray(ridge, np.float64), len(moves))

        def fill(number: int, _: int) -> None:
            out[number] = self._errors(*self._codes(moves[number]), float(ridges[number]), sweeps)

        each_tile(fill, len(moves), 1)
        return out

    def _move(self, r: int, move: Move, keys: NDArray[np.uint64]) -> None:
        old, new = np.empty(len(keys)), np.empty(len(keys))
        for j, factor in move.items():
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

    def _codes(self, move: Move) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        known, codes = self.drawn.known, np.empty(self.keys.shape, np.int32)
        places = 1 << (2 * self.drawn.rows).bit_length()
        table, numbers = np.empty(places, np.uint64), np.empty(places, np.int32)
        starts = np.zeros(len(codes) + 1, np.int64)
        for r in range(len(codes)):
            keys = self.keys[r].copy()
            self._move(r, move, keys)
            starts[r + 1] = starts[r] + number_keys(keys, known, table, numbers, codes[r])
        return codes, starts

    def _errors(
        self, codes: NDArray[np.int32], starts: NDArray[np.int64], ridge: float, sweeps: int
    ) -> NDArray[np.float64]:
        drawn, known = self.drawn, self.drawn.known
        y, weight = drawn.y[:known], drawn.weight[:known]
        mean = np.average(y, axis=0, weights=weight)
        residual, weights = y - mean, np.zeros((int(starts[-1]), y.shape[1]))
        sums, mass = np.empty(y.shape), np.empty(len(y))
        for _ in range(sweeps):
            backfit(codes, starts, residual, weight, ridge * len(codes), weights, sums, mass)
        left = drawn.y[known:] - mean
        subtract(codes, starts, weights, known, left)
        return np.asarray(np.square(left).sum(axis=1))
