"""ErrorAgainstTimeDisplay: methods as points, by what they cost and how far they are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bochner.report.axes import axes, plain_numbers


class ErrorAgainstTimeDisplay:
    """A point for each method: seconds to the right, error upwards, area by memory.

    Parameters
    ----------
    names : sequence of str
    seconds, errors : sequences of numbers
    memory : sequence of bytes, None in it or instead of it where it is not known
    error_name : str
        What the errors are.

    Attributes
    ----------
    ax_, figure_
        After `plot`, the axes and the figure drawn on.

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
        """Draw one fitted estimator by its first score on rows; return the display."""
        from bochner.report.run import Run

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
        """Fit estimators one after the other, and draw what each took and came to."""
        from bochner.report.run import Run

        runs = []
        for name, estimator in estimators.items():
            began = perf_counter()
            estimator.fit(X, y)
            seconds = perf_counter() - began
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
        """Draw methods by their predictions: share of wrong labels, or RMSE of numbers."""
        from bochner.report.predictions import LabelPredictions, NumberPredictions

        of_numbers = np.asarray(truth).dtype.kind == "f"
        kind: Any = NumberPredictions if of_numbers else LabelPredictions
        scores = [kind(truth, said).scores()[0] for said in predictions.values()]
        display = cls(
            list(predictions),
            [seconds[name] for name in predictions],
            [score.value for score in scores],
            error_name=scores[0].name,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_runs(cls, runs: Sequence[Any]) -> ErrorAgainstTimeDisplay:
        """Return the display of runs of a report that have a score and a time, not drawn yet."""
        known = [
            run
            for run in runs
            if run.scores and np.isfinite(run.scores[0].value) and run.seconds is not None
        ]
        return cls(
            [run.name for run in known],
            [run.seconds for run in known],
            [run.scores[0].value for run in known],
            memory=[run.peak_memory for run in known],
            error_name=known[0].scores[0].name if known else "error",
        )

    @property
    def front(self) -> list[str]:
        """The methods that no other one beats in both time and error, the quickest first."""
        order, found, least = np.argsort(self.seconds, kind="stable"), [], np.inf
        for place in order:
            if self.errors[place] < least:
                found.append(self.names[place])
                least = self.errors[place]
        return found

    def plot(self, ax: Any = None) -> ErrorAgainstTimeDisplay:
        """Draw the points with their names; return self."""
        ax = axes(ax)
        front, times = set(self.front), [max(seconds, 1e-3) for seconds in self.seconds]
        for place, name in enumerate(self.names):
            size, alpha = _area(self.memory[place]), 0.8 if name in front else 0.45
            ax.scatter(times[place], self.errors[place], s=size, alpha=alpha)
        self._scales(ax)
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
                **_beside(_area(self.memory[place]), int(near.all(axis=1).sum())),
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _scales(self, ax: Any) -> None:
        ax.margins(x=0.2, y=0.15)
        if self.seconds and max(self.seconds) > 5 * max(min(self.seconds), 1e-3):
            ax.set_xscale("log")
            plain_numbers(ax.xaxis)
        positive = [error for error in self.errors if error > 0]
        if positive and len(positive) == len(self.errors) and max(positive) > 8 * min(positive):
            ax.set_yscale("log")
            plain_numbers(ax.yaxis)


def _area(memory: int | None) -> float:
    """Return the area of a point, in proportion to memory: 1 GB is a point of 12 by 12."""
    return 64.0 if memory is None else float(np.clip(144 * memory / 1e9, 16, 900))


def _beside(area: float, neighbours: int) -> dict[str, Any]:
    """Return where a name stands: right, or where earlier names leave room."""
    reach = float(np.sqrt(area)) / 2 + 3
    across, up = [(1, 1), (1, -1), (-1, 1), (-1, -1)][neighbours % 4]
    return {
        "xytext": (across * reach, 3 if up > 0 else -3),
        "ha": "left" if across > 0 else "right",
        "va": "bottom" if up > 0 else "top",
    }
