"""Predicted labels, numbers and quantiles with the true ones, and their scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.report.pictures import Picture, calibration, confusion, coverage, residuals


@dataclass(frozen=True)
class Score:
    """A named score, and whether lower or higher is better.

    Parameters
    ----------
    name : str
    value : float
    better : "lower" or "higher"

    Examples
    --------
    >>> Score("accuracy", 0.9, "higher").beats(Score("accuracy", 0.8, "higher"))
    True
    """

    name: str
    value: float
    better: Literal["lower", "higher"] = "lower"

    @property
    def rank(self) -> float:
        """A number that is lower for a better score; infinite for NaN."""
        if math.isnan(self.value):
            return math.inf
        return self.value if self.better == "lower" else -self.value

    def beats(self, other: Score) -> bool:
        """Whether this score is better than another one of the same name."""
        return self.rank < other.rank

    def __str__(self) -> str:
        return f"{self.value:.4g}"


class Predictions(ABC):
    """True and predicted values of the same rows; the subclasses score and draw them."""

    task: ClassVar[str]
    truth: NDArray[Any]
    weight: NDArray[Any] | None

    @abstractmethod
    def scores(self) -> tuple[Score, ...]:
        """Return the scores; runs are ranked by the first one."""

    @abstractmethod
    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the pictures of the predictions; `name` must be unique on the page."""

    def __len__(self) -> int:
        return len(self.truth)

    def _set(self, **values: Any) -> None:
        """Replace the fields of a frozen record by checked ones."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weight))


def column(name: str, values: Any, rows: int | None = None) -> NDArray[Any]:
    """Return values as an array with one entry per row."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or (rows is not None and len(array) != rows):
        wanted = "one value for each row" if rows is None else f"{rows:,} values, one for each row"
        raise ValueError(f"{name} must be {wanted}; got an array of shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} has no rows: there is nothing to report on.")
    return array


