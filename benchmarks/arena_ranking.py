"""Ranks, pairwise wins, geometric means and Elo ratings of methods over many tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ELO_SCALE = 400.0 / np.log(10.0)
LEAST_ERROR = 1e-3  # a table that all solve says nothing about ratios
BOOTSTRAPS = 200


@dataclass(frozen=True)
class Scores:
    """Errors of methods on tables, (tables, methods); NaN where a method did not run."""

    tables: Sequence[str]
    methods: Sequence[str]
    values: np.ndarray

    def only(self, chosen: Sequence[bool]) -> Scores:
        """Return the scores of some tables."""
        keep = np.asarray(chosen, bool)
        names = [name for name, kept in zip(self.tables, keep, strict=True) if kept]
        return Scores(names, self.methods, self.values[keep])

    def column(self, method: str) -> np.ndarray:
        """Return the errors of a method."""
        return self.values[:, list(self.methods).index(method)]

    def mean_ranks(self) -> np.ndarray:
        """Return the mean rank of each method; equal errors share a rank, absent ones are last."""
        filled = np.where(np.isnan(self.values), np.inf, self.values)
        less = (filled[:, :, None] > filled[:, None, :]).sum(axis=2)
        same = (filled[:, :, None] == filled[:, None, :]).sum(axis=2)
        return np.asarray((1 + less + (same - 1) / 2).mean(axis=0))

    def ratio(self, method: str, other: str) -> float:
        """Return the geometric mean of one method's errors over another's."""
        a, b = (np.maximum(self.column(name), LEAST_ERROR) for name in (method, other))
        both = ~(np.isnan(a) | np.isnan(b))
        return float(np.exp(np.mean(np.log(a[both] / b[both])))) if both.any() else np.nan

    def wins(self, method: str, other: str) -> tuple[int, int]:
        """Return on how many tables one method is no worse than another, and of how many."""
        a, b = self.column(method), self.column(other)
        both = ~(np.isnan(a) | np.isnan(b))
        return int((a[both] <= b[both]).sum()), int(both.sum())

    def elo(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the Elo rating of each method, and a 95% interval by bootstrap over tables.

        A Bradley-Terry model of all pairs of methods on all tables; 1,000 is the mean.
        """
        rng = np.random.default_rng(seed)
        count = len(self.values)
        draws = [self._ratings(rng.integers(0, count, count)) for _ in range(BOOTSTRAPS)]
        low, high = np.percentile(draws, (2.5, 97.5), axis=0)
        return self._ratings(np.arange(count)), low, high

    def _ratings(self, chosen: np.ndarray) -> np.ndarray:
        """Return the maximum of the Bradley-Terry likelihood, with half a draw between all pairs.

        By the minorise-maximise iteration of Hunter (2004), Eq. 3.
        """
        values = self.values[chosen]
        a, b = values[:, :, None], values[:, None, :]
        wins = (a < b).sum(axis=0) + 0.5 * (a == b).sum(axis=0)
        np.fill_diagonal(wins, 0.0)
        wins = wins + 0.25 * (1 - np.eye(len(wins)))
        games = wins + wins.T
        strength = np.ones(len(wins))
        for _ in range(500):
            rate = games / (strength[:, None] + strength[None, :])
            strength = wins.sum(axis=1) / rate.sum(axis=1)
            strength /= np.exp(np.log(strength).mean())
        return 1000.0 + ELO_SCALE * np.log(strength)
