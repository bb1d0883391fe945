"""What the parts of the random binning benchmark share: data sets, models, times, the search.

Bandwidth and ridge of ours, and those of the comparisons, are chosen on held-out training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelClassifier, KernelRegressor
from bochner.features import Binning
from bochner.kernels import Laplacian, Stretched
from common import Times, load, timed

SEARCHED_ROWS = 100_000  # for the first look; what it likes best is looked at again on all rows
MOST_JUDGED = 20_000
BANDWIDTHS = tuple(0.05 * 2.0 ** np.arange(0, 6.1))  # 0.05 to 3.2
RIDGES = (0.03, 0.1, 0.3, 1.0)
NARROWER = (0.5, 0.5**0.5, 1.0, 2.0**0.5)  # more rows allow a narrower kernel
LONG = 10.0  # seconds: what takes longer is not repeated


@dataclass(frozen=True)
class Task:
    """A data set and what is asked of it: "binary" (label 1 or not), "classes" or "numbers"."""

    title: str
    name: str
    kind: str
    grids: tuple[int, ...] = (64, 256)

    @property
    def unit(self) -> str:
        """What its errors are."""
        return "RMSE" if self.kind == "numbers" else "wrong"

    def shown(self, error: float) -> str:
        """Return an error as text."""
        return f"{error:.4g}" if self.kind == "numbers" else f"{error:.2%}"


TASKS = {
    task.title: task
    for task in (
        Task("covtype, label 1", "covtype", "binary"),
        Task("covtype, 7 classes", "covtype", "classes", grids=(64,)),
        Task("ijcnn1", "ijcnn1", "classes"),
        Task("cod-rna", "cod-rna", "classes"),
        Task("letter", "letter", "classes"),
        Task("california", "california", "numbers"),
        Task("protein", "protein", "numbers"),
    )
}
COVTYPE = TASKS["covtype, label 1"]


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by."""

    task: Task
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def error(self, model: Any) -> float:
        """Return the error on the rows to be judged by."""
        return wrong(self.task, self.y_test, model.predict(self.X_test))

    def training_error(self, model: Any) -> float:
        """Return the error on (some of) the rows that were learned from."""
        X, y = self.X[:MOST_JUDGED], self.y[:MOST_JUDGED]
        return wrong(self.task, y, model.predict(X))

    def cut(self, rows: int, judged: int) -> Split:
        """Return a random part of the rows."""
        some = np.random.default_rng(0).permutation(len(self.X))[:rows]
        others = np.random.default_rng(1).permutation(len(self.X_test))[:judged]
        return replace(
            self,
            X=self.X[some],
            y=self.y[some],
            X_test=self.X_test[others],
            y_test=self.y_test[others],
        )

    def held_out(self, rows: int) -> Split:
        """Return a split of the rows to learn from: a fifth, at most 20,000, judge the others."""
        some = np.random.default_rng(2).permutation(len(self.X))[:rows]
        judges = min(len(some) // 5, MOST_JUDGED)
        X, y = self.X[some], self.y[some]
        return Split(self.task, X[judges:], y[judges:], X[:judges], y[:judges])


@dataclass(frozen=True)
class Setting:
    """Bandwidth, ridge (on the sum over the rows) and scales of the columns, None for all 1.

    `seconds` is how long it took to find them.
    """

    bandwidth: float
    ridge: float
    seconds: float = 0.0
    scales: np.ndarray | None = None

    @property
    def kernel(self) -> Any:
        """The kernel."""
        kernel = Laplacian(self.bandwidth)
        return kernel if self.scales is None else Stretched(kernel, self.scales)

    @property
    def record(self) -> dict[str, Any]:
        """What is written down."""
        return vars(self) | {"scales": None if self.scales is None else self.scales.tolist()}


def split(task: Task, folder: Path, quick: bool) -> Split:
    """Return a data set; of a quick run only a few rows."""
    X, y, X_test, y_test = load(folder, task.name)
    if task.kind == "binary":
        y, y_test = (y == 1).astype(np.int64), (y_test == 1).astype(np.int64)
    data = Split(task, X, y, X_test, y_test)
    return data.cut(4_000, 2_000) if quick else data


def wrong(task: Task, y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the root mean squared error, or the share of wrong labels."""
    if task.kind == "numbers":
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(np.mean(predicted != y))


def machine(task: Task, setting: Setting, rows: int, features: Any, **more: Any) -> Any:
    """Return our estimator for so many rows, not yet fitted."""
    kind = KernelRegressor if task.kind == "numbers" else KernelClassifier
    settings = {"solver": "cg", "scale": "range", "random_state": 0} | more
    return kind(
        kernel=setting.kernel,
        loss="squared",
        features=features,
        alpha=setting.ridge / rows,
        **settings,
    )


def fitted(data: Split, setting: Setting, grids: int) -> Any:
    """Return our estimator with so many grids, fitted."""
    model = machine(data.task, setting, len(data.X), Binning(grids))
    return quietly(lambda: model.fit(data.X, data.y))


def warm_up(data: Split) -> None:
    """Fit and predict a few rows, so that what is timed later is compiled."""
    few = slice(None, None, max(1, len(data.X) // 1_500))  # rows may be sorted by class
    some = replace(data, X=data.X[few], y=data.y[few])
    fitted(some, Setting(0.5, 0.3), 4).predict(data.X_test[:100])


def search(data: Split, grids: int, quick: bool) -> Setting:
    """Return the bandwidth and the ridge with the least error on held-out training rows.

    First both on a part of the rows. On all rows a kernel can be narrower: where there are more,
    a few narrower ones are tried again.
    """
    few = data.held_out(SEARCHED_ROWS)
    bandwidths, ridges = (BANDWIDTHS[1::2], RIDGES[1::2]) if quick else (BANDWIDTHS, RIDGES)
    wide, first = timed(lambda: _best_pair(few, bandwidths, ridges, grids))
    if len(data.X) <= SEARCHED_ROWS:
        return replace(wide, seconds=first)
    every = data.held_out(len(data.X))
    again = [replace(wide, bandwidth=wide.bandwidth * factor) for factor in NARROWER]
    narrow, second = timed(lambda: least(again, lambda s: every.error(fitted(every, s, grids))))
    return replace(narrow, seconds=first + second)


def _best_pair(data: Split, bandwidths: Any, ridges: Any, grids: int) -> Setting:
    """Return the best bandwidth at one ridge, then the best ridge, then its neighbours' best."""

    def error(setting: Setting) -> float:
        return data.error(fitted(data, setting, grids))

    start = least([Setting(float(b), ridges[len(ridges) // 2]) for b in bandwidths], error)
    start = least([replace(start, ridge=ridge) for ridge in ridges], error)
    beside = (0.5**0.5, 1.0, 2.0**0.5)
    return least([replace(start, bandwidth=start.bandwidth * s) for s in beside], error)


def least(things: list[Any], error: Callable[[Any], float]) -> Any:
    """Return the thing with the least error, the first of equal ones."""
    return min(things, key=error)


def best_of(work: Callable[[], Any], repeats: int) -> tuple[Any, Times]:
    """Return what the last run returns and the times; what takes long is done once."""
    result, seconds = timed(work)
    runs = [seconds]
    while len(runs) < repeats and seconds < LONG:
        result, again = timed(work)
        runs.append(again)
    return result, Times(tuple(sorted(runs)))


def quietly(work: Callable[[], Any]) -> Any:
    """Do it without words on convergence or column names: the figures are printed anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="The argument 'eval_set' is deprecated")
        return work()
