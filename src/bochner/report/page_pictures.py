"""Pictures of a page that are not of one run: the target, the methods, the learning curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bochner.report.data_summary import DataSummary
from bochner.report.error_against_time_display import ErrorAgainstTimeDisplay
from bochner.report.history_display import HistoryDisplay
from bochner.report.label_pictures import shortened
from bochner.report.picture import Picture, as_svg, drawing
from bochner.report.run import Run

MOST_BARS = 15
MOST_CURVES = 6


def target(data: DataSummary) -> Picture | None:
    """Draw the distribution of the target."""
    if np.size(data.values) == 0 or np.ndim(data.values) > 1:
        return None
    numbers = data.values.dtype.kind == "f" and len(np.unique(data.values)) > MOST_BARS
    return _histogram(data) if numbers else _bars(data)


def _histogram(data: DataSummary) -> Picture | None:
    values = data.values[np.isfinite(data.values)]
    if values.size == 0:
        return None
    with drawing(4.6, 2.6) as (figure, ax):
        ax.hist(values, bins=min(40, max(10, int(np.sqrt(values.size)))), alpha=0.85)
        ax.set(xlabel=shortened(data.target), ylabel="rows")
        svg = as_svg(figure, "target")
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    caption = f"Median {middle:.4g}; nine of ten rows lie between {low:.4g} and {high:.4g}."
    return Picture("Target", caption, svg)


def _bars(data: DataSummary) -> Picture:
    labels, counts = np.unique(data.values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_BARS][::-1]
    shares = counts / counts.sum()
    with drawing(4.6, 1.0 + 0.24 * len(order)) as (figure, ax):
        ax.barh(range(len(order)), 100 * shares[order], alpha=0.85)
        ax.set_yticks(range(len(order)), [shortened(labels[j]) for j in order])
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("% of the rows")
        svg = as_svg(figure, "target")
    caption = f"{len(labels)} labels; the most frequent has {shares.max():.0%} of the rows."
    return Picture("Target", caption, svg)


def methods(runs: Sequence[Run]) -> Picture | None:
    """Draw the methods by time, error and memory."""
    display = ErrorAgainstTimeDisplay.from_runs(runs)
    if len(display.names) < 2:
        return None
    display.names = [shortened(name) for name in display.names]
    with drawing() as (figure, ax):
        display.plot(ax=ax)
        svg = as_svg(figure, "methods")
    caption = "To the left is quick, below is good."
    if any(memory is not None for memory in display.memory):
        caption += " The area of a point is the memory that was taken."
    return Picture("Error against time", caption, svg)


def curves(runs: Sequence[Run]) -> Picture | None:
    """Draw the learning curves of runs that took more than one step."""
    histories = {
        shortened(run.name): run.history
        for run in runs[:MOST_CURVES]
        if sum(loss is not None for loss in run.history.get("loss", ())) > 1
    }
    if not histories:
        return None
    with drawing(4.6, 3.4 + 0.16 * len(histories)) as (figure, ax):
        HistoryDisplay(histories).plot(ax=ax)
        columns = 1 if len(histories) == 1 else 2
        figure.legend(
            *ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8
        )
        ax.get_legend().remove()
        svg = as_svg(figure, "curves")
    caption = "Loss on the rows of each batch, and on rows that were held out."
    if len(histories) > 1:
        caption += " Methods may minimise different losses."
    return Picture("Learning curves", caption, svg)
