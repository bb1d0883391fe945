"""The work of `bochner fit`: read, train, save, test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import typer

import bochner
from bochner.callbacks import Callback, Progress, ProgressBar
from bochner.cli.names import ESTIMATORS, Task
from bochner.cli.screen import INTERRUPTED, Screen, in_command_words
from bochner.cli.work.evaluation import evaluate_model
from bochner.cli.work.reading import DataOptions, require_files
from bochner.compute.interruption import interruptible
from bochner.data import FileSource, Schema, Split
from bochner.data.files.formats.chunk import quoted
from bochner.wording import amount, counted, did_you_mean, duration

MOST_CLASSES = 50  # integer targets with more values mean regression
READ_ROWS = 65_536  # in a batch
READY = "Preparing: scales, features, held-out rows ..."
FEWEST_ROWS_A_LABEL = 2
# A resumed fit may change these parameters: they limit resources and do not define the model.
FREE = ("max_seconds", "memory_budget", "n_jobs")


@dataclass(frozen=True)
class TaskChoice:
    """A task and the reason for it."""

    task: Task
    why: str


def choose_task(asked: Task, source: FileSource, quantiles: tuple[float, ...] | None) -> TaskChoice:
    """Return the requested task, or the one that suits the target."""
    schema = source.schema
    if asked is not Task.AUTO:
        return TaskChoice(_suitable(asked, source), "given by --task")
    if quantiles is not None:
        return TaskChoice(_suitable(Task.QUANTILES, source), "given by --quantiles")
    if schema.target_kind == "none":
        raise ValueError(
            "Which column is to be predicted? Give --target NAME, one of "
            f"{quoted(schema.names)}; or --task novelty to learn what is usual, without a target."
        )
    name = ", ".join(schema.targets)
    if schema.target_kind == "label":
        _refuse_names(source)
        return TaskChoice(Task.CLASSIFICATION, f"{name} holds text")
    if schema.flat and schema.whole and (count := _distinct(source)) <= MOST_CLASSES:
        integers = counted(count, "distinct integer")
        why = f"{name} has {integers}; --task regression predicts them as numbers"
        return TaskChoice(Task.CLASSIFICATION, why)
    hold = "holds" if len(schema.targets) == 1 else "hold"
    return TaskChoice(Task.REGRESSION, f"{name} {hold} numbers")


def _refuse_names(source: FileSource) -> None:
    """Refuse a target of text with nearly as many labels as rows."""
    labels, rows = len(source.schema.labels or ()), source.n_rows
    if rows is not None and labels > MOST_CLASSES and labels * FEWEST_ROWS_A_LABEL > rows:
        raise ValueError(
            f"{source.schema.targets[0]} holds text, and {labels:,} different ones in {rows:,} "
            "rows: these are names or numbers in another notation rather than classes. Give "
            "another --target, or --task classification if each is a class."
        )


def _suitable(task: Task, source: FileSource) -> Task:
    kind = source.schema.target_kind
    if kind == "none" and task is not Task.NOVELTY:
        raise ValueError(
            f"--task {task} needs a column to predict: give --target NAME, one of "
            f"{quoted(source.schema.names)}."
        )
    if kind == "label" and task not in (Task.CLASSIFICATION, Task.NOVELTY):
        raise ValueError(
            f"--task {task} needs a target of numbers, but {source.schema.targets[0]!r} holds "
            "text. Give another --target, or --task classification."
        )
    return task


def _distinct(source: FileSource) -> int:
    """Return the number of distinct targets, or a number above MOST_CLASSES."""
    found: set[Any] = set()
    for batch in source.batches(READ_ROWS):
        found.update(np.unique(np.asarray(batch.y)).tolist())
        if len(found) > MOST_CLASSES:
            break
    return len(found)


def make_estimator(task: Task, parameters: dict[str, Any]) -> Any:
    """Return an estimator for a task; raise if it does not have a parameter."""
    model = getattr(bochner, ESTIMATORS[task])()
    known = model.get_params()
    for name, value in parameters.items():
        if name.partition("__")[0] not in known:
            raise ValueError(
                f"{type(model).__name__}, which is for --task {task}, has no parameter {name!r}; "
                f"it has {', '.join(n for n in known if '__' not in n)}."
                f"{did_you_mean(name, known)}"
            )
        model.set_params(**{name: value})
    return model


def require_settings(parameters: dict[str, Any]) -> None:
    """Raise for a parameter that no estimator has, before any file is read."""
    known = {name for kind in ESTIMATORS.values() for name in getattr(bochner, kind)().get_params()}
    for name in parameters:
        if name.partition("__")[0] not in known:
            raise ValueError(
                f"--set {name}: no estimator has this parameter.{did_you_mean(name, known)} "
                f"Parameters are {', '.join(sorted(repr(n) for n in known if '__' not in n))}."
            )


@contextmanager
def progress_callbacks(screen: Screen, seconds: float | None) -> Iterator[list[Callback]]:
    """Yield callbacks that draw a progress bar; show a status line until the first batch."""
    if screen.quiet:
        yield []
        return
    console = screen.console
    with console.status(READY) as status:
        yield [_EndStatus(status), ProgressBar(console=console, seconds=seconds)]


class _EndStatus:
    """Ends the status line at the first progress; only one live display can be shown."""

    def __init__(self, status: Any) -> None:
        self.status = status

    def __call__(self, progress: Progress) -> None:
        self.status.stop()


@dataclass(frozen=True)
class FitCommand:
    """The options of `bochner fit`."""

    data: list[str]
    options: DataOptions
    task: Task
    parameters: dict[str, Any]
    seed: int
    test: float
    out: Path
    checkpoint_every: float
    resume: bool
    command: str

    def run(self, screen: Screen) -> None:
        """Read the files, train, save and test the model, and print the result."""
        began = perf_counter()
        require_settings(self.parameters)
        if self.test > 0:
            require_files(self.data, "--test")
        unfinished = self._unfinished(screen)
        try:
            source = self._open("train", screen)
        except KeyboardInterrupt:
            text = f"interrupted while the rows were read; {self._nothing_kept}"
            raise screen.error(text, INTERRUPTED) from None
        choice = choose_task(self.task, source, self.parameters.get("quantiles"))
        screen.note(f"{_size(source)}. Task: {choice.task} ({choice.why}).")
        model = self._model(choice, unfinished)
        self._learn(model, source, screen)
        summary = self._summary(choice, source, perf_counter() - began)
        self._save(model, summary, screen)
        if self.test > 0:  # after saving: an error in the test rows does not lose the fit
            summary["scores"] = self._evaluate(model, source.schema, screen)
            bochner.save(model, self.out, summary=summary)
        screen.result(*self._result(model, summary))

    @property
    def checkpoint(self) -> Path:
        """The checkpoint file, removed when the fit is done."""
        return self.out.with_name(f"{self.out.name}.checkpoint")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The options that a resumed run must share with the first."""
        fixed = {k: v for k, v in self.parameters.items() if k not in FREE}
        return {
            "data": list(map(str, self.data)),
            "task": self.task.value,
            "seed": self.seed,
            "test": self.test,
            "parameters": {name: repr(value) for name, value in sorted(fixed.items())},
        } | self.options.settings()

    def _open(
        self, part: Literal["train", "test"], screen: Screen, schema: Schema | None = None
    ) -> FileSource:
        split = Split(part, self.test, self.seed) if self.test > 0 else None
        memory = self.parameters.get("memory_budget")
        return self.options.open(self.data, screen, split=split, memory=memory, schema=schema)

    def _unfinished(self, screen: Screen) -> Any:
        """Return the model of the checkpoint, None without --resume or without a checkpoint."""
        if not self.resume:
            if self.checkpoint.exists():
                screen.note(
                    f"{self.checkpoint} of an earlier run will be overwritten; --resume would "
                    "continue from it instead."
                )
            return None
        if not self.checkpoint.exists():
            screen.note(f"There is no checkpoint {self.checkpoint}: this is a new fit.")
            return None
        before = bochner.read_header(self.checkpoint).summary.get("settings") or {}
        before = DataOptions().settings() | before  # an earlier version had fewer options
        if before != self.settings:
            changed = [k for k in self.settings if before.get(k) != self.settings[k]]
            raise ValueError(
                f"--resume needs the options of the run that was interrupted; these differ: "
                f"{', '.join(changed)}. Give the same ones, or leave --resume out to start again."
            )
        return bochner.load(self.checkpoint)

    def _model(self, choice: TaskChoice, unfinished: Any) -> Any:
        asked = self.parameters | {"random_state": self.seed}
        if unfinished is None:
            return make_estimator(choice.task, asked)
        free = {k: v for k, v in asked.items() if k in FREE}
        return unfinished.set_params(**free)

    def _learn(self, model: Any, source: FileSource, screen: Screen) -> None:
        checkpoints: list[Any] = []
        if not isinstance(model, bochner.KernelGaussianProcess):  # has no checkpoints
            settings = {"settings": self.settings}
            checkpoints = [bochner.Checkpoint(self.checkpoint, self.checkpoint_every, settings)]
        before = self._checkpoint_time
        try:
            with progress_callbacks(screen, self.parameters.get("max_seconds")) as callbacks:
                model.set_params(callbacks=[*callbacks, *checkpoints])
                model.fit(source)
        except KeyboardInterrupt:
            raise self._interrupted(screen, before) from None
        model.set_params(callbacks=None)

    def _save(self, model: Any, summary: dict[str, Any], screen: Screen) -> None:
        """Write the model, and remove the checkpoint; a Ctrl-C waits until this is done."""
        with interruptible() as interrupted:
            bochner.save(model, self.out, summary=summary)
            self.checkpoint.unlink(missing_ok=True)
        if interrupted.is_set():
            raise screen.error(f"interrupted; {self.out} was saved.", INTERRUPTED)

    @property
    def _checkpoint_time(self) -> int | None:
        """When the checkpoint was written, None if there is none."""
        return self.checkpoint.stat().st_mtime_ns if self.checkpoint.exists() else None

    @property
    def _nothing_kept(self) -> str:
        """What is left of a fit that was interrupted before it could keep anything."""
        text = f"nothing was kept, and {self.out} was not written."
        if self.checkpoint.exists():
            text += f" {self.checkpoint} of an earlier run is as it was."
        return text

    def _interrupted(self, screen: Screen, before: int | None) -> typer.Exit:
        now = self._checkpoint_time
        if now is None or (now == before and not self.resume):
            text = f"interrupted before the first checkpoint; {self._nothing_kept}"
            return screen.error(text, INTERRUPTED)
        return screen.error(
            f"interrupted. What was learned is in {self.checkpoint}; continue by the same command "
            "with --resume.",
            INTERRUPTED,
        )

    def _evaluate(self, model: Any, schema: Schema, screen: Screen) -> dict[str, float]:
        try:
            with closing(self._open("test", screen, schema)) as source:
                return evaluate_model(model, source, schema.targets).scores
        except ValueError as error:
            raise ValueError(
                f"{self.out} was saved, but not tested. {in_command_words(error)}"
            ) from error
        except KeyboardInterrupt:
            text = f"interrupted; {self.out} was saved, but not tested."
            raise screen.error(text, INTERRUPTED) from None

    def _summary(self, choice: TaskChoice, source: FileSource, seconds: float) -> dict[str, Any]:
        return {
            "task": choice.task.value,
            "files": list(source.paths),
            "training_rows": source.n_rows,
            "skipped_rows": source.skipped.count,
            "total_seconds": seconds,
            "test": {"share": self.test, "seed": self.seed} if self.test > 0 else None,
            "scores": {},
            "command": self.command,
        }

    def _result(self, model: Any, summary: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        size = self.out.stat().st_size
        reason = model.__dict__.get("stopped_because_")
        record = summary | {
            "model": str(self.out),
            "bytes": size,
            "estimator": type(model).__name__,
            "stopped_because": None if reason is None else in_command_words(reason),
            "plan": str(model.plan_) if "plan_" in model.__dict__ else None,
        }
        scores = "; ".join(f"{name} {value:.4g}" for name, value in summary["scores"].items())
        line = f"{self.out} ({amount(size)}): {type(model).__name__} of {_rows(summary)}"
        line += f" in {duration(summary['total_seconds'])}"
        lines = [f"{line}{'; test rows: ' if scores else ''}{scores}."]
        if record["stopped_because"]:
            lines.append(f"It ended because {record['stopped_because']}.")
        return record, lines


def _rows(summary: dict[str, Any]) -> str:
    rows = summary["training_rows"]
    return "rows of a stream" if rows is None else counted(rows, "row")


def _size(source: FileSource) -> str:
    rows = "Rows" if source.n_rows is None else counted(source.n_rows, "row")
    return f"{rows} of {counted(source.n_columns, 'column')}"
