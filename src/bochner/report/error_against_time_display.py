"""ErrorAgainstTimeDisplay: a scatter plot of methods by training time and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bochner.report.axes import axes_or_new, plain_numbers
from bochner.report.predictions import LabelPredictions, NumberPredictions
from bochner.report.run import Run


class ErrorAgainstTimeDisplay:
    """A point for each method: training time on x, error on y, area in proportion to memory.

    Parameters
    ----------
    names : sequence of str
    seconds, errors : sequences of numbers
    memory : sequence of int or None, or None
        The peak memory of each method in bytes, None if it is not known.
    error_name : str
        The name of the error, the label of the y axis.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> display = ErrorAgainstTimeDisplay(["dsg", "binning"], [12.0, 3.0], [0.1, 0.08])
    >>> display.front
    ['binning']
    """

    def __init__(
        self,
        names: Sequence[str],
        seconds: Sequence[float],
        errors: Sequence[float],
        *,
        memory: Sequence[int | None] | None = None,
        error_name: str = "error",
    ) -> None:
        if not len(names) == len(seconds) == len(errors):
            raise ValueError(
                "Every method must have a name, a time and an error; got "
                f"{len(names)}, {len(seconds)} and {len(errors)} of them."
            )
        self.names, self.seconds, self.errors = list(names), list(seconds), list(errors)
        self.memory = [None] * len(names) if memory is None else list(memory)
        self.error_name = error_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        seconds: float,
        name: str | None = None,
        ax: Any = None,
    ) -> ErrorAgainstTimeDisplay:
        """Draw one fitted estimator by its first score on these rows; return the display."""
        return cls.from_runs([Run.of(estimator, X, y, seconds=seconds, name=name)]).plot(ax=ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        ax: Any = None,
    ) -> ErrorAgainstTimeDisplay:
        """Fit estimators one after the other, and draw their training times and errors."""
        runs = []
        for name, estimator in estimators.items():
            start = perf_counter()
            estimator.fit(X, y)
            seconds = perf_counter() - start
            runs.append(Run.of(estimator, X_test, y_test, seconds=seconds, name=name))
        return cls.from_runs(runs).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        truth: Any,
        predictions: Mapping[str, Any],
        seconds: Mapping[str, float],
        *,
        ax: Any = None,
    ) -> ErrorAgainstTimeDisplay:
        """Draw methods by the error rate of predicted labels, or the RMSE of predicted numbers."""
        of_numbers = np.asarray(truth).dtype.kind == "f"
        kind: Any = NumberPredictions if of_numbers else LabelPredictions
        scores = [kind(truth, values).scores()[0] for values in predictions.values()]
        display = cls(
            list(predictions),
            [seconds[name] for name in predictions],
            [score.value for score in scores],
            error_name=scores[0].name,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_runs(cls, runs: Sequence[Run]) -> ErrorAgainstTimeDisplay:
        """Return the display of the runs that have a score and a time, without drawing it."""
        known = [
            (run, run.seconds)
            for run in runs
            if run.scores and np.isfinite(run.scores[0].value) and run.seconds is not None
        ]
        return cls(
            [run.name for run, _ in known],
            [seconds for _, seconds in known],
            [run.scores[0].value for run, _ in known],
            memory=[run.peak_memory for run, _ in known],
            error_name=known[0][0].scores[0].name if known else "error",
        )

    @property
    def front(self) -> list[str]:
        """The Pareto front: methods that none beats in both time and error, the fastest first."""
        order, found, least = np.argsort(self.seconds, kind="stable"), [], np.inf
        for place in order:
            if self.errors[place] < least:
                found.append(self.names[place])
                least = self.errors[place]
        return found

    def plot(self, ax: Any = None) -> ErrorAgainstTimeDisplay:
        """Draw the points with their names; return self."""
        ax = axes_or_new(ax)
        front, times = set(self.front), [max(seconds, 1e-3) for seconds in self.seconds]
        for place, name in enumerate(self.names):
            size, alpha = _area(self.memory[place]), 0.8 if name in front else 0.45
            ax.scatter(times[place], self.errors[place], s=size, alpha=alpha)
        self._set_scales(ax)
        ax.set(xlabel="seconds of training", ylabel=self.error_name)
        points = ax.transAxes.inverted().transform(
            ax.transData.transform(np.column_stack([times, self.errors]).reshape(-1, 2))
        )
        for place, name in enumerate(self.names):
            near = np.abs(points[:place] - points[place]) < (0.2, 0.06)
            ax.annotate(
                str(name),
                (times[place], self.errors[place]),
                textcoords="offset points",
                fontweight="bold" if name in front else "normal",
                **_label_position(_area(self.memory[place]), int(near.all(axis=1).sum())),
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_scales(self, ax: Any) -> None:
        ax.margins(x=0.2, y=0.15)
        if self.seconds and max(self.seconds) > 5 * max(min(self.seconds), 1e-3):
            ax.set_xscale("log")
            plain_numbers(ax.xaxis)
        positive = [error for error in self.errors if error > 0]
        if positive and len(positive) == len(self.errors) and max(positive) > 8 * min(positive):
            ax.set_yscale("log")
            plain_numbers(ax.yaxis)


def _area(memory: int | None) -> float:
    """Return the area of a point in proportion to memory: 1 GB is 12 by 12 points."""
    return 64.0 if memory is None else float(np.clip(144 * memory / 1e9, 16, 900))


def _label_position(area: float, neighbours: int) -> dict[str, Any]:
    """Return the position of a label: on the right, or in another corner if others are near."""
    distance = float(np.sqrt(area)) / 2 + 3
    across, up = [(1, 1), (1, -1), (-1, 1), (-1, -1)][neighbours % 4]
    return {
        "xytext": (across * distance, 3 if up > 0 else -3),
        "ha": "left" if across > 0 else "right",
        "va": "bottom" if up > 0 else "top",
    }
