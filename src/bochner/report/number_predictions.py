"""NumberPredictions: numbers, and how far they may be off if that was said."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.report.number_pictures import coverage, residuals
from bochner.report.picture import Picture
from bochner.report.predictions import Predictions, column, weights
from bochner.report.score import Score

LEVELS = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True, eq=False)
class NumberPredictions(Predictions):
    """Predicted numbers beside the true ones.

    Parameters
    ----------
    truth, predicted : arrays of n numbers
    deviation : array of n numbers or None
        The standard deviation of the truth about the prediction, noise included.
    weight : array of n numbers or None

    Examples
    --------
    >>> said = NumberPredictions([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    >>> [f"{score.name} {score}" for score in said.scores()]
    ['RMSE 0.5774', 'mean absolute error 0.3333', 'R² 0.5']
    """

    task: ClassVar[str] = "regression"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    deviation: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        truth = column("truth", self.truth).astype(np.float64)
        predicted = column("predicted", self.predicted, len(truth)).astype(np.float64)
        deviation = self.deviation
        if deviation is not None:
            deviation = column("deviation", deviation, len(truth)).astype(np.float64)
        settled = {"truth": truth, "predicted": predicted, "deviation": deviation}
        settled["weight"] = weights(self.weight, len(truth))
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def scores(self) -> tuple[Score, ...]:
        """Return RMSE, mean absolute error and R², with deviations likelihood and coverage."""
        error = self.truth - self.predicted
        squared = self._mean(error**2)
        spread = self._mean((self.truth - self._mean(self.truth)) ** 2)
        found = (
            Score("RMSE", math.sqrt(squared)),
            Score("mean absolute error", self._mean(np.abs(error))),
            Score("R²", 1 - squared / spread if spread > 0 else float("nan"), "higher"),
        )
        return found if self.deviation is None else (*found, *self._of_deviations(error))

    def _of_deviations(self, error: NDArray[np.float64]) -> tuple[Score, ...]:
        assert self.deviation is not None  # the caller has looked
        deviation = np.maximum(self.deviation, np.finfo(np.float64).tiny)
        surprise = 0.5 * (error / deviation) ** 2 + np.log(deviation) + 0.5 * math.log(2 * math.pi)
        return (Score("negative log likelihood", self._mean(surprise)),)

    def _mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weight))

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the residuals and, with deviations, how many rows intervals hold."""
        left = residuals(self.truth, self.predicted, name)
        if self.deviation is None:
            return (left,)
        return (left, coverage(LEVELS, self._held(), "central intervals", name))

    def _held(self) -> NDArray[np.float64]:
        """Return the share of rows within the central interval of each level."""
        from scipy.stats import norm

        assert self.deviation is not None  # the caller has looked
        off = np.abs(self.truth - self.predicted) / np.maximum(self.deviation, 1e-300)
        return np.array([self._mean(off <= norm.ppf(0.5 + level / 2)) for level in LEVELS])
