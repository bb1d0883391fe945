"""QuantilePredictions: several quantiles of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.report.number_pictures import coverage, residuals
from bochner.report.picture import Picture
from bochner.report.predictions import Predictions, column, matrix, weights
from bochner.report.score import Score


@dataclass(frozen=True, eq=False)
class QuantilePredictions(Predictions):
    """Predicted quantiles beside the true numbers.

    Parameters
    ----------
    truth : array of n numbers
    predicted : array (n, number of quantiles)
    quantiles : sequence of floats
        Between 0 and 1, in the order of the columns.
    weight : array of n numbers or None

    Examples
    --------
    >>> said = QuantilePredictions([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], [0.1, 0.9])
    >>> [f"{score.name} {score}" for score in said.scores()]
    ['mean pinball loss 0.1', 'coverage off by 0.2']
    """

    task: ClassVar[str] = "regression"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    quantiles: Sequence[float]
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        truth = column("truth", self.truth).astype(np.float64)
        quantiles = np.atleast_1d(np.asarray(self.quantiles, dtype=np.float64))
        predicted = matrix("predicted", self.predicted, (len(truth), len(quantiles)))
        settled: dict[str, Any] = {"truth": truth, "quantiles": quantiles, "predicted": predicted}
        settled["weight"] = weights(self.weight, len(truth))
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def scores(self) -> tuple[Score, ...]:
        """Return the mean pinball loss, and how far the outer quantiles' coverage is off."""
        tau = np.asarray(self.quantiles)
        error = self.truth[:, None] - self.predicted
        loss = np.maximum(tau * error, (tau - 1) * error).mean(axis=1)
        found = (Score("mean pinball loss", float(np.average(loss, weights=self.weight))),)
        if len(tau) < 2:
            return found
        inside = (self.predicted[:, 0] <= self.truth) & (self.truth <= self.predicted[:, -1])
        off = abs(float(np.average(inside, weights=self.weight)) - (tau[-1] - tau[0]))
        return (*found, Score("coverage off by", float(off)))

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the residuals of the middle quantile, and how many rows lie below each."""
        tau = np.asarray(self.quantiles)
        middle = int(np.argmin(np.abs(tau - 0.5)))
        below = np.average(self.truth[:, None] <= self.predicted, axis=0, weights=self.weight)
        left = residuals(self.truth, self.predicted[:, middle], name)
        return (left, coverage(tau, below, "quantiles", name))
