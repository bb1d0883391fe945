"""Tuned: the result of a search, and the stages and rounds of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bochner.data import Warping


@dataclass(frozen=True)
class Stage:
    """The number of rounds, and their rows, grids and step (a power of 2)."""

    rows: int
    grids: int
    step: float = 0.0
    rounds: int = 1

    def within(self, rows: int, grids: int) -> Stage:
        """Return the stage with at most these numbers of rows and grids."""
        return replace(self, rows=min(self.rows, rows), grids=min(self.grids, grids))


@dataclass(frozen=True)
class Round:
    """Rows, grids and step of a round, and the error at held-out rows before and after it."""

    rows: int
    grids: int
    step: float
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """Scales for a Laplacian kernel of bandwidth 1, the ridge, and errors at test rows.

    `common_error` and `learned_error` are the errors with the best common bandwidth and with a
    scale for each column: mean squared errors relative to the variance of the targets or, for
    classes (`labels`), the share of wrong labels. `helped` is whether the latter is lower by more
    than a standard error; otherwise the scales are those of the common bandwidth. `relevance` is
    the relative increase of the error without a column, `relevance_deviation` its standard
    deviation over resamples. `ridge` is alpha times the number of rows. `warping` has the monotone
    maps of columns with heavy tails; the scales apply to their values.
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
            outcome = "a scale for each column is kept"
        else:
            outcome = "so one bandwidth for all is kept"
        maps = {} if self.warping is None else self.warping.maps
        warped = f" Seen as logarithms or ranks: {len(maps)} columns." if maps else ""
        what = "share of wrong labels is" if self.labels else "error is"
        unit = "" if self.labels else " of the variance"
        return (
            f"{self.trials} trials in {self.seconds:.1f} s. On held-out rows the {what} "
            f"{self.common_error:.4f}{unit} with one bandwidth for all columns and "
            f"{self.learned_error:.4f} with a scale for each; {outcome}.{warped}"
        )
