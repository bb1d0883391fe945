"""Report: one self-contained HTML page about data and models."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bochner
from bochner.replacing import replacing
from bochner.report.axes import require
from bochner.report.data_summary import DataSummary
from bochner.report.fit_displays import ErrorAgainstTimeDisplay, HistoryDisplay
from bochner.report.pictures import MOST_BARS, Picture, as_svg, drawing, importances, shortened
from bochner.report.predictions import Score
from bochner.report.run import Run
from bochner.wording import amount, counted, duration, number

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
MOST_CURVES = 6
LEAST_BINS, MOST_BINS = 10, 40
LARGEST_WHOLE = 2.0**50  # below it, half a unit is not lost to rounding
MOST_COLUMNS = 40
MOST_DRAWN = 6  # runs, the best ones, whose predictions are drawn


@dataclass(frozen=True, eq=False)
class Report:
    """One self-contained HTML page about data and the runs of one or several models.

    Parameters
    ----------
    title : str
    data : DataSummary
    runs : sequence of Run
        At least one; the page shows the best one first.
    command : str or None
        The command or the code that made the runs.
    seed : int or None
    digests : mapping of names to text
        Digests of files, such as the model file.
    notes : sequence of str
        Sentences for the end of the page.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.report import DataSummary, NumberPredictions, Report, Run
    >>> y = np.arange(5.0)
    >>> data = DataSummary.of(y[:, None], y, target="height")
    >>> run = Run("ruler", NumberPredictions(y, y + 0.1), NumberPredictions(y, y + 0.1).scores())
    >>> report = Report("Heights", data, [run])
    >>> report.verdict
    'ruler: RMSE 0.1.'
    >>> report.html()[:15]
    '<!doctype html>'
    """

    title: str
    data: DataSummary
    runs: Sequence[Run]
    command: str | None = field(default=None, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    digests: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    notes: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(
                "A report needs at least one run. Give Run.of(...) or Run.failed(...)."
            )

    @cached_property
    def runs_in_order(self) -> list[Run]:
        """The runs, the best first and failed ones last."""
        return sorted(self.runs, key=_rank)

    @property
    def verdict(self) -> str:
        """One line: the best run, its first score, its training time and the runner-up."""
        first, *others = self.runs_in_order
        if first.error is not None:
            return f"{first.name} failed: {first.error}" if not others else "Every run failed."
        if not first.scores:
            return f"{first.name} was trained; it has not been evaluated."
        score = first.scores[0]
        took = "" if first.seconds is None else f" after {duration(first.seconds)} of training"
        line = f"{first.name}: {score.name} {score}{took}."
        rivals = [run for run in others if run.error is None and run.scores]
        if not rivals:
            return line
        second = rivals[0]
        return f"{line} Next is {second.name} with {second.scores[0]}."

    def html(self) -> str:
        """Return the page."""
        require()
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup

        environment = Environment(
            loader=PackageLoader("bochner.report", "."),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        words = {"amount": amount, "duration": duration, "number": number, "counted": counted}
        environment.filters |= {**words, "svg": lambda picture: Markup(picture.svg)}
        return str(environment.get_template("page.html").render(self._content()))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; if anything fails, an earlier file of this name is unchanged."""
        if Path(path).suffix.lower() not in {".html", ".htm"}:
            raise ValueError(f"A report is an HTML page: its name must end in .html; got {path}.")
        page = self.html().encode(errors="replace")
        with replacing(path) as file:
            file.write(page)

    def _content(self) -> dict[str, Any]:
        runs = self.runs_in_order
        good = [run for run in runs if run.error is None]
        names = [column.name for column in self.data.columns]
        drawn = [(run, _pictures(run, place, names)) for place, run in enumerate(good[:MOST_DRAWN])]
        learning = curves(good)
        alone = len(drawn) == 1 and len(drawn[0][1]) % 2 == 1
        return {
            "report": self,
            "data": self.data,
            "shown": list(self.data.columns[:MOST_COLUMNS]),
            "runs": runs,
            "best": good[0] if good else None,
            "score_names": list(dict.fromkeys(s.name for run in good for s in run.scores)),
            "leaders": _leaders(good),
            "target_picture": target(self.data, _task(good)),
            "methods_picture": methods(good) if len(good) > 1 else None,
            "curves_picture": learning,
            "drawn": drawn,
            "beside": alone and learning is not None,  # pairs of pictures fill rows
            "versions": versions(),
        }


