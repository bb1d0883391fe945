"""LabelPredictions: labels, and their probabilities if there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.report.label_pictures import calibration, confusion
from bochner.report.picture import Picture
from bochner.report.predictions import Predictions, column, matrix, weights
from bochner.report.score import Score


@dataclass(frozen=True, eq=False)
class LabelPredictions(Predictions):
    """Predicted labels beside the true ones.

    Parameters
    ----------
    truth, predicted : arrays of n labels
    probabilities : array (n, number of classes) or None
        In the order of `classes`.
    classes : sequence of labels or None
        All labels in order; None means those that occur.
    weight : array of n numbers or None

    Examples
    --------
    >>> said = LabelPredictions(["no", "yes", "yes"], ["no", "yes", "no"])
    >>> [f"{score.name} {score}" for score in said.scores()]
    ['error 0.3333', 'balanced accuracy 0.75']
    """

    task: ClassVar[str] = "classification"

    truth: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: NDArray[Any] | None = None
    classes: Any = None
    weight: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        rows = len(column("truth", self.truth))
        truth = column("truth", self.truth)
        predicted = column("predicted", self.predicted, rows)
        classes = _labels(truth, predicted, self.classes)
        settled: dict[str, Any] = {"truth": truth, "predicted": predicted, "classes": classes}
        if self.probabilities is not None:
            shape = (rows, len(classes))
            settled["probabilities"] = matrix("probabilities", self.probabilities, shape)
        settled["weight"] = weights(self.weight, rows)
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def scores(self) -> tuple[Score, ...]:
        """Return error and balanced accuracy, with probabilities log loss and area under ROC."""
        from sklearn.metrics import recall_score

        error = float(np.average(self.truth != self.predicted, weights=self.weight))
        present = np.unique(self.truth)
        balanced = recall_score(
            self.truth,
            self.predicted,
            labels=present,
            average="macro",
            sample_weight=self.weight,
            zero_division=0.0,
        )
        found = (Score("error", error), Score("balanced accuracy", float(balanced), "higher"))
        return found if self.probabilities is None else (*found, *self._of_probabilities())

    def _of_probabilities(self) -> tuple[Score, ...]:
        from sklearn.metrics import roc_auc_score

        probabilities = self.probabilities
        assert probabilities is not None  # the caller has looked
        places = _places(self.truth, self.classes)
        known = places >= 0
        said = np.where(known, probabilities[np.arange(len(places)), places], 0.0)
        loss = -np.log(np.clip(said, np.finfo(np.float64).eps, 1.0))
        found = (Score("log loss", float(np.average(loss, weights=self.weight))),)
        if len(self.classes) != 2 or len(np.unique(places[known])) != 2 or not known.all():
            return found
        area = roc_auc_score(places, probabilities[:, 1], sample_weight=self.weight)
        return (*found, Score("area under ROC", float(area), "higher"))

    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return the confusion matrix and, with probabilities, their calibration."""
        counts = confusion(self.truth, self.predicted, self.classes, self.weight, name)
        if self.probabilities is None:
            return (counts,)
        right = _places(self.truth, self.classes)
        return (counts, calibration(right, self.probabilities, self.classes, name))


def _labels(truth: NDArray[Any], predicted: NDArray[Any], classes: Any) -> NDArray[Any]:
    if classes is not None:
        return column("classes", classes)
    return np.unique(np.concatenate([truth, predicted]))


def _places(truth: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the classes, -1 for one that is not there."""
    order = np.argsort(classes, kind="stable")
    place = np.clip(np.searchsorted(classes, truth, sorter=order), 0, len(classes) - 1)
    return np.where(classes[order[place]] == truth, order[place], -1)
