"""The work of `bochner compare`: fit each method, test it, write the report."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal
from warnings import catch_warnings, simplefilter

import typer

from bochner.cli.names import METHODS, Task
from bochner.cli.screen import FAILED, Screen, in_command_words
from bochner.cli.work.evaluation import evaluate_model
from bochner.cli.work.fitting import (
    choose_task,
    make_estimator,
    progress_callbacks,
    require_settings,
)
from bochner.cli.work.pages import summarize
from bochner.cli.work.reading import DataOptions, require_files
from bochner.data import ArraySource, DataSource, FileSource, Schema, Split, mapped
from bochner.data.files.formats.chunk import quoted
from bochner.data.transforms.indicators import MOST_INDICATORS, Indicators
from bochner.exceptions import DataWarning
from bochner.features import FeatureMap
from bochner.features.feature_map import GrowingFeatureMap
from bochner.kernels import Kernel
from bochner.kernels.kernel import is_separable
from bochner.report import Report, Run
from bochner.solvers import Solver
from bochner.wording import amount

INTERVAL = 0.02  # seconds between two measurements
FEW_ROWS = 200
SAMPLE_ROWS = 65_536  # in which the frequent categories are found
STATUS = Path("/proc/self/status")
COMPARED = (Task.CLASSIFICATION, Task.REGRESSION, Task.QUANTILES)


class PeakMemory:
    """The maximum of resident bytes, None where the system has no such count."""

    def __init__(self) -> None:
        self.bytes: int | None = None

    def update(self) -> None:
        """Measure the resident memory."""
        now = resident_memory()
        if now is not None:
            self.bytes = max(self.bytes or 0, now)


def resident_memory() -> int | None:
    """Return the resident bytes of this process without mapped files; Linux only."""
    try:
        text = STATUS.read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return None


@contextmanager
def measure_peak() -> Iterator[PeakMemory]:
    """Measure the peak memory of a block from another thread.

    >>> with measure_peak() as peak:
    ...     block = bytearray(1_000_000)
    >>> peak.bytes is None or peak.bytes > 1_000_000
    True
    """
    peak, done = PeakMemory(), threading.Event()
    peak.update()

    def measure() -> None:
        while not done.wait(INTERVAL):
            peak.update()

    thread = threading.Thread(target=measure, name="bochner-peak-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
        peak.update()


@contextmanager
def unnamed_columns_unsaid(train: DataSource) -> Iterator[None]:
    """Leave out warnings about the columns of encoded rows, which have no names."""
    with catch_warnings():
        if not isinstance(train, FileSource):
            simplefilter("ignore", DataWarning)
        yield


@dataclass(frozen=True)
class RowsOfMethods:
    """The training and test rows of each method: with indicators of text for those that need them.

    Bins compare categories as they are; other features are of numbers.
    """

    rows: tuple[DataSource, DataSource]
    numbers: tuple[DataSource, DataSource]
    needing: frozenset[str]

    @classmethod
    def of(
        cls, train: FileSource, test: FileSource, methods: Iterable[str], parameters: dict[str, Any]
    ) -> RowsOfMethods:
        """Return the rows of all methods."""
        categorical = list(train.schema.categorical)
        if not categorical:
            return cls((train, test), (train, test), frozenset())
        indicators = Indicators.learn(train.sample(SAMPLE_ROWS).X, categorical)
        needing = {name for name in methods if not takes_text(parameters | METHODS[name])}
        encoded = mapped(train, indicators), mapped(test, indicators)
        return cls((train, test), encoded, frozenset(needing))

    def __getitem__(self, method: str) -> tuple[DataSource, DataSource]:
        return self.numbers if method in self.needing else self.rows

    @property
    def note(self) -> str:
        """What is done with text, empty if nothing."""
        if not self.needing:
            return ""
        return (
            f"Columns of text are columns of 0 and 1, for the {MOST_INDICATORS} most frequent "
            f"categories of each, in {', '.join(sorted(self.needing))}: these methods need numbers."
        )


def takes_text(parameters: dict[str, Any]) -> bool:
    """Whether an estimator with these parameters takes columns of text: it is of bins."""
    kernel, solver, features = (
        parameters.get(name, "auto") for name in ("kernel", "solver", "features")
    )
    try:
        if features == "auto" and solver != "auto":
            features = Solver.resolve(solver).tags.default_features
        bins = features == "auto" or isinstance(FeatureMap.resolve(features), GrowingFeatureMap)
        return bins and (kernel == "auto" or is_separable(Kernel.resolve(kernel)))
    except ValueError:
        return True  # the fit says what is wrong with a name


@dataclass(frozen=True)
class CompareCommand:
    """The options of `bochner compare`."""

    data: list[str]
    options: DataOptions
    task: Task
    methods: tuple[str, ...]
    parameters: dict[str, Any]
    test: float
    page: Path
    command: str

    def run(self, screen: Screen) -> None:
        """Fit and test each method, write the report, and print the result."""
        require_files(self.data, "compare")
        require_settings(self.parameters)
        train = self._open("train", screen)
        if train.schema.target_kind == "none":
            names = quoted(train.schema.names)
            raise ValueError(f"compare needs a column to predict: give --target NAME, of {names}.")
        choice = choose_task(self.task, train, self.parameters.get("quantiles"))
        test = self._open("test", screen, train.schema)
        if choice.task not in COMPARED:
            raise ValueError(
                f"compare needs --task {', '.join(COMPARED)}; got {choice.task} ({choice.why})."
            )
        screen.note(
            f"{train.n_rows:,} training rows, {test.n_rows:,} test rows. "
            f"Task: {choice.task} ({choice.why})."
        )
        parts = RowsOfMethods.of(train, test, self.methods, self.parameters)
        notes = [parts.note] if parts.note else []
        for note in notes:
            screen.note(note)
        runs = [self._fit(name, choice.task, *parts[name], screen) for name in self.methods]
        report = Report(
            ", ".join(Path(path).name for path in train.paths[:3]),
            summarize(train, test.n_rows),
            runs,
            command=self.command,
            seed=self.parameters["random_state"],
            notes=notes,
        )
        report.write(self.page)
        screen.result(*self._result(report))
        if all(run.error is not None for run in runs):
            raise typer.Exit(FAILED)

    def _open(
        self, part: Literal["train", "test"], screen: Screen, schema: Schema | None = None
    ) -> FileSource:
        split = Split(part, self.test, self.parameters["random_state"])
        memory = self.parameters.get("memory_budget")
        return self.options.open(self.data, screen, split=split, memory=memory, schema=schema)

    def _fit(
        self, name: str, task: Task, train: DataSource, test: DataSource, screen: Screen
    ) -> Run:
        """Fit and test one method; an error becomes a failed run."""
        screen.note(f"{name} ...")
        self._warm_up(name, task, train)
        began = perf_counter()
        try:
            model = make_estimator(task, self.parameters | METHODS[name])
            limit = self.parameters["max_seconds"]
            with (
                progress_callbacks(screen, limit) as callbacks,
                measure_peak() as peak,
                unnamed_columns_unsaid(train),
            ):
                model.set_params(callbacks=callbacks).fit(train)
            seconds = perf_counter() - began
            model.set_params(callbacks=None)
            result = evaluate_model(model, test)
        except (ValueError, ArithmeticError, MemoryError) as error:
            words = in_command_words(error)
            screen.note(f"  {words}")
            return Run.failed(name, words, seconds=perf_counter() - began)
        return Run.described(
            model, result.predictions, seconds=seconds, name=name, peak_memory=peak.bytes
        )

    def _warm_up(self, name: str, task: Task, train: DataSource) -> None:
        """Fit a few rows, so that no method's time includes loading compiled code."""
        rows = train.sample(FEW_ROWS)
        with suppress(ValueError, ArithmeticError, MemoryError), catch_warnings():
            simplefilter("ignore")
            make_estimator(task, self.parameters | METHODS[name]).fit(ArraySource(rows.X, rows.y))

    def _result(self, report: Report) -> tuple[dict[str, Any], list[str]]:
        runs = list(report.runs_in_order)
        record = {
            "methods": [_record(run) for run in runs],
            "verdict": report.verdict,
            "report": str(self.page),
        }
        return record, [*_table(runs), report.verdict, f"Report: {self.page}"]


def _record(run: Run) -> dict[str, Any]:
    return {
        "method": run.name,
        "scores": {score.name: score.value for score in run.scores},
        "seconds": run.seconds,
        "peak_memory": run.peak_memory,
        "error": None if run.error is None else str(run.error),
    }


def _table(runs: list[Run]) -> list[str]:
    names = next(([score.name for score in run.scores] for run in runs if run.scores), [])
    titles = ["method", *names, "seconds", "memory"]
    lines = [titles, *(_line(run, len(names)) for run in runs)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(titles))]
    return ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]


def _line(run: Run, scores: int) -> list[str]:
    if run.error is not None:
        return [run.name, *["failed"] * scores, "", ""]
    values = [f"{score.value:.4g}" for score in run.scores]
    used = "" if run.peak_memory is None else amount(run.peak_memory)
    return [run.name, *values, f"{run.seconds or 0.0:.1f}", used]
