"""Displays of prediction bands: a mean with an interval, and nested quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.estimators import KernelGaussianProcess
from bochner.report.axes import axes_or_new
from bochner.report.data_summary import column_values
from bochner.report.pictures import evenly_spaced


def sorted_rows(x: Any, *columns: Any) -> tuple[Any, ...]:
    """Return x and columns sorted by x, thinned to as many rows as a picture can show."""
    x = np.asarray(x, dtype=np.float64)
    order = np.argsort(x, kind="stable")[evenly_spaced(len(x))]
    chosen = [None if c is None else np.asarray(c, dtype=np.float64)[order] for c in columns]
    return (x[order], *chosen)


class ConfidenceDisplay:
    """The mean of predictions along a column, with an interval around it.

    Parameters
    ----------
    x : array of n numbers
        The horizontal position of each row: a column, or the number of the row.
    mean, deviation : arrays of n numbers
    truth : array of n numbers or None
    level : float
        The share of the truth that the interval is meant to contain.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

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
        half = norm.ppf(0.5 + level / 2) * np.asarray(self.deviation)
        self.low, self.high = self.mean - half, self.mean + half

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
        """Draw the predictions of a Gaussian process along one of the columns.

        The interval is that of observations: it includes the noise. Estimators of scikit-learn,
        whose kernel holds the noise, can be drawn, too.
        """
        request = {"noise": True} if isinstance(estimator, KernelGaussianProcess) else {}
        mean, deviation = estimator.predict(X, return_std=True, **request)
        return cls(column_values(X, column), mean, deviation, truth=y, level=level).plot(ax=ax)

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
        """Draw predictions along x, or sorted by their mean."""
        x = np.argsort(np.argsort(mean, kind="stable")) if x is None else x
        return cls(x, mean, deviation, truth=truth, level=level).plot(ax=ax)

    def plot(self, ax: Any = None) -> ConfidenceDisplay:
        """Draw the interval, the mean and the truth; return self."""
        ax = axes_or_new(ax)
        ax.fill_between(self.x, self.low, self.high, alpha=0.25, lw=0, label=f"{self.level:.0%}")
        ax.plot(self.x, self.mean, label="mean")
        if self.truth is not None:
            ax.plot(self.x, self.truth, ".", markersize=3, alpha=0.5, label="truth")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class QuantileDisplay:
    """Predicted quantiles along a column: pairs are bands, the middle one is a line.

    Parameters
    ----------
    x : array of n numbers
    predicted : array (n, number of quantiles)
    quantiles : sequence of floats, or a number for `predicted` of n numbers
    truth : array of n numbers or None

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> display = QuantileDisplay([1.0, 0.0], [[2, 3], [0, 1]], [0.1, 0.9])
    >>> display.predicted
    array([[0., 1.], [2., 3.]])
    """

    def __init__(
        self, x: Any, predicted: Any, quantiles: Sequence[float] | float, *, truth: Any = None
    ) -> None:
        single = np.ndim(quantiles) == 0
        self.quantiles = np.atleast_1d(np.asarray(quantiles, np.float64)).tolist()
        self.x, self.predicted, self.truth = sorted_rows(x, predicted, truth)
        self.predicted = self.predicted[:, None] if single else self.predicted
        if self.predicted.ndim != 2 or self.predicted.shape[1] != len(self.quantiles):
            raise ValueError(
                f"predicted must have a column for each of {len(self.quantiles)} quantiles; got an "
                f"array of shape {self.predicted.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, column: int = 0, ax: Any = None
    ) -> QuantileDisplay:
        """Draw the predictions of a `KernelQuantileRegressor` along one of the columns."""
        predicted = estimator.predict(X)
        return cls(column_values(X, column), predicted, estimator.quantiles, truth=y).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        truth: Any,
        predicted: Any,
        quantiles: Sequence[float] | float,
        *,
        x: Any = None,
        ax: Any = None,
    ) -> QuantileDisplay:
        """Draw predictions along x, or in the order of their mean."""
        if x is None:
            x = np.argsort(
                np.argsort(
                    np.mean(np.reshape(predicted, (len(predicted), -1)), axis=1), kind="stable"
                )
            )
        return cls(x, predicted, quantiles, truth=truth).plot(ax=ax)

    def plot(self, ax: Any = None) -> QuantileDisplay:
        """Draw bands, lines and the truth; return self."""
        ax = axes_or_new(ax)
        count = len(self.quantiles)
        for low in range(count // 2):
            high = count - 1 - low
            label = f"{self.quantiles[low]:g} to {self.quantiles[high]:g}"
            edges = (self.predicted[:, low], self.predicted[:, high])
            ax.fill_between(self.x, *edges, alpha=0.25, lw=0, color="C0", label=label)
        if count % 2:
            middle = count // 2
            label = f"{self.quantiles[middle]:g}"
            ax.plot(self.x, self.predicted[:, middle], color="C0", label=label)
        if self.truth is not None:
            ax.plot(self.x, self.truth, ".", markersize=3, alpha=0.5, color="C1", label="truth")
        ax.legend(title="quantiles")
        self.ax_, self.figure_ = ax, ax.figure
        return self
