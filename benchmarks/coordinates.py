"""Do UDSG and CDSG get as far as DSG in the same time, with fewer features?

DSG always draws new features, UDSG and CDSG reuse old ones (Li and Poczos 2016). All take the
plain step with one rule for theta, the same batches, the same blocks and the same kernel, for the
same seconds of training; the default solver (preconditioned step) runs beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.data import ArraySource, Shuffled
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, PredictionCache
from common import (
    COLOURS,
    data_argument,
    introduce,
    load,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
)
from experiment import Budget, Experiment, Watch, posed

METHODS = {"DSG": "new", "UDSG": "uniform", "CDSG": "checked"}
DEFAULT = "default (preconditioned)"
LOOKS = 8
LOOKED_AT = 20_000  # training rows over which the loss is taken


@dataclass(frozen=True)
class Task:
    """A data set, its loss, and the batches and blocks that all plain methods share."""

    name: str
    loss: str
    batch_size: int
    feature_block: int
    standardise: bool


TASKS = (
    Task("covtype", "logistic", 1024, 256, standardise=True),
    Task("a9a", "logistic", 512, 128, standardise=False),
    Task("california", "squared", 256, 128, standardise=True),
)


@dataclass(frozen=True)
class Split:
    """Training and test rows, targets as columns."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split(task: Task, folder: Any) -> Split:
    X, y, X_test, y_test = load(folder, task.name)
    if task.standardise:
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation == 0] = 1
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    y, y_test = coded(task, y, y_test)
    return Split(X, y, X_test, y_test)


