"""HistoryDisplay: the learning curves of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.report.axes import axes_or_new, plain_numbers
from bochner.report.pictures import evenly_spaced

MOST_POINTS = 240
Quantity = Literal["seconds", "rows", "step", "pass_"]
LABELS = {"seconds": "seconds", "rows": "rows seen", "step": "steps", "pass_": "passes"}


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
