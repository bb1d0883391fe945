"""Displays of fits: learning curves, error and time, relevant columns, numbers of iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.report.axes import axes_or_new, plain_numbers
from bochner.report.pictures import evenly_spaced
from bochner.report.predictions import LabelPredictions, NumberPredictions
from bochner.report.run import Run
from bochner.spectra.iterations import IterationBound

MOST_POINTS = 240  # of a learning curve
Quantity = Literal["seconds", "rows", "step", "pass_"]
LABELS = {"seconds": "seconds", "rows": "rows seen", "step": "steps", "pass_": "passes"}
MOST_LINES = 10  # of iteration numbers, one for each target
LEAST_ITERATIONS, HEADROOM = 0.5, 20.0  # the lower end of the axis; room for the legend on top
PLAIN, PRECONDITIONED = "#c44e52", "#2a6fbb"
MOST_BARS = 20  # of relevant columns


class HistoryDisplay:
    """The loss on training rows and on held-out rows during a fit; needs matplotlib.

    Parameters
    ----------
    histories : mapping of names to histories
        A history is the attribute `history_` of an estimator.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> history = {"seconds": [0.1, 0.2], "loss": [0.5, 0.0], "held_out_loss": [None, 0.1]}
    >>> display = HistoryDisplay({"model": history})
    >>> display.curve("model", "held_out_loss")
    (array([0.2]), array([0.1]))
    """

    def __init__(self, histories: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        self.histories = histories

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        name: str | None = None,
        against: Quantity = "seconds",
        ax: Any = None,
    ) -> HistoryDisplay:
        """Draw the history of a fitted estimator; return the display."""
        name = type(estimator).__name__ if name is None else name
        history = getattr(estimator, "history_", None)
        if history is None:
            raise ValueError(f"{name} has no history_. Fit it first.")
        return cls({name: history}).plot(ax=ax, against=against)

    @classmethod
    def from_predictions(
        cls,
        losses: Sequence[float],
        *,
        held_out_losses: Sequence[float | None] | None = None,
        seconds: Sequence[float] | None = None,
        name: str = "model",
        ax: Any = None,
    ) -> HistoryDisplay:
        """Draw losses that you give, against seconds, or against steps without them."""
        held_out = [None] * len(losses) if held_out_losses is None else held_out_losses
        history = {"step": range(1, len(losses) + 1), "loss": losses, "held_out_loss": held_out}
        if seconds is None:
            return cls({name: history}).plot(ax=ax, against="step")
        return cls({name: {**history, "seconds": seconds}}).plot(ax=ax)

    def curve(
        self, name: str, loss: str, against: Quantity = "seconds"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x and y of a curve, without the points where the loss is not known."""
        history = self.histories[name]
        y = np.array([np.nan if v is None else v for v in history.get(loss, ())], dtype=float)
        x = np.asarray(history.get(against, ()), dtype=float)
        x = _cumulative(x) if against == "seconds" else x
        known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        known = known[_first_known(y[known]) :]
        if loss == "held_out_loss":  # repeated until the next evaluation
            known = known[np.diff(y[known], prepend=np.nan) != 0]
        known = known[evenly_spaced(len(known), MOST_POINTS)]
        return x[known], y[known]

    def plot(self, ax: Any = None, against: Quantity = "seconds") -> HistoryDisplay:
        """Draw the curves, that of training rows as a thin line; return self."""
        ax = axes_or_new(ax)
        losses: list[float] = []
        for name in self.histories:
            losses += self._draw(ax, name, against)
        _set_scale(ax, losses)
        ax.set(xlabel=LABELS[against], ylabel="loss")
        if losses:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, name: str, against: Quantity) -> list[float]:
        x, losses = self.curve(name, "loss", against)
        x_held_out, held_out = self.curve(name, "held_out_loss", against)
        label, colour = _label(name), None
        if held_out.size:
            (line,) = ax.plot(x_held_out, held_out, "o-", markersize=3, label=f"{label}, held out")
            colour = line.get_color()
        if losses.size:
            thin = {"linewidth": 0.9, "alpha": 0.6} if held_out.size else {"marker": "."}
            ax.plot(x, losses, color=colour, label=f"{label}, training", **thin)
        return [*losses, *held_out]


