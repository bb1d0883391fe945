"""Fits and saves that are killed by SIGKILL at random moments.

Each runs in a fork of this process, which has compiled everything, so that most of its time is the
fit and not its start.
"""

from __future__ import annotations

import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bochner
from bochner.features import Binning, Centers
from bochner.solvers import Solver

ROWS = 400
BEYOND = 1.1  # times the length of a fit: some kills come after its end
SOLVERS: dict[str, dict[str, Any]] = {
    "averaged": {"features": Binning(16), "max_passes": 10, "tol": 0.0},
    "backfitting": {"features": Binning(16), "max_passes": 10, "early_stopping": True},
    "cdsg": {"max_passes": 12, "tol": 0.0},
    "cg": {"features": Binning(16), "max_passes": 10},
    "coordinate": {"features": Binning(16), "max_passes": 3},
    "direct": {},
    "dsg": {"max_passes": 10, "tol": 0.0},
    "eigenpro": {"features": Centers(100), "max_passes": 3},
    "newton": {"features": Binning(16), "loss": "huber", "max_passes": 10},
    "nystroem": {"features": Centers(100), "max_passes": 30},
    "pegasos": {"features": Centers(50), "max_passes": 1},
    "smo": {"loss": "absolute", "max_passes": 3},
    "udsg": {"max_passes": 12, "tol": 0.0},
}
assert SOLVERS.keys() >= set(Solver.registry), "a solver has no case"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    kills: int
    files: int
    good: int


def data() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def machine(name: str) -> Any:
    return bochner.KernelRegressor(solver=name, random_state=0, **SOLVERS[name])


def fit(name: str, path: Path) -> None:
    """Fit with a checkpoint after every batch, resuming from the last one if there is one."""
    model = bochner.load(path) if path.exists() else machine(name)
    model.set_params(callbacks=[bochner.Checkpoint(path, 0)]).fit(*data())


def killed_fits(name: str, kills: int, chance: random.Random, folder: Path) -> Row:
    """Kill a fit, and some of those that resume it; compare the end with the whole."""
    X, y = data()
    whole, path, files, good = machine(name).fit(X, y), folder / name, 0, 0
    begun = time.monotonic()
    os.waitpid(_child(lambda: fit(name, path)), 0)  # a child is slower than this process
    longest = BEYOND * (time.monotonic() - begun)
    for number in range(kills):
        if number % 3 == 0:
            path.unlink(missing_ok=True)
        _kill(lambda: fit(name, path), chance.uniform(0.0, longest))
        files += path.exists()
        good += _same(bochner.load(path) if path.exists() else machine(name), whole, X, y)
        _remove_leftovers(path)
    return Row(f"fit, {name}", kills, files, good)


def _same(model: Any, whole: Any, X: Any, y: Any) -> bool:
    """Whether a fit resumes to the bits of the whole one."""
    resumed = model.fit(X, y)
    return bool(
        np.array_equal(resumed.predict(X), whole.predict(X))
        and resumed.history_["loss"] == whole.history_["loss"]
    )


def killed_saves(kills: int, chance: random.Random, folder: Path) -> Row:
    """Kill a process that replaces a model again and again."""
    X, y = data()
    models = [machine("cg").set_params(max_passes=n).fit(X, y) for n in (1, 2)]
    answers, path, good = [model.predict(X) for model in models], folder / "model", 0
    bochner.save(models[0], path)

    def replace_again_and_again() -> None:
        while True:
            for model in models:
                bochner.save(model, path)

    for _ in range(kills):
        _kill(replace_again_and_again, chance.uniform(0.0, 0.3))
        found = bochner.load(path).predict(X)
        good += any(np.array_equal(found, answer) for answer in answers)
        _remove_leftovers(path)
    return Row("save", kills, kills, good)


def _kill(work: Callable[[], None], seconds: float) -> None:
    child = _child(work)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _child(work: Callable[[], None]) -> int:
    child = os.fork()
    if not child:
        try:
            warnings.simplefilter("ignore")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
        finally:
            os._exit(0)
    return child


def _remove_leftovers(path: Path) -> None:
    """Remove what a killed process cannot: its temporary file."""
    for file in path.parent.glob(f".{path.name}.*"):
        file.unlink()
