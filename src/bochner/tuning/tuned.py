"""Tuned: what a search has found, whether it was worth it, and the stages of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bochner.data import Warping


@dataclass(frozen=True)
class Stage:
    """At most so many rounds on so many rows and grids; a step is a power of 2."""

    rows: int
    grids: int
    step: float = 0.0
    rounds: int = 1

    def within(self, rows: int, grids: int) -> Stage:
        """Return the same with no more rows and grids than these."""
        return replace(self, rows=min(self.rows, rows), grids=min(self.grids, grids))


@dataclass(frozen=True)
class Round:
    """Rows, grids and step of a round of trials, and the error on held-out rows by it."""

    rows: int
    grids: int
    step: float
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """Scales for a Laplacian kernel of bandwidth 1, the ridge that goes with them, and evidence.

    Errors are shares of the targets' variance, of classes the share of wrong labels (`labels`), on
    rows that were kept for this verdict: with the best bandwidth for all columns, and with a scale
    for each. `helped` says whether the latter is
    lower by more than a standard error; if not, the scales are those of the former. `relevance` is
    by what share the error rises without a column, with its standard deviation over resamples.
    `ridge` is alpha times the number of rows. `warping` holds the maps through which columns with
    heavy tails are seen; the scales are then those of the maps' values.
    """

    scales: NDArray[np.float64]
    ridge: float
    helped: bool
    common_error: float
    learned_error: float
    relevance: NDArray[np.float64]
    relevance_deviation: NDArray[np.float64]
    rounds: tuple[Round, ...]
    trials: int
    warping: Warping | None = None
    labels: bool = False
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.helped:
            verdict = "a scale for each column is kept"
        else:
            verdict = "so one bandwidth for all is kept"
        maps = {} if self.warping is None else self.warping.maps
        warped = f" Seen as logarithms or ranks: {len(maps)} columns." if maps else ""
        what = "share of wrong labels is" if self.labels else "error is"
        unit = "" if self.labels else " of the variance"
        return (
            f"{self.trials} trials in {self.seconds:.1f} s. On held-out rows the {what} "
            f"{self.common_error:.4f}{unit} with one bandwidth for all columns and "
            f"{self.learned_error:.4f} with a scale for each; {verdict}.{warped}"
        )
