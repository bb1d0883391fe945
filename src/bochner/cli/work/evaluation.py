"""Evaluation: the predictions and scores of a model on rows with known targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
)
from bochner.data import Batch, DataSource, as_source
from bochner.report import LabelPredictions, NumberPredictions, QuantilePredictions

READ_ROWS = 65_536  # at a time
MOST_PROBABILITIES = 20_000_000  # stored for calibration and the log loss


@dataclass(frozen=True)
class EvaluationResult:
    """Predictions (a class of `bochner.report`; None for novelty) and scores by name."""

    predictions: Any
    scores: dict[str, float]
    rows: int


def evaluate_model(
    model: Any, source: DataSource, targets: tuple[str, ...] = ()
) -> EvaluationResult:
    """Return predictions and scores on a source with targets.

    With the names of several `targets` there are scores of each beside their means.
    """
    if isinstance(model, KernelNoveltyDetector):
        return _novelty(model, source)
    parts = [_predicted(model, batch) for batch in source.batches(READ_ROWS)]
    if not parts:
        raise ValueError("There are no rows to test the model on.")
    columns = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    predictions = _kind(model, columns)
    scores = {score.name: float(score.value) for score in predictions.scores()}
    if len(targets) > 1 and isinstance(predictions, NumberPredictions | QuantilePredictions):
        for name, one in zip(targets, predictions.by_target(), strict=True):
            scores |= {f"{score.name} of {name}": score.value for score in one.scores()}
    return EvaluationResult(predictions, scores, len(columns["truth"]))


def _predicted(model: Any, batch: Batch) -> dict[str, Any]:
    if batch.y is None:
        raise ValueError(
            "These rows have no target to compare with. Name it by --target, or use `predict`."
        )
    rows = as_source(batch.X)
    found = {"truth": batch.y, "weight": batch.weight}
    if isinstance(model, KernelGaussianProcess):
        mean, deviation = model.predict(rows, return_std=True, noise=True)
        return found | {"predicted": mean, "deviation": deviation}
    found["predicted"] = model.predict(rows)
    if isinstance(model, KernelClassifier) and hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(rows).astype(np.float32)
    return found


def _kind(model: Any, columns: dict[str, Any]) -> Any:
    truth, predicted, weight = (columns[name] for name in ("truth", "predicted", "weight"))
    if isinstance(model, KernelClassifier):
        probabilities = columns.get("probabilities")
        if probabilities is not None and probabilities.size > MOST_PROBABILITIES:
            probabilities = None
        return LabelPredictions(truth, predicted, probabilities, model.classes_, weight)
    if isinstance(model, KernelQuantileRegressor):
        predicted = predicted.reshape(*truth.shape, -1)
        return QuantilePredictions(
            truth, predicted, np.atleast_1d(model.quantiles).tolist(), weight
        )
    return NumberPredictions(truth, predicted, columns.get("deviation"), weight)


def _novelty(model: Any, source: DataSource) -> EvaluationResult:
    """Return the share of rows outside and, with a binary target, the area under the ROC curve.

    Novel is the rarer value of the target, or -1 if the values are -1 and 1.
    """
    from sklearn.metrics import roc_auc_score

    parts = [(model.decision_function(as_source(b.X)), b.y) for b in source.batches(READ_ROWS)]
    decision = np.concatenate([part[0] for part in parts])
    scores = {"share outside": float(np.mean(decision < 0))}
    truth = _joined([part[1] for part in parts])
    if truth is not None:
        values, counts = np.unique(truth, return_counts=True)
        if len(values) != 2:
            raise ValueError(
                "To test a novelty detector, the target must have two values, novel and not; got "
                f"{len(values)}."
            )
        novel = values[0] if values.tolist() == [-1, 1] else values[counts.argmin()]
        scores["area under the curve"] = float(roc_auc_score(truth == novel, -decision))
    return EvaluationResult(None, scores, len(decision))


def _joined(parts: list[NDArray[Any] | None]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)  # type: ignore[arg-type]