def _pictures(run: Run, place: int, names: Sequence[str]) -> tuple[Picture, ...]:
    """Return the pictures of the predictions and of the columns that they come from."""
    if run.predictions is None:
        return ()
    unique, shares = f"{place} {run.name}", run.importances
    pictures = run.predictions.pictures(unique)
    if shares is None or len(shares) < 2 or len(shares) != len(names):
        return pictures  # also if the model saw encoded columns, which have no names
    return (*pictures, importances(shares, names, unique))


def _task(runs: Sequence[Run]) -> str | None:
    """Return what the runs predict, None if it is not known."""
    known = [run.predictions.task for run in runs if run.predictions is not None]
    return known[0] if known else None


def _rank(run: Run) -> tuple[bool, bool, float]:
    score = run.scores[0].rank if run.scores else 0.0
    return run.error is not None, not run.scores, score


def _leaders(runs: Sequence[Run]) -> set[Score]:
    """Return the best score of each name, if there are several runs."""
    if len(runs) < 2:
        return set()
    best: dict[str, Score] = {}
    for score in (score for run in runs for score in run.scores):
        if score.name not in best or score.beats(best[score.name]):
            best[score.name] = score
    return set(best.values())


def target(data: DataSummary, task: str | None = None) -> Picture | None:
    """Draw the distribution of the target: of numbers a histogram, of labels bars.

    Where the task is not known, many different numbers are no labels.
    """
    if np.size(data.values) == 0 or np.ndim(data.values) > 1:
        return None
    are_numbers = data.values.dtype.kind in "fiu"
    if task is None:
        are_numbers = are_numbers and len(np.unique(data.values)) > MOST_BARS
    return _histogram(data) if are_numbers and task != "classification" else _bars(data)


def bin_edges(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the edges of a histogram's bins, which hold equally many whole numbers if all are.

    >>> bin_edges(np.array([3, 5, 4, 4]))
    array([2.5, 3.5, 4.5, 5.5])
    """
    low, high = float(values.min()), float(values.max())
    bins = min(MOST_BINS, max(LEAST_BINS, int(np.sqrt(values.size))))
    if high - low >= LARGEST_WHOLE or (values != np.rint(values)).any():
        return np.histogram_bin_edges(values, bins)
    count = high - low + 1
    width = 1.0 if count <= MOST_BINS else np.ceil(count / bins)
    return np.arange(low - 0.5, high + width, width)


def _histogram(data: DataSummary) -> Picture | None:
    values = data.values[np.isfinite(data.values)]
    if values.size == 0:
        return None
    with drawing(4.6, 2.6) as (figure, ax):
        ax.hist(values, bins=bin_edges(values), alpha=0.85)
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
    """Draw the methods by training time, error and memory."""
    display = ErrorAgainstTimeDisplay.from_runs(runs)
    if len(display.names) < 2:
        return None
    display.names = [shortened(name) for name in display.names]
    with drawing() as (figure, ax):
        display.plot(ax=ax)
        svg = as_svg(figure, "methods")
    caption = "Faster methods are on the left, better ones at the bottom."
    if any(memory is not None for memory in display.memory):
        caption += " The area of a point is in proportion to the peak memory."
    return Picture("Error against time", caption, svg)


def curves(runs: Sequence[Run]) -> Picture | None:
    """Draw the learning curves of runs with more than one step."""
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
    caption = "Loss on the rows of each batch, and on held-out rows."
    if len(histories) > 1:
        caption += " Methods may minimise different losses."
    return Picture("Learning curves", caption, svg)


def versions() -> dict[str, str]:
    """Return the versions of this library and its dependencies, and the system."""
    found = {"bochner": bochner.__version__, "Python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["system"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return found
