"""Run: one model in a report, with its settings, training and predictions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.predictions import (
    LabelPredictions,
    NumberPredictions,
    Predictions,
    QuantilePredictions,
    Score,
)

LONGEST_SETTING = 200
NOT_SETTINGS = {"callbacks", "verbose"}


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with its training and its scores; or the reason why the fit failed.

    Use `Run.of`, `Run.described` or `Run.failed` to make one.

    Parameters
    ----------
    name : str
    predictions : LabelPredictions, NumberPredictions, QuantilePredictions or None
    scores : sequence of Score
        Runs are ranked by the first one.
    seconds : float or None
        The training time, if it is known.
    peak_memory : int or None
        The peak memory in bytes.
    model, plan, stopped_because : str or None
        The class of the model, its plan in words, and why the fit ended.
    settings : mapping of names to values
        The parameters that differ from their defaults.
    facts : mapping of names to values
        Results of the fit, such as the kernel and the number of features.
    history : mapping of names to lists
        Losses, rows and seconds after each batch.
    error : str or None
        Why the fit failed.
    importances : array of n_columns numbers or None
        How much each column contributes to the predictions (`feature_importances_`).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = KernelRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> run = Run.of(model, X, np.sin(6 * X[:, 0]), name="exact", seconds=0.1)
    >>> run.scores[0].name, run.settings
    ('RMSE', {'random_state': '0'})
    """

    name: str
    predictions: Predictions | None = None
    scores: Sequence[Score] = ()
    seconds: float | None = None
    peak_memory: int | None = None
    model: str | None = None
    plan: str | None = None
    stopped_because: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    history: Mapping[str, Sequence[float | int | None]] = field(default_factory=dict)
    error: str | None = None
    importances: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        seconds: float | None,
        name: str | None = None,
        peak_memory: int | None = None,
        sample_weight: Any = None,
    ) -> Run:
        """Evaluate a fitted model on rows whose targets are known."""
        predictions = predict(model, X, y, sample_weight)
        return cls.described(
            model, predictions, seconds=seconds, name=name, peak_memory=peak_memory
        )

    @classmethod
    def described(
        cls,
        model: Any,
        predictions: Predictions | None,
        *,
        seconds: float | None,
        name: str | None = None,
        peak_memory: int | None = None,
        scores: Sequence[Score] | None = None,
    ) -> Run:
        """Describe a fitted model whose predictions are given."""
        if scores is None:
            scores = () if predictions is None else predictions.scores()
        plan = getattr(model, "plan_", None)
        return cls(
            name=type(model).__name__ if name is None else name,
            predictions=predictions,
            scores=tuple(scores),
            seconds=seconds,
            peak_memory=peak_memory,
            model=type(model).__name__,
            plan=None if plan is None else str(plan),
            stopped_because=getattr(model, "stopped_because_", None),
            settings=settings_of(model),
            facts=facts_of(model),
            history=getattr(model, "history_", {}),
            importances=getattr(model, "feature_importances_", None),
        )

    @classmethod
    def failed(cls, name: str, error: BaseException | str, *, seconds: float | None = None) -> Run:
        """Describe a fit that failed."""
        return cls(name=name, error=str(error) or type(error).__name__, seconds=seconds)


def predict(model: Any, X: Any, y: Any, weight: Any = None) -> Predictions:
    """Return the predictions of a model: labels, numbers with deviations, or quantiles."""
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        return LabelPredictions(y, model.predict(X), probabilities, model.classes_, weight)
    if hasattr(model, "quantiles"):
        return QuantilePredictions(y, model.predict(X), model.quantiles, weight)
    if hasattr(model, "noise_"):
        mean, deviation = model.predict(X, return_std=True, noise=True)
        return NumberPredictions(y, mean, deviation, weight)
    return NumberPredictions(y, model.predict(X), None, weight)


def settings_of(model: Any) -> dict[str, str]:
    """Return the parameters that differ from their defaults."""
    defaults = inspect.signature(type(model).__init__).parameters
    return {
        name: _text(value)
        for name, value in model.get_params(deep=False).items()
        if name not in NOT_SETTINGS
        and not (name in defaults and _text(defaults[name].default) == _text(value))
    }


def facts_of(model: Any) -> dict[str, str]:
    """Return results of the fit as text."""
    names = {"kernel_": "kernel", "loss_": "loss", "n_features_used_": "features used"}
    found = {label: getattr(model, name, None) for name, label in names.items()}
    found["passes"] = getattr(model, "n_iter_", None)
    found["scales"] = getattr(model, "tuning_", None)
    return {name: _rounded(_text(value)) for name, value in found.items() if value is not None}


def _rounded(text: str) -> str:
    """Return a text with its numbers rounded to four significant digits."""
    return re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def _text(value: Any) -> str:
    text = f"{value:,}" if type(value) is int else str(value)
    return text if len(text) <= LONGEST_SETTING else f"{text[: LONGEST_SETTING - 1]}…"