def coded(task: Task, y: np.ndarray, y_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the targets as columns: standardised numbers, or +1 for the label 1 and -1 else."""
    if task.loss == "squared":
        mean, deviation = y.mean(), y.std()
        return ((y - mean) / deviation)[:, None], ((y_test - mean) / deviation)[:, None]
    return np.where(y == 1, 1.0, -1.0)[:, None], np.where(y_test == 1, 1.0, -1.0)[:, None]


def plain(task: Task, coordinates: str) -> DoublyStochastic:
    return DoublyStochastic(
        step="plain",
        coordinates=coordinates,
        batch_size=task.batch_size,
        feature_block=task.feature_block,
        max_features=None,
    )


def test_error(task: Task, y: np.ndarray, f: np.ndarray) -> float:
    """Return the root mean squared error, or the share of wrong labels."""
    if task.loss == "squared":
        return float(np.sqrt(np.mean((f - y) ** 2)))
    return float(np.mean((f > 0) != (y > 0)))


def looker(task: Task, data: Split, experiment: Experiment) -> Callable[[], dict[str, float]]:
    """Return a function that takes the figures of an experiment as it stands."""
    problem = experiment.problem
    some = np.random.default_rng(0).permutation(len(data.X))[:LOOKED_AT]
    y, training = data.y[some], PredictionCache(problem.basis.encode(data.X[some]))
    tested = PredictionCache(problem.basis.encode(data.X_test[:LOOKED_AT]))

    def figures() -> dict[str, float]:
        return {
            "loss": float(problem.loss.value(y, experiment.mean(training)).mean()),
            "last loss": float(problem.loss.value(y, experiment.last(training)).mean()),
            "test error": test_error(task, data.y_test[:LOOKED_AT], experiment.mean(tested)),
        }

    return figures


def trained(
    task: Task, data: Split, problem: Problem, solver: DoublyStochastic, seconds: float
) -> list[dict[str, Any]]:
    """Return the figures at some moments of a training that takes so many seconds."""
    experiment = Experiment(solver, problem, Shuffled(ArraySource(data.X, data.y)))
    moments = np.geomspace(seconds / 40, seconds, LOOKS)[:-1]
    watch = Watch(looker(task, data, experiment), moments)
    experiment.run(Budget(seconds, watch), watch)
    return watch.lines


def compare(task: Task, data: Split, given: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Run every method for the same seconds."""
    source = ArraySource(data.X, data.y)
    solvers = {name: plain(task, policy) for name, policy in METHODS.items()}
    solvers[DEFAULT] = DoublyStochastic()
    curves = {}
    for name, solver in solvers.items():
        # A new basis each: frequencies that an earlier method drew are not kept for a later one.
        _, problem = posed(source, "gaussian", task.loss, given.alpha, given.seed)
        curves[name] = trained(task, data, problem, solver, given.seconds)
    return curves


def show(task: Task, curves: dict[str, list[dict[str, Any]]]) -> None:
    error = "test RMSE" if task.loss == "squared" else "test error"
    print(f"\n{task.name}, {task.loss} loss, batches of {task.batch_size:,} rows, ", end="")
    print(f"blocks of {task.feature_block} features")
    titles = ("method", "steps", "features", "mean loss", "last iterate's", error)
    names = ("step", "features", "loss", "last loss", "test error")
    table(titles, [[name, *(lines[-1][k] for k in names)] for name, lines in curves.items()])


def judged(task: Task, curves: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Print whether CDSG ends with no worse a loss than DSG, and with fewer features."""
    new, checked = curves["DSG"][-1], curves["CDSG"][-1]
    ratio = checked["loss"] / new["loss"]
    loss = f"{task.name}: CDSG's loss is {ratio:.4f} times DSG's ({checked['loss']:.5f}, "
    loss += f"{new['loss']:.5f}), target at most 1; last iterates: "
    loss += f"{checked['last loss'] / new['last loss']:.4f}"
    fewer = f"{task.name}: CDSG has {checked['features'] / new['features']:.2f} times DSG's "
    fewer += "features, target below 1"
    return [
        target(loss, checked["loss"] <= new["loss"]),
        target(fewer, checked["features"] < new["features"]),
    ]


def draw(results: dict[Task, dict[str, list[dict[str, Any]]]]) -> None:
    plt = pyplot()
    if plt is None:
        return
    rows = len(results)
    figure, grid = plt.subplots(
        rows, 3, figsize=(10, 2.7 * rows), layout="constrained", squeeze=False
    )
    for (task, curves), axes in zip(results.items(), grid, strict=True):
        error = "test RMSE" if task.loss == "squared" else "test error"
        labels = ("mean training loss", error, "features used")
        for place, label, name in zip(
            axes, labels, ("loss", "test error", "features"), strict=True
        ):
            panel(place, curves, name)
            place.set(
                title=f"{task.name}: {label}", yscale="log" if name == "features" else "linear"
            )
    for place in grid[-1]:
        place.set_xlabel("seconds of training")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    save_picture("coordinates", figure)


def panel(place: Any, curves: dict[str, list[dict[str, Any]]], name: str) -> None:
    from matplotlib.ticker import LogLocator  # an extra: only where there is a picture

    for (method, lines), colour in zip(curves.items(), COLOURS, strict=False):
        values = [line[name] for line in lines]
        style = "s--" if method == DEFAULT else "o-"
        place.plot([line["seconds"] for line in lines], values, style, ms=3.5, color=colour,
                   label=method)  # fmt: skip
    place.set_xscale("log")
    place.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    place.xaxis.set_major_formatter("{x:g}")
    place.xaxis.set_minor_formatter("")


def chosen(given: argparse.Namespace) -> list[Task]:
    """Return the tasks that were asked for, with the sizes that were asked for."""
    changes = {"batch_size": given.batch_size, "feature_block": given.feature_block}
    changes = {name: value for name, value in changes.items() if value is not None}
    return [replace(task, **changes) for task in TASKS if task.name in given.sets]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--seconds", type=float, default=40, help="of training, for each run")
    parser.add_argument("--sets", nargs="+", default=[task.name for task in TASKS])
    parser.add_argument("--batch-size", type=int, default=None, help="instead of each set's own")
    parser.add_argument("--feature-block", type=int, default=None, help="instead of each set's own")
    parser.add_argument("--alpha", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    introduce(f"DSG, UDSG and CDSG, plain step, {given.seconds:g} s of training each")

    results, verdicts = {}, []
    for number, task in enumerate(chosen(given)):
        data = split(task, given.data)
        if number == 0:  # compiles
            compare(task, data, argparse.Namespace(**{**vars(given), "seconds": 0.5}))
        results[task] = compare(task, data, given)
        show(task, results[task])
        verdicts += judged(task, results[task])
    record = {"seconds": given.seconds, "alpha": given.alpha, "seed": given.seed}
    curves = [{**vars(task), "curves": lines} for task, lines in results.items()]
    save_record("coordinates", record | {"sets": curves, "targets": verdicts})
    draw(results)


if __name__ == "__main__":
    main()
