"""What `bochner compare` does, method by method."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal
from warnings import catch_warnings, simplefilter

import typer

from bochner.cli.names import METHODS, Task
from bochner.cli.screen import FAILED, Screen
from bochner.cli.work.evaluation import judged
from bochner.cli.work.fitting import chosen, estimator, watched
from bochner.cli.work.pages import summary
from bochner.cli.work.reading import Reading, require_files
from bochner.data import ArraySource, Split
from bochner.report import Report, Run
from bochner.wording import amount

if TYPE_CHECKING:
    from bochner.data import FileSource

SAMPLED = 0.02  # seconds between two looks
FEW_ROWS = 200


STATUS = Path("/proc/self/status")


class Peak:
    """The most bytes, None where the system does not tell."""

    def __init__(self) -> None:
        self.bytes: int | None = None

    def look(self) -> None:
        """Look at how much is resident now."""
        now = resident()
        if now is not None:
            self.bytes = max(self.bytes or 0, now)


def resident() -> int | None:
    """Return the resident bytes of this process, files that are mapped left out; Linux only."""
    try:
        text = STATUS.read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch memory from another thread while something runs.

    >>> with peak_memory() as peak:
    ...     block = bytearray(1_000_000)
    >>> peak.bytes is None or peak.bytes > 1_000_000
    True
    """
    peak, done = Peak(), threading.Event()
    peak.look()

    def watch() -> None:
        while not done.wait(SAMPLED):
            peak.look()

    thread = threading.Thread(target=watch, name="bochner-peak-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
        peak.look()


COMPARED = (Task.CLASSIFICATION, Task.REGRESSION, Task.QUANTILES)


@dataclass(frozen=True)
class Comparison:
    """A comparison as it was asked for."""

    data: list[str]
    reading: Reading
    task: Task
    methods: tuple[str, ...]
    parameters: dict[str, Any]
    test: float
    page: Path
    command: str

    def run(self, screen: Screen) -> None:
        """Read, fit each method, judge, write the page and tell."""
        require_files(self.data, "compare")
        train, test = self._open("train", screen), self._open("test", screen)
        decided = chosen(self.task, train, self.parameters.get("quantiles"))
        if decided.task not in COMPARED:
            raise ValueError(
                f"Methods are compared by --task {', '.join(COMPARED)}; got {decided.task} "
                f"({decided.why})."
            )
        screen.note(
            f"{train.n_rows:,} rows to learn from, {test.n_rows:,} to judge by. "
            f"Task: {decided.task} ({decided.why})."
        )
        runs = [self._fit(name, decided.task, train, test, screen) for name in self.methods]
        report = Report(
            ", ".join(Path(path).name for path in train.paths[:3]),
            summary(train, test.n_rows),
            runs,
            command=self.command,
            seed=self.parameters["random_state"],
        )
        report.write(self.page)
        screen.result(*self._result(report))
        if all(run.error is not None for run in runs):
            raise typer.Exit(FAILED)

    def _open(self, part: Literal["train", "test"], screen: Screen) -> FileSource:
        split = Split(part, self.test, self.parameters["random_state"])
        memory = self.parameters.get("memory_budget")
        return self.reading.open(self.data, screen, split=split, memory=memory)

    def _fit(
        self, name: str, task: Task, train: FileSource, test: FileSource, screen: Screen
    ) -> Run:
        """Fit one method; what goes wrong with it is part of the comparison."""
        screen.note(f"{name} ...")
        self._warm_up(name, task, train)
        began = perf_counter()
        try:
            model = estimator(task, self.parameters | METHODS[name])
            limit = self.parameters["max_seconds"]
            with watched(screen, limit) as watching, peak_memory() as peak:
                model.set_params(callbacks=watching).fit(train)
            seconds = perf_counter() - began
            model.set_params(callbacks=None)
            judgement = judged(model, test)
        except (ValueError, ArithmeticError, MemoryError) as error:
            screen.note(f"  {error}")
            return Run.failed(name, error, seconds=perf_counter() - began)
        return Run.described(
            model, judgement.predictions, seconds=seconds, name=name, peak_memory=peak.bytes
        )

    def _warm_up(self, name: str, task: Task, train: FileSource) -> None:
        """Fit a few rows: compiled code is loaded once, and not at the first method's cost."""
        rows = train.sample(FEW_ROWS)
        with suppress(ValueError, ArithmeticError, MemoryError), catch_warnings():
            simplefilter("ignore")
            estimator(task, self.parameters | METHODS[name]).fit(ArraySource(rows.X, rows.y))

    def _result(self, report: Report) -> tuple[dict[str, Any], list[str]]:
        runs = list(report.runs_in_order)
        record = {
            "methods": [_record(run) for run in runs],
            "verdict": report.verdict,
            "report": str(self.page),
        }
        return record, [*_table(runs), report.verdict, f"Page: {self.page}"]


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
