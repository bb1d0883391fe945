"""The smoothing width of losses, which follows the residuals while a fit converges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.estimators.automatic.settings import FitSettings, is_auto
from bochner.estimators.fitting.setup import TrainingData
from bochner.losses import Loss, deviations
from bochner.losses.smoothed_absolute import Smoothed
from bochner.problem import Problem
from bochner.solvers import Solver
from bochner.solvers.binning.backfitting import BackfittingState
from bochner.training.loop import Solution, Training

FALL = 0.7  # of the residuals, from which a smaller width is worth another fit
LEAST_SHARE = 1e-3  # of the targets' deviation: a function through all rows has no residuals
RESIDUALS = 10_000  # rows whose residuals are computed if none are held out


def follows_residuals(settings: FitSettings, loss: Loss, solver: Solver[Any]) -> bool:
    """Whether a fit begins with a large smoothing width and reduces it.

    It does if the width is "auto", the solver minimises the smoothed loss in whole passes, and
    their number is not limited.
    """
    smoothed = isinstance(loss, Smoothed) and isinstance(loss.width, str)
    tags = solver.tags
    passes = tags.access != "shuffled" and tags.iterates and tags.takes_ridge
    return smoothed and passes and settings.max_passes is None


def with_smaller_width(
    data: TrainingData, solution: Solution, solver: Solver[Any], settings: FitSettings
) -> tuple[TrainingData, Training] | None:
    """Return data with a smaller smoothing width, and the record to continue with; None at the end.

    At first most residuals are larger than a small width, where the loss has a slope but no
    curvature: a fit would take long, or end on the way. So it begins with a large width.
    """
    problem, training = data.problem, solution.training
    if not follows_residuals(settings, problem.loss, solver) or not solution.reason.converged:
        return None
    found = _residual_deviations(data, solution)
    assert isinstance(problem.loss, Smoothed)
    if (found >= FALL * np.asarray(problem.loss.deviation)).any():
        return None
    problem = with_loss(problem, problem.loss.with_deviations(found), settings)
    state = solver.on_new_rows(problem, training.state)
    if isinstance(state, BackfittingState):
        state = replace(state, first_fall=0.0)  # the first decrease is that of the new loss
    training = replace(training, state=state, position=0, prediction_cache=None, evaluations=())
    return replace(data, setup=replace(data.setup, loss=problem.loss), problem=problem), training


def with_loss(problem: Problem, loss: Loss, settings: FitSettings) -> Problem:
    """Return the problem with a loss of another width; alpha="auto" is in proportion to it.

    Slopes of these losses are bounded, so that an alpha for much noise would hide a function of
    little noise. With noise of deviation s, the variance of a slope is a constant and the curvature
    of the mean loss about 1 / s: the alpha of least risk is their ratio, in proportion to s.
    """
    alpha = problem.alpha
    if is_auto(settings.alpha):
        alpha *= problem.loss.typical_curvature / loss.typical_curvature
    return replace(problem, loss=loss, alpha=alpha)


def _residual_deviations(data: TrainingData, solution: Solution) -> NDArray[np.float64]:
    """Return the deviations of the residuals; the same for all outputs of one target."""
    rows = data.held_out
    if rows is None:
        rows = data.source.sample(RESIDUALS, data.problem.seed)
    found = _deviations(rows, rows.targets - solution.expansion(rows.X))
    _, target = np.unique(rows.targets, axis=1, return_inverse=True)
    least = np.full(len(found), np.inf)
    np.minimum.at(least, target.ravel(), found)
    lowest = LEAST_SHARE * _deviations(rows, rows.targets)
    return np.asarray(np.maximum(least[target.ravel()], lowest))


def _deviations(rows: Batch, values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(deviations(np.asarray(values, np.float64), rows.weight))