def numbers(name: str, values: Any, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """Return numbers with one or several entries per row, in the given shape."""
    array = np.asarray(values)
    if shape is not None and len(shape) == 2:
        return array_of_shape(name, array, shape)
    if shape is None and array.ndim == 2 and array.shape[1] > 1 and array.size > 0:
        return array.astype(np.float64)
    return column(name, array, None if shape is None else shape[0]).astype(np.float64)


def array_of_shape(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return values as an array of the given shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}; got {array.shape}.")
    return array


def weights(values: Any, rows: int) -> NDArray[np.float64] | None:
    """Return the weights of rows, or None."""
    return None if values is None else column("weight", values, rows).astype(np.float64)


@dataclass(frozen=True, eq=False)
class LabelPredictions(Predictions):
    """Predicted and true labels.

    Parameters
    ----------
    truth, predicted : arrays of n labels
    probabilities : array (n, number of classes) or None
        In the order of `classes`.
    classes : sequence of labels or None
        All labels in order; None takes the labels that occur, sorted.
    weight : array of n numbers or None

    Examples
    --------
    >>> found = LabelPredictions(["no", "yes", "yes"], ["no", "yes", "no"])
    >>> [f"{score.name} {score}" for score in found.scores()]
    ['error 0.3333', 'balanced accuracy 0.75']
    """

    task: ClassVar[str] = "classification"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: NDArray[Any] | None = None
    classes: Any = None
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        truth = column("truth", self.truth)
        predicted = column("predicted", self.predicted, len(truth))
        if self.classes is None:
            classes = np.unique(np.concatenate([truth, predicted]))
        else:
            classes = column("classes", self.classes)
        if self.probabilities is not None:
            shape = (len(truth), len(classes))
            self._set(probabilities=array_of_shape("probabilities", self.probabilities, shape))
        weight = weights(self.weight, len(truth))
        self._set(truth=truth, predicted=predicted, classes=classes, weight=weight)

    def scores(self) -> tuple[Score, ...]:
        """Return error and balanced accuracy; with probabilities also log loss and ROC AUC."""
        from sklearn.metrics import recall_score

        error = self._mean(self.truth != self.predicted)
        balanced = recall_score(
            self.truth, self.predicted, labels=np.unique(self.truth), average="macro",
            sample_weight=self.weight, zero_division=0.0,
        )  # fmt: skip
        found = (Score("error", error), Score("balanced accuracy", float(balanced), "higher"))
        return found if self.probabilities is None else (*found, *self._of_probabilities())

    def _of_probabilities(self) -> tuple[Score, ...]:
        from sklearn.metrics import roc_auc_score

        probabilities = self.probabilities
        assert probabilities is not None  # checked by the caller
        places = _places(self.truth, self.classes)
        known = places >= 0
        likelihood = np.where(known, probabilities[np.arange(len(places)), places], 0.0)
        loss = -np.log(np.clip(likelihood, np.finfo(np.float64).eps, 1.0))
        found = (Score("log loss", self._mean(loss)),)
        if len(self.classes) != 2 or len(np.unique(places[known])) != 2 or not known.all():
            return found
        area = roc_auc_score(places, probabilities[:, 1], sample_weight=self.weight)
        return (*found, Score("area under ROC", float(area), "higher"))

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the confusion matrix; with probabilities also the calibration curve."""
        counts = confusion(self.truth, self.predicted, self.classes, self.weight, name)
        if self.probabilities is None:
            return (counts,)
        right = _places(self.truth, self.classes)
        return (counts, calibration(right, self.probabilities, self.classes, name))


def _places(truth: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each label in the classes, -1 for an unknown label."""
    order = np.argsort(classes, kind="stable")
    place = np.clip(np.searchsorted(classes, truth, sorter=order), 0, len(classes) - 1)
    return np.where(classes[order[place]] == truth, order[place], -1)


def mean_scores(predictions: Sequence[Predictions]) -> tuple[Score, ...]:
    """Return the means of the scores of several targets."""
    several = zip(*(one.scores() for one in predictions), strict=True)
    return tuple(
        replace(scores[0], value=float(np.mean([score.value for score in scores])))
        for scores in several
    )


LEVELS = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True, eq=False)
class NumberPredictions(Predictions):
    """Predicted and true numbers, of one or several targets.

    The scores of several targets are means over the targets, as in scikit-learn.

    Parameters
    ----------
    truth, predicted : arrays of n numbers, or (n, targets)
    deviation : array of n numbers, or (n, targets), or None
        The standard deviation of the truth about the prediction, noise included.
    weight : array of n numbers or None

    Examples
    --------
    >>> found = NumberPredictions([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    >>> [f"{score.name} {score}" for score in found.scores()]
    ['RMSE 0.5774', 'mean absolute error 0.3333', 'R² 0.5']
    """

    task: ClassVar[str] = "regression"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    deviation: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        truth = numbers("truth", self.truth)
        predicted = numbers("predicted", self.predicted, truth.shape)
        deviation = self.deviation
        if deviation is not None:
            if truth.ndim == 2 and np.ndim(deviation) == 1:
                deviation = np.repeat(np.asarray(deviation)[:, None], truth.shape[1], axis=1)
            deviation = numbers("deviation", deviation, truth.shape)
        weight = weights(self.weight, len(truth))
        self._set(truth=truth, predicted=predicted, deviation=deviation, weight=weight)

    def by_target(self) -> tuple[NumberPredictions, ...]:
        """Return the predictions of each target."""
        if self.truth.ndim == 1:
            return (self,)
        truth, predicted = self.truth.T, self.predicted.T
        deviations = [None] * len(truth) if self.deviation is None else list(self.deviation.T)
        return tuple(
            NumberPredictions(y, f, width, self.weight)
            for y, f, width in zip(truth, predicted, deviations, strict=True)
        )

    def scores(self) -> tuple[Score, ...]:
        """Return RMSE, mean absolute error and R²; with deviations also the log likelihood."""
        if self.truth.ndim == 2:
            return mean_scores(self.by_target())
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
        assert self.deviation is not None  # checked by the caller
        deviation = np.maximum(self.deviation, np.finfo(np.float64).tiny)
        surprise = 0.5 * (error / deviation) ** 2 + np.log(deviation) + 0.5 * math.log(2 * math.pi)
        return (Score("negative log likelihood", self._mean(surprise)),)

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the residuals; with deviations also the coverage of intervals."""
        picture = residuals(self.truth.ravel(), self.predicted.ravel(), name)
        if self.deviation is None:
            return (picture,)
        covered = np.mean([one._covered() for one in self.by_target()], axis=0)
        return (picture, coverage(LEVELS, covered, "central intervals", name))

    def _covered(self) -> NDArray[np.float64]:
        """Return the share of rows in the central interval of each level, for one target."""
        from scipy.stats import norm

        assert self.deviation is not None  # checked by the caller
        error = np.abs(self.truth - self.predicted) / np.maximum(self.deviation, 1e-300)
        return np.array([self._mean(error <= norm.ppf(0.5 + level / 2)) for level in LEVELS])


@dataclass(frozen=True, eq=False)
class QuantilePredictions(Predictions):
    """Predicted quantiles and true numbers, of one or several targets.

    The scores of several targets are means over the targets.

    Parameters
    ----------
    truth : array of n numbers, or (n, targets)
    predicted : array (n, number of quantiles), or (n, targets, number of quantiles)
    quantiles : sequence of floats, or a number for `predicted` of n numbers
        Between 0 and 1, in the order of the columns.
    weight : array of n numbers or None

    Examples
    --------
    >>> found = QuantilePredictions([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], [0.1, 0.9])
    >>> [f"{score.name} {score}" for score in found.scores()]
    ['mean pinball loss 0.1', 'coverage off by 0.2']
    """

    task: ClassVar[str] = "regression"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    quantiles: Sequence[float] | float
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        truth = numbers("truth", self.truth)
        quantiles = np.atleast_1d(np.asarray(self.quantiles, dtype=np.float64))
        predicted = np.asarray(self.predicted, np.float64)
        if np.ndim(self.quantiles) == 0 and predicted.ndim == 1:
            predicted = predicted[:, None]
        predicted = array_of_shape("predicted", predicted, (*truth.shape, len(quantiles)))
        weight = weights(self.weight, len(truth))
        self._set(truth=truth, quantiles=quantiles, predicted=predicted, weight=weight)

    def by_target(self) -> tuple[QuantilePredictions, ...]:
        """Return the predictions of each target."""
        if self.truth.ndim == 1:
            return (self,)
        return tuple(
            QuantilePredictions(y, self.predicted[:, k], self.quantiles, self.weight)
            for k, y in enumerate(self.truth.T)
        )

    def scores(self) -> tuple[Score, ...]:
        """Return the mean pinball loss, and the error of the coverage of the outer quantiles."""
        if self.truth.ndim == 2:
            return mean_scores(self.by_target())
        tau = np.asarray(self.quantiles)
        error = self.truth[:, None] - self.predicted
        loss = np.maximum(tau * error, (tau - 1) * error).mean(axis=1)
        found = (Score("mean pinball loss", self._mean(loss)),)
        if len(tau) < 2:
            return found
        inside = (self.predicted[:, 0] <= self.truth) & (self.truth <= self.predicted[:, -1])
        off = abs(self._mean(inside) - (tau[-1] - tau[0]))
        return (*found, Score("coverage off by", float(off)))

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the residuals of the middle quantile, and the coverage of all quantiles."""
        tau = np.asarray(self.quantiles)
        middle = int(np.argmin(np.abs(tau - 0.5)))
        inside = self.truth[..., None] <= self.predicted
        below = np.average(inside, axis=0, weights=self.weight).reshape(-1, len(tau)).mean(axis=0)
        picture = residuals(self.truth.ravel(), self.predicted[..., middle].ravel(), name)
        return (picture, coverage(tau, below, "quantiles", name))
