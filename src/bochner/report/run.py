"""Run: one model on a page: its settings, its way, and what it predicted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    """A fitted model, how it came about and how good it is; or why there is none.

    Made by `Run.of`, `Run.described` or `Run.failed`.

    Parameters
    ----------
    name : str
    predictions : LabelPredictions, NumberPredictions, QuantilePredictions or None
    scores : sequence of Score
        The first one decides which run is the best.
    seconds : float or None
        The time of the training, if it is known.
    peak_memory : int or None
        The most bytes that were taken.
    model, plan, stopped_because : str or None
        The kind of model, its plan in words, and why the fit ended.
    settings : mapping of names to values
        What differs from the defaults.
    facts : mapping of names to values
        What was found by the fit: the kernel, the number of features.
    history : mapping of names to lists
        Losses, rows and seconds after each batch.
    error : str or None
        Why there is no model.

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
        """Let a fitted model predict rows whose target is known."""
        said = predicted(model, X, y, sample_weight)
        return cls.described(model, said, seconds=seconds, name=name, peak_memory=peak_memory)

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
        """Describe a fitted model whose predictions have been made already."""
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
        )

    @classmethod
    def failed(cls, name: str, error: BaseException | str, *, seconds: float | None = None) -> Run:
        """Say why there is no model."""
        return cls(name=name, error=str(error) or type(error).__name__, seconds=seconds)


def predicted(model: Any, X: Any, y: Any, weight: Any = None) -> Predictions:
    """Return what a model says about rows: labels, numbers with deviations, or quantiles."""
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        return LabelPredictions(y, model.predict(X), probabilities, model.classes_, weight)
    if hasattr(model, "quantiles"):
        return QuantilePredictions(y, model.predict(X), model.quantiles, weight)
    if hasattr(model, "noise_"):
        mean, deviation = model.predict(X, return_std=True)
        return NumberPredictions(y, mean, np.sqrt(deviation**2 + model.noise_), weight)
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
    """Return what the fit has found."""
    names = {"kernel_": "kernel", "loss_": "loss", "n_features_used_": "features used"}
    found = {said: getattr(model, name, None) for name, said in names.items()}
    found["passes"] = getattr(model, "n_iter_", None)
    found["scales"] = getattr(model, "tuning_", None)
    return {name: _rounded(_text(value)) for name, value in found.items() if value is not None}


def _rounded(text: str) -> str:
    """Return a text with four digits that count in its numbers."""
    return re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def _text(value: Any) -> str:
    text = f"{value:,}" if type(value) is int else str(value)
    return text if len(text) <= LONGEST_SETTING else f"{text[: LONGEST_SETTING - 1]}…"
