"""QuantileDisplay: quantiles as bands within each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.report.axes import axes
from bochner.report.bands import along, sorted_rows


class QuantileDisplay:
    """Predicted quantiles along a column: pairs of them are bands, a middle one is a line.

    Parameters
    ----------
    x : array of n numbers
    predicted : array (n, number of quantiles)
    quantiles : sequence of floats
    truth : array of n numbers or None

    Attributes
    ----------
    ax_, figure_
        After `plot`, the axes and the figure drawn on.

    Examples
    --------
    >>> display = QuantileDisplay([1.0, 0.0], [[2, 3], [0, 1]], [0.1, 0.9])
    >>> display.predicted
    array([[0., 1.], [2., 3.]])
    """

    def __init__(
        self, x: Any, predicted: Any, quantiles: Sequence[float], *, truth: Any = None
    ) -> None:
        self.quantiles = [float(quantile) for quantile in quantiles]
        self.x, self.predicted, self.truth = sorted_rows(x, predicted, truth)
        if self.predicted.ndim != 2 or self.predicted.shape[1] != len(self.quantiles):
            raise ValueError(
                f"predicted must have a column for each of {len(self.quantiles)} quantiles; got an "
                f"array of shape {self.predicted.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, column: int = 0, ax: Any = None
    ) -> QuantileDisplay:
        """Draw what a `KernelQuantileRegressor` says about rows, along one of their columns."""
        said = estimator.predict(X)
        return cls(along(X, column), said, estimator.quantiles, truth=y).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        truth: Any,
        predicted: Any,
        quantiles: Sequence[float],
        *,
        x: Any = None,
        ax: Any = None,
    ) -> QuantileDisplay:
        """Draw predictions along x, or in the order of their mean."""
        if x is None:
            x = np.argsort(np.argsort(np.mean(predicted, axis=1), kind="stable"))
        return cls(x, predicted, quantiles, truth=truth).plot(ax=ax)

    def plot(self, ax: Any = None) -> QuantileDisplay:
        """Draw bands, lines and the truth; return self."""
        ax = axes(ax)
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
