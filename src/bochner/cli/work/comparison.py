"""The work of `bochner compare`: fit each method, test it, write the report."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal
from warnings import catch_warnings, simplefilter

import typer

from bochner.cli.names import METHODS, Task
from bochner.cli.screen import FAILED, Screen
from bochner.cli.work.evaluation import evaluate_model
from bochner.cli.work.fitting import choose_task, make_estimator, progress_callbacks
from bochner.cli.work.pages import summarize
from bochner.cli.work.reading import DataOptions, require_files
from bochner.data import ArraySource, FileSource, Schema, Split
from bochner.report import Report, Run
from bochner.wording import amount

INTERVAL = 0.02  # seconds between two measurements
FEW_ROWS = 200
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
        train = self._open("train", screen)
        test = self._open("test", screen, train.schema)
        choice = choose_task(self.task, train, self.parameters.get("quantiles"))
        if choice.task not in COMPARED:
            raise ValueError(
                f"compare needs --task {', '.join(COMPARED)}; got {choice.task} ({choice.why})."
            )
        screen.note(
            f"{train.n_rows:,} training rows, {test.n_rows:,} test rows. "
            f"Task: {choice.task} ({choice.why})."
        )
        runs = [self._fit(name, choice.task, train, test, screen) for name in self.methods]
        report = Report(
            ", ".join(Path(path).name for path in train.paths[:3]),
            summarize(train, test.n_rows),
            runs,
            command=self.command,
            seed=self.parameters["random_state"],
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
        self, name: str, task: Task, train: FileSource, test: FileSource, screen: Screen
    ) -> Run:
        """Fit and test one method; an error becomes a failed run."""
        screen.note(f"{name} ...")
        self._warm_up(name, task, train)
        began = perf_counter()
        try:
            model = make_estimator(task, self.parameters | METHODS[name])
            limit = self.parameters["max_seconds"]
            with progress_callbacks(screen, limit) as callbacks, measure_peak() as peak:
                model.set_params(callbacks=callbacks).fit(train)
            seconds = perf_counter() - began
            model.set_params(callbacks=None)
            result = evaluate_model(model, test)
        except (ValueError, ArithmeticError, MemoryError) as error:
            screen.note(f"  {error}")
            return Run.failed(name, error, seconds=perf_counter() - began)
        return Run.described(
            model, result.predictions, seconds=seconds, name=name, peak_memory=peak.bytes
        )

    def _warm_up(self, name: str, task: Task, train: FileSource) -> None:
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
