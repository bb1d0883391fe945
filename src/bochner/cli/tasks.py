"""Tasks: which estimator learns what a file holds, with the parameters that were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bochner.cli.names import Task

if TYPE_CHECKING:
    from bochner.data import FileSource

MOST_CLASSES = 50  # whole numbers with more values than this are numbers
LOOKED_AT = 65_536  # rows at a time
ESTIMATORS = {
    Task.CLASSIFICATION: "KernelClassifier",
    Task.REGRESSION: "KernelRegressor",
    Task.QUANTILES: "KernelQuantileRegressor",
    Task.GAUSSIAN_PROCESS: "KernelGaussianProcess",
    Task.NOVELTY: "KernelNoveltyDetector",
}


@dataclass(frozen=True)
class Chosen:
    """A task, and why it is that one."""

    task: Task
    why: str


def chosen(asked: Task, source: FileSource, quantiles: tuple[float, ...] | None) -> Chosen:
    """Return the task that was asked for, or the one that the target is for."""
    schema = source.schema
    if asked is not Task.AUTO:
        return Chosen(_suitable(asked, source), "so it was asked for")
    if quantiles is not None:
        return Chosen(_suitable(Task.QUANTILES, source), "quantiles were asked for")
    if schema.target_kind == "none":
        return Chosen(Task.NOVELTY, "there is no --target")
    name = ", ".join(schema.targets)
    if schema.target_kind == "label":
        return Chosen(Task.CLASSIFICATION, f"{name} holds text")
    if schema.flat and schema.whole and (count := _distinct(source)) <= MOST_CLASSES:
        why = f"{name} holds {count} whole numbers; --task regression takes them as numbers"
        return Chosen(Task.CLASSIFICATION, why)
    return Chosen(Task.REGRESSION, f"{name} holds numbers")


def _suitable(task: Task, source: FileSource) -> Task:
    kind = source.schema.target_kind
    if kind == "none" and task is not Task.NOVELTY:
        raise ValueError(f"--task {task} needs a column to predict: give --target NAME.")
    if kind == "label" and task not in (Task.CLASSIFICATION, Task.NOVELTY):
        raise ValueError(
            f"--task {task} needs a target of numbers, but {source.schema.targets[0]} holds text."
        )
    return task


def _distinct(source: FileSource) -> int:
    """Return the number of values of the target, or some number above the most."""
    found: set[Any] = set()
    for batch in source.batches(LOOKED_AT):
        found.update(np.unique(np.asarray(batch.y)).tolist())
        if len(found) > MOST_CLASSES:
            break
    return len(found)


def estimator(task: Task, parameters: dict[str, Any]) -> Any:
    """Return an estimator for a task; a parameter that it does not have is refused."""
    import bochner

    model = getattr(bochner, ESTIMATORS[task])()
    known = model.get_params()
    for name, value in parameters.items():
        if name.partition("__")[0] not in known:
            raise ValueError(
                f"{type(model).__name__}, which is for --task {task}, has no parameter {name!r}; "
                f"it has {', '.join(n for n in known if '__' not in n)}."
            )
        model.set_params(**{name: value})
    return model
