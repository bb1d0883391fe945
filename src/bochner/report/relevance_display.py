"""RelevanceDisplay: a bar chart of the relevance of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.axes import axes_or_new

MOST = 20


class RelevanceDisplay:
    """Bars of the most relevant columns, with deviations over resamples; needs matplotlib.

    Parameters
    ----------
    relevance, deviation : arrays of n_columns numbers
        The relative increase of the held-out error without a column.
    names : sequence of n_columns names or None

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> display = RelevanceDisplay(np.array([0.1, 0.4]), np.array([0.01, 0.02]), ["age", "income"])
    >>> display.most_relevant(1)
    ['income']
    """

    def __init__(
        self,
        relevance: NDArray[np.float64],
        deviation: NDArray[np.float64],
        names: Sequence[Any] | None = None,
    ) -> None:
        self.relevance, self.deviation = relevance, deviation
        self.names = [f"column {j}" for j in range(len(relevance))] if names is None else names
        if len(self.names) != len(relevance):
            raise ValueError(
                f"There must be a name for each of {len(relevance)} columns; got {len(self.names)}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[Any] | None = None, most: int = MOST, ax: Any = None
    ) -> RelevanceDisplay:
        """Draw the relevance that a fitted estimator has learned; return the display."""
        tuned = getattr(estimator, "tuning_", None)
        if tuned is None:
            raise ValueError(
                f"{type(estimator).__name__} has learned no scales, so it has no relevance. Fit it "
                "with scales='learn'."
            )
        names = getattr(estimator, "feature_names_in_", None) if names is None else names
        return cls(tuned.relevance, tuned.relevance_deviation, names).plot(ax=ax, most=most)

    def most_relevant(self, most: int = MOST) -> list[Any]:
        """Return the names of the most relevant columns, the best first."""
        return [self.names[j] for j in self._order(most)]

    def plot(self, ax: Any = None, most: int = MOST) -> RelevanceDisplay:
        """Draw the most relevant columns; return self."""
        order = self._order(most)[::-1]
        ax = axes_or_new(ax, (6.0, 1 + 0.25 * len(order)))
        heights = 100 * np.maximum(self.relevance[order], 0.0)
        ax.barh(range(len(order)), heights, xerr=100 * self.deviation[order])
        ax.set_yticks(range(len(order)), [str(self.names[j]) for j in order])
        ax.set_xlabel("increase of the error without the column, %")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _order(self, most: int) -> NDArray[np.int64]:
        return np.argsort(-self.relevance, kind="stable")[:most]
