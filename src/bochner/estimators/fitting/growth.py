"""When a fit continues with a larger basis, and what it keeps if that does not help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bochner.estimators.fitting.setup import Setup, TrainingData
from bochner.solvers import Solver
from bochner.training.loop import INTERRUPTED, Solution, Training, initial_training


def training_on_larger_basis(
    training: Training, solver: Solver[Any], data: TrainingData
) -> Training:
    """Return the record for more functions on the same rows, which starts from zero weights.

    Weights of fewer functions are no help: they fit noise that the larger basis would not, so that
    held-out rows end the fit later and with a higher loss.
    """
    larger = initial_training(solver, data.problem, data.source)
    past = {name: getattr(training, name) for name in ("pass_", "step", "rows")}
    return replace(larger, **past, levels=(*training.levels, _best_loss(training)))


def larger_setup(
    data: TrainingData, solution: Solution, tol: float, most_seconds: float | None, since: float
) -> Setup | None:
    """Return a setup with a larger basis if the last growth was worth it and time is left.

    The last growth started `since` seconds after the fit; the next, twice as large, takes twice as
    long.
    """
    training, seconds = solution.training, solution.progress.seconds
    if data.held_out is None or not solution.reason.converged:
        return None
    if most_seconds is not None and seconds + 2 * (seconds - since) > most_seconds:
        return None
    if training.levels and _best_loss(training) > (1 - tol) * training.levels[-1]:
        return None
    return data.setup.with_larger_basis(data.problem.rows)


def solution_without_growth(before: Solution, after: Solution) -> Solution:
    """Return the solution with fewer functions, after more did not help or were interrupted.

    A growth that did not help is not tried again.
    """
    if after.reason is INTERRUPTED:
        return replace(before, reason=INTERRUPTED)
    before.training.levels += (_best_loss(before.training),)
    return before


def has_improved(before: Training, after: Training) -> bool:
    """Whether the best loss on held-out rows is lower after a growth than before it."""
    return _best_loss(after) < _best_loss(before)


def _best_loss(training: Training) -> float:
    return min((evaluation.loss for evaluation in training.evaluations), default=np.inf)
