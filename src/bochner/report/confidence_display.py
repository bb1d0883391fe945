"""ConfidenceDisplay: a mean with the interval about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.report.axes import axes
from bochner.report.bands import along, sorted_rows


class ConfidenceDisplay:
    """The mean of a prediction along a column, and a band that holds a share of the truth.

    Parameters
    ----------
    x : array of n numbers
        Where the predictions are: a column, or the rows' numbers.
    mean, deviation : arrays of n numbers
    truth : array of n numbers or None
    level : float
        The share that the band is to hold.

    Attributes
    ----------
    ax_, figure_
        After `plot`, the axes and the figure drawn on.

    Examples
    --------
    >>> display = ConfidenceDisplay([0.0, 1.0], [0.0, 2.0], [1.0, 1.0], level=0.95)
    >>> display.low.round(2), display.high.round(2)
    (array([-1.96,  0.04]), array([1.96, 3.96]))
    """

    def __init__(
        self, x: Any, mean: Any, deviation: Any, *, truth: Any = None, level: float = 0.9
    ) -> None:
        from scipy.stats import norm

        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        columns = sorted_rows(x, mean, deviation, truth)
        self.x, self.mean, self.deviation, self.truth = columns
        self.level = level
        reach = norm.ppf(0.5 + level / 2) * np.asarray(self.deviation)
        self.low, self.high = self.mean - reach, self.mean + reach

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        column: int = 0,
        level: float = 0.9,
        ax: Any = None,
    ) -> ConfidenceDisplay:
        """Draw what a Gaussian process says about rows, along one of their columns.

        The band is that of observations: the noise of the process, if it has one, is in it.
        """
        mean, deviation = estimator.predict(X, return_std=True)
        deviation = np.sqrt(np.square(deviation) + getattr(estimator, "noise_", 0.0))
        return cls(along(X, column), mean, deviation, truth=y, level=level).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        truth: Any,
        mean: Any,
        deviation: Any,
        *,
        x: Any = None,
        level: float = 0.9,
        ax: Any = None,
    ) -> ConfidenceDisplay:
        """Draw predictions along x, or in the order of the mean."""
        x = np.argsort(np.argsort(mean, kind="stable")) if x is None else x
        return cls(x, mean, deviation, truth=truth, level=level).plot(ax=ax)

    def plot(self, ax: Any = None) -> ConfidenceDisplay:
        """Draw the band, the mean and the truth; return self."""
        ax = axes(ax)
        ax.fill_between(self.x, self.low, self.high, alpha=0.25, lw=0, label=f"{self.level:.0%}")
        ax.plot(self.x, self.mean, label="mean")
        if self.truth is not None:
            ax.plot(self.x, self.truth, ".", markersize=3, alpha=0.5, label="truth")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
