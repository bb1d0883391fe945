"""Bandwidth: one number for all columns, whose proportions are given."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.tuning.search import BANDWIDTHS, COMMON, COMMON_AGAIN, Search
from bochner.tuning.stage import Stage

NEARBY = (-1.0, -0.5, 0.0, 0.5, 1.0)  # powers of 2, on more rows than before


class BandwidthSearch(Search):
    """A search on bins that moves all columns together, divided by given scales.

    More rows want a smaller bandwidth, so that the last word is that of the most rows.
    """

    def found(self, stages: Sequence[Stage], scales: NDArray[np.float64]) -> tuple[float, float]:
        """Return the bandwidth of a Laplacian kernel on columns divided by scales, and a ridge."""
        first, last = stages[0], stages[-1]
        powers = -np.log2(self.per_width[: self.sample.n_columns] * scales)
        self.commons = [powers - np.median(powers).round()]
        self.powers, self.most_rows = self.commons[0], last.rows
        self._find_common(first, COMMON, BANDWIDTHS)
        if time.perf_counter() <= self.deadline:
            self._find_common(Stage(last.rows, last.grids), COMMON_AGAIN, NEARBY)
        factors = self.per_width[: len(scales)] * 2.0**self.powers
        return float(1.0 / (factors[0] * scales[0])), self._last_ridge()
