"""Tuned: what a search has found, and whether it was worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

    Errors are shares of the targets' variance, on rows that were kept for this verdict: with the
    best bandwidth for all columns, and with a scale for each. `helped` says whether the latter is
    lower by more than a standard error; if not, the scales are those of the former. `relevance` is
    by what share the error rises without a column, with its standard deviation over resamples.
    `ridge` is alpha times the number of rows.
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
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.helped:
            verdict = "a scale for each column is kept"
        else:
            verdict = "so one bandwidth for all is kept"
        return (
            f"{self.trials} trials in {self.seconds:.1f} s. On held-out rows the error is "
            f"{self.common_error:.4f} of the variance with one bandwidth for all columns and "
            f"{self.learned_error:.4f} with a scale for each; {verdict}."
        )

    def plot_relevance(self, names: Any = None, ax: Any = None, most: int = 20) -> Any:
        """Draw the most relevant columns as bars with their deviation; return the axes.

        Needs matplotlib.
        """
        from matplotlib import pyplot as plt  # an optional dependency

        order = np.argsort(-self.relevance)[:most][::-1]
        names = [f"column {j}" for j in range(len(self.relevance))] if names is None else names
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 1 + 0.25 * len(order)), layout="constrained")
        heights = 100 * np.maximum(self.relevance[order], 0.0)
        ax.barh(range(len(order)), heights, xerr=100 * self.relevance_deviation[order])
        ax.set_yticks(range(len(order)), [str(names[j]) for j in order])
        ax.set_xlabel("rise of the error without the column, %")
        ax.spines[["top", "right"]].set_visible(False)
        return ax