def _cumulative(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return seconds that never decrease: a last pass and `partial_fit` count from 0 again."""
    restart = np.where(
        np.diff(seconds, prepend=0.0) < 0, np.concatenate([[0.0], seconds[:-1]]), 0.0
    )
    return np.asarray(seconds + np.cumsum(restart))


def _first_known(losses: NDArray[np.float64]) -> int:
    """Return the index of the first loss: some solvers record 0 until the first pass ends."""
    positive = np.flatnonzero(losses > 0)
    return int(positive[0]) if positive.size else 0


def _set_scale(ax: Any, losses: Sequence[float]) -> None:
    """Set a logarithmic scale, one that is linear near 0 if a loss is exactly 0."""
    positive = [loss for loss in losses if loss > 0]
    if not positive or min(losses) < 0 or max(positive) < 3 * min(losses):
        return
    if min(losses) > 0:
        ax.set_yscale("log")
    else:
        ax.set_yscale("symlog", linthresh=min(positive))
        ax.set_ylim(bottom=-0.3 * min(positive))
    plain_numbers(ax.yaxis)


def _label(name: str) -> str:
    return f"\u200b{name}" if name.startswith("_") else name  # matplotlib hides "_name"


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


class IterationBoundDisplay:
    """The iterations along each eigenvector, one line for each target; needs matplotlib.

    Parameters
    ----------
    bound : IterationBound

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> bound = IterationBound(np.array([1.0, 0.1]), np.ones((2, 1)))
    >>> display = IterationBoundDisplay(bound).plot(k=1, ax=Figure().subplots())
    >>> display.ax_.get_yscale()
    'log'
    """

    def __init__(self, bound: IterationBound) -> None:
        self.bound = bound

    def plot(self, k: int = 160, ax: Any = None) -> IterationBoundDisplay:
        """Plot at most 10 targets, without and with k eigenvectors; return the display."""
        bound, ax = self.bound, axes_or_new(ax, (7.0, 4.2))
        k = min(k, len(bound.values) - 1)
        _draw(ax, bound.plain, PLAIN, "gradient descent")
        label = f"preconditioned with k = {k} eigenvectors"
        _draw(ax, bound.preconditioned(k), PRECONDITIONED, label)
        ax.axvline(k + 0.5, ymax=0.78, color="0.4", linestyle=":", linewidth=1)
        ax.annotate(" k", (k + 0.5, 0.02), xycoords=("data", "axes fraction"), color="0.4")
        ax.set(yscale="log", xlim=(1, max(len(bound.values), 2)))
        ax.set_ylim(LEAST_ITERATIONS, HEADROOM * max(bound.plain.max(), 1.0))
        ax.set_xlabel("eigendirection, in the order of eigenvalues")
        ax.set_ylabel(f"iterations to come within {bound.epsilon:g}")
        ax.grid(color="0.9", linewidth=0.6)
        ax.legend(frameon=False, loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw(ax: Any, numbers: NDArray[np.float64], color: str, label: str) -> None:
    """Plot the first targets; directions that need no iteration leave a gap."""
    lines = np.where(numbers > 0, numbers, np.nan)[:, :MOST_LINES].T
    index = np.arange(1, lines.shape[1] + 1)
    style = {"color": color, "linewidth": 1, "alpha": len(lines) ** -0.5}
    for line in lines:
        ax.plot(index, line, **style)
    ax.plot([], [], color=color, label=label)  # the legend shows the colour in full


class RelevanceDisplay:
    """Bars of the most relevant columns, with deviations over resamples; needs matplotlib.

    Parameters
    ----------
    relevance, deviation : arrays of n_columns numbers
        The relative increase of the held-out error without a column.
    names : sequence of n_columns names or None

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> display = RelevanceDisplay(np.array([0.1, 0.4]), np.array([0.01, 0.02]), ["age", "income"])
    >>> display.most_relevant(1)
    ['income']
    """

    def __init__(
        self,
        relevance: NDArray[np.float64],
        deviation: NDArray[np.float64],
        names: Sequence[Any] | None = None,
    ) -> None:
        self.relevance, self.deviation = relevance, deviation
        self.names = [f"column {j}" for j in range(len(relevance))] if names is None else names
        if len(self.names) != len(relevance):
            raise ValueError(
                f"There must be a name for each of {len(relevance)} columns; got {len(self.names)}."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Sequence[Any] | None = None,
        most: int = MOST_BARS,
        ax: Any = None,
    ) -> RelevanceDisplay:
        """Draw the relevance that a fitted estimator has learned; return the display."""
        tuned = getattr(estimator, "tuning_", None)
        if tuned is None:
            raise ValueError(
                f"{type(estimator).__name__} has learned no scales, so it has no relevance. Fit it "
                "with scales='learn'."
            )
        names = getattr(estimator, "feature_names_in_", None) if names is None else names
        return cls(tuned.relevance, tuned.relevance_deviation, names).plot(ax=ax, most=most)

    def most_relevant(self, most: int = MOST_BARS) -> list[Any]:
        """Return the names of the most relevant columns, the best first."""
        return [self.names[j] for j in self._order(most)]

    def plot(self, ax: Any = None, most: int = MOST_BARS) -> RelevanceDisplay:
        """Draw the most relevant columns; return self."""
        order = self._order(most)[::-1]
        ax = axes_or_new(ax, (6.0, 1 + 0.25 * len(order)))
        heights = 100 * np.maximum(self.relevance[order], 0.0)
        ax.barh(range(len(order)), heights, xerr=100 * self.deviation[order])
        ax.set_yticks(range(len(order)), [str(self.names[j]) for j in order])
        ax.set_xlabel("increase of the error without the column, %")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _order(self, most: int) -> NDArray[np.int64]:
        return np.argsort(-self.relevance, kind="stable")[:most]
