"""HistoryDisplay: learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.report.axes import axes, plain_numbers

MOST_POINTS = 240
Against = Literal["seconds", "rows", "step", "pass_"]
WORDS = {"seconds": "seconds", "rows": "rows seen", "step": "steps", "pass_": "passes"}


class HistoryDisplay:
    """The training loss and the loss on held-out rows in the course of a fit; needs matplotlib.

    Parameters
    ----------
    histories : mapping of names to histories
        A history is what an estimator has as `history_`.

    Attributes
    ----------
    ax_, figure_
        After `plot`, the axes and the figure drawn on.

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
        against: Against = "seconds",
        ax: Any = None,
    ) -> HistoryDisplay:
        """Draw the course of a fitted estimator; return the display."""
        name = type(estimator).__name__ if name is None else name
        history = getattr(estimator, "history_", None)
        if history is None:
            raise ValueError(f"{name} has no history_. Fit it before it is drawn.")
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
        """Draw losses that were measured elsewhere, against seconds or else steps."""
        held_out = [None] * len(losses) if held_out_losses is None else held_out_losses
        history = {"step": range(1, len(losses) + 1), "loss": losses, "held_out_loss": held_out}
        if seconds is None:
            return cls({name: history}).plot(ax=ax, against="step")
        return cls({name: {**history, "seconds": seconds}}).plot(ax=ax)

    def curve(
        self, name: str, loss: str, against: Against = "seconds"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return places and heights of a curve, where it is known."""
        history = self.histories[name]
        heights = np.array([np.nan if v is None else v for v in history.get(loss, ())], dtype=float)
        places = np.asarray(history.get(against, ()), dtype=float)
        places = _in_one_time(places) if against == "seconds" else places
        known = np.flatnonzero(np.isfinite(heights) & np.isfinite(places))
        known = known[_first_known(heights[known]) :]
        if loss == "held_out_loss":  # it stands in every line until the next look
            known = known[np.diff(heights[known], prepend=np.nan) != 0]
        return _thinned(places[known]), _thinned(heights[known])

    def plot(self, ax: Any = None, against: Against = "seconds") -> HistoryDisplay:
        """Draw the curves; held-out rows have a line, training rows a thin one; return self."""
        ax = axes(ax)
        lowest: list[float] = []
        for name in self.histories:
            lowest += self._draw(ax, name, against)
        _scale(ax, lowest)
        ax.set(xlabel=WORDS[against], ylabel="loss")
        if lowest:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, name: str, against: Against) -> list[float]:
        seen, losses = self.curve(name, "loss", against)
        looked, held_out = self.curve(name, "held_out_loss", against)
        label, colour = _label(name), None
        if held_out.size:
            (line,) = ax.plot(looked, held_out, "o-", markersize=3, label=f"{label}, held out")
            colour = line.get_color()
        if losses.size:
            thin = {"linewidth": 0.9, "alpha": 0.6} if held_out.size else {"marker": "."}
            ax.plot(seen, losses, color=colour, label=f"{label}, training", **thin)
        return [*losses, *held_out]


def _in_one_time(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return seconds that never go back: a last pass and `partial_fit` count from 0 again."""
    back = np.where(np.diff(seconds, prepend=0.0) < 0, np.concatenate([[0.0], seconds[:-1]]), 0.0)
    return np.asarray(seconds + np.cumsum(back))


def _first_known(losses: NDArray[np.float64]) -> int:
    """Return where losses begin: solvers of whole passes say 0 until the first one has ended."""
    positive = np.flatnonzero(losses > 0)
    return int(positive[0]) if positive.size else 0


def _scale(ax: Any, losses: Sequence[float]) -> None:
    """Choose a scale on which every loss has a place: one of exactly 0 has none among powers."""
    positive = [loss for loss in losses if loss > 0]
    if not positive or min(losses) < 0 or max(positive) < 3 * min(losses):
        return
    if min(losses) > 0:
        ax.set_yscale("log")
    else:
        ax.set_yscale("symlog", linthresh=min(positive))
        ax.set_ylim(bottom=-0.3 * min(positive))
    plain_numbers(ax.yaxis)


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) <= MOST_POINTS:
        return values
    places = np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).astype(np.int64))
    return np.asarray(values[places])


def _label(name: str) -> str:
    return name if not name.startswith("_") else f"\u200b{name}"  # else matplotlib hides it
