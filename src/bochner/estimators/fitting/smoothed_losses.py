"""What fits of smoothed losses add: a width that follows the residuals, calibrated quantiles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.automatic.settings import FitSettings, is_auto, loss_for_targets
from bochner.estimators.fitting.setup import TrainingData, held_out_rows, split
from bochner.features import SAMPLE_ROWS
from bochner.losses import Loss, Quantile, deviations
from bochner.losses.smoothed_absolute import Smoothed, quantile_of
from bochner.problem import Expansion, Problem
from bochner.solvers import Solver
from bochner.solvers.binning.backfitting import BackfittingState
from bochner.training.loop import INTERRUPTED, Solution, Training

FALL = 0.7  # of the residuals, from which a smaller width is worth another fit
LEAST_SHARE = 1e-3  # of the targets' deviation: a function through all rows has no residuals
RESIDUALS = 10_000  # rows whose residuals are computed if none are held out
ENOUGH_ROWS = 2_000  # the quantile 5% then has 4.5% to 5.5% of new rows below
FEWEST_ROWS = 200  # for which further fits hold rows out
MOST_FITS = 10  # that hold out other rows
QUICK_PASSES = 100  # of a fit to the minimum: ten that are longer would take too long
Residuals = tuple[NDArray[Any], NDArray[Any]]  # and the weights of their rows


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


def calibrates_quantiles(loss: Loss, settings: FitSettings) -> bool:
    """Whether a fit calibrates quantiles: their shifts are added to an intercept."""
    return isinstance(loss, Quantile) and settings.fit_intercept


@dataclass(frozen=True)
class QuantileCalibration:
    """Learns by how much the quantiles of a fit are shifted.

    A function is too close to the rows that it was fitted to, so that its intervals are too narrow.
    Each quantile is shifted by the quantile tau of the residuals of rows that it has not learned:
    those that were held out, or if these are few those that are held out from further fits (as in
    conformalized quantile regression, Romano, Patterson and Candes 2019, with a shift for each
    end).

    Parameters
    ----------
    coded : DataSource
        All rows, by `Setup.coded`.
    solver, settings
        Those of the fit.
    train : callable
        Trains on rows, with held-out ones to end the fit.
    deadline : float
        When no further fit begins, by `time.perf_counter`.
    """

    coded: DataSource
    solver: Solver[Any]
    settings: FitSettings
    train: Callable[[TrainingData], tuple[TrainingData, Solution]]
    deadline: float

    def shift(self, data: TrainingData, solution: Solution) -> Any:
        """Return what to add to each output, so that the share tau of new rows lies below."""
        found = solution.expansion
        known = [] if data.held_out is None else [residuals(found, data.held_out)]
        if _rows(known) < ENOUGH_ROWS and self._may_fit_again(solution):
            known += self._further(data, _rows(known))
        weights = np.concatenate([weight for _, weight in known]) if known else np.empty(0)
        if not weights.any():
            return 0.0
        left = np.concatenate([values for values, _ in known])
        assert isinstance(data.setup.loss, Quantile)
        shares = np.broadcast_to(data.setup.loss.quantile, left.shape[1])
        outputs = zip(left.T, shares, strict=True)
        return np.array([quantile_of(values, tau, weights) for values, tau in outputs])

    def _may_fit_again(self, solution: Solution) -> bool:
        limited = self.settings.early_stopping is False or self.settings.max_passes is not None
        coded = self.coded
        known = isinstance(coded, RandomAccess) and coded.n_rows >= FEWEST_ROWS
        quick = self.solver.tags.iterates or solution.training.pass_ <= QUICK_PASSES
        return known and not limited and quick and solution.reason.converged

    def _further(self, data: TrainingData, rows: int) -> Iterator[Residuals]:
        """Yield residuals of rows held out from further fits, each a tenth of all at random."""
        seconds = 0.0
        for number in range(1, MOST_FITS + 1):
            began = time.perf_counter()
            if rows >= ENOUGH_ROWS or began + seconds > self.deadline:
                return
            found = self._fitted(data, data.setup.seed + number)
            if found is not None:
                yield found
                rows += len(found[1])
            seconds = time.perf_counter() - began

    def _fitted(self, data: TrainingData, seed: int) -> Residuals | None:
        """Return residuals of rows held out by another seed, None if these have no weight."""
        chosen = split(self.coded, True, seed)
        sample = self.coded.sample(SAMPLE_ROWS, seed)
        if held_out_rows_or_none(chosen) is None:
            return None
        loss = data.problem.loss
        if follows_residuals(self.settings, loss, self.solver):
            loss = loss_for_targets(sample, loss, None)
        problem = with_loss(data.problem, loss, self.settings)
        others = TrainingData.for_solver(
            self.coded,
            replace(data.setup, seed=seed, loss=loss),
            self.solver,
            alpha=problem.alpha,
            intercept=True,
            early_stopping=True,
            memory=self.settings.memory,
        )
        held_out = others.held_out
        if not self.solver.tags.iterates:  # it is never stopped early
            others = replace(others, held_out=None)
        _, solution = self.train(others)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        assert held_out is not None
        return residuals(solution.expansion, held_out)


def residuals(found: Expansion, rows: Batch) -> Residuals:
    """Return the residuals of a function at rows, and the weights of the rows."""
    return rows.targets - found(rows.X), rows.weights


def held_out_rows_or_none(rest: DataSource) -> Batch | None:
    """Return the held-out rows, None if they cannot be used."""
    try:
        return held_out_rows(rest)
    except ValueError:  # there are none, or all have weight 0
        return None


def _rows(known: list[Residuals]) -> int:
    return sum(len(weight) for _, weight in known)
