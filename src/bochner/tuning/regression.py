"""Regression: ridge regression on the bins of a trial, sweep by sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.trials import backfit, shrinkages, subtract
from bochner.tuning.drawn import Drawn

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
