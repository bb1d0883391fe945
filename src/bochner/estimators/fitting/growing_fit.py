"""GrowingFit: train, and train again where the basis grows or the smoothing width falls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from bochner.callbacks import Callback, CheckpointCallback, History
from bochner.data import DataSource
from bochner.estimators.automatic.settings import FitSettings
from bochner.estimators.fitting.reporting import PassReporter, StopAsked
from bochner.estimators.fitting.resume import require_checkpoints
from bochner.estimators.fitting.setup import FitRecord, Preparation, Setup, TrainingData
from bochner.estimators.fitting.smoothed_losses import (
    QuantileCalibration,
    calibrates_quantiles,
    with_smaller_width,
)
from bochner.solvers import Solver
from bochner.stopping import OnePass, Seconds, Stop
from bochner.training.loop import (
    INTERRUPTED,
    Solution,
    Training,
    best_expansion,
    initial_training,
    run,
)
from bochner.training.progress import Progress, Reason

UNFINISHED = Reason("it has not ended", converged=False)


@dataclass(frozen=True)
class SmallerFit:
    """Data, solution and history of a fit before its basis grew."""

    data: TrainingData
    solution: Solution
    history: History


@dataclass
class GrowingFit:
    """The runs of one fit, of which several are needed where the basis grows.

    `coded` are the rows by `Setup.coded`, `total_weight` that of the rows if they have weights;
    `history` gets a line for each batch of all runs; `began` is by `time.perf_counter`. While a
    larger basis has yet to prove better, `smaller` is the result to return to.
    """

    settings: FitSettings
    coded: DataSource
    prepared: Preparation
    history: History
    began: float
    reporter: PassReporter
    model_of: Callable[[FitRecord], Any] | None
    total_weight: float | None = None
    smaller: SmallerFit | None = None

    @property
    def solver(self) -> Solver[Any]:
        """The solver."""
        return self.prepared.solver

    @property
    def until(self) -> float:
        """The time at which the fit is to end, infinite without a limit."""
        most = self.settings.max_seconds
        return inf if most is None else self.began + most

    def training_data(
        self,
        setup: Setup,
        early_stopping: bool | str | None = None,
        smaller: TrainingData | None = None,
    ) -> TrainingData:
        """Return rows and problem for the solver; `smaller` are those of a smaller basis."""
        if early_stopping is None:
            early_stopping = self.settings.stops_early(self.solver)
        return TrainingData.for_solver(
            self.coded,
            setup,
            self.solver,
            alpha=self.prepared.alpha(self.settings.alpha, self.coded.n_rows),
            intercept=self.settings.fit_intercept,
            early_stopping=early_stopping,
            memory=self.settings.memory,
            total_weight=self.total_weight,
            smaller=smaller,
            until=self.until,
        )

    def run(
        self, data: TrainingData, training: Training | None, since: float
    ) -> tuple[TrainingData, Solution]:
        """Train; enlarge the basis and train again, as long as held-out rows gain by it."""
        data, solution = self._train(data, training)
        while (larger := self._larger(data, solution, since)) is not None:
            since = solution.progress.seconds
            self.smaller = SmallerFit(data, solution, copied_history(self.history.columns))
            try:
                data = self.training_data(larger, smaller=data)
            except KeyboardInterrupt:  # what was learned with fewer functions is not lost
                return self.smaller.data, replace(solution, reason=INTERRUPTED)
            data, after = self._train(data, self._on_larger_basis(data, solution.training))
            if not after.training.best_loss < solution.training.best_loss:
                return self._revert(self.smaller, after)
            solution, self.smaller = after, None
        return data, solution

    def makes_last_pass(self, data: TrainingData, solution: Solution) -> bool:
        """Whether the held-out rows are learned, too, in a last pass."""
        return (
            self.solver.tags.keeps_best and data.held_out is not None and solution.reason.converged
        )

    def last_pass(self, data: TrainingData, solution: Solution) -> Solution:
        """Continue from the best function for one pass through all rows, held-out ones included.

        An interrupted pass is continued, a finished one is not repeated. A time limit ends it.
        """
        every = self.training_data(data.setup, early_stopping=False)
        # The basis has been prepared for these rows.
        every = replace(every, problem=replace(every.problem, basis=data.problem.basis))
        training, self.smaller = solution.training, None
        if training.last_pass is None:
            training.state = self.solver.on_new_rows(every.problem, training.state)
            training.position, training.last_pass = 0, training.pass_
        stop: Stop = OnePass(training.last_pass)
        if self.settings.max_seconds is not None:
            stop = stop | Seconds(self.settings.max_seconds)
        last = run(
            self.solver,
            every.problem,
            every.source,
            stop=stop,
            callbacks=(self.history, *self._callbacks(every)),
            training=training,
            used=time.perf_counter() - self.began,
        )
        return replace(last, reason=solution.reason) if last.reason.converged else last

    def quantile_shift(self, data: TrainingData, solution: Solution) -> tuple[Solution, Any]:
        """Return what to add to each quantile (0 for other losses); a Ctrl-C ends the fit."""
        if (
            not calibrates_quantiles(data.setup.loss, self.settings)
            or solution.reason is INTERRUPTED
        ):
            return solution, 0.0
        limit = self.settings.max_seconds
        deadline = np.inf if limit is None else self.began + limit
        calibration = QuantileCalibration(
            self.coded, self.solver, self.settings, self._train_quietly, deadline
        )
        try:
            return solution, calibration.shift(data, solution)
        except KeyboardInterrupt:  # what was learned is not lost
            return replace(solution, reason=INTERRUPTED), 0.0

    def _train(
        self, data: TrainingData, training: Training | None
    ) -> tuple[TrainingData, Solution]:
        """Train; reduce the smoothing width of the loss and train again, as residuals fall."""
        solution = self._run(data, training)
        while (next_ := with_smaller_width(data, solution, self.solver, self.settings)) is not None:
            data, training = next_
            self.prepared = replace(
                self.prepared, setup=replace(self.prepared.setup, loss=data.setup.loss)
            )
            solution = self._run(data, training)
        return data, solution

    def _train_quietly(self, data: TrainingData) -> tuple[TrainingData, Solution]:
        """Train without callbacks, and without a trace in the history."""
        settings = replace(self.settings, callbacks=None, verbose=False)
        quiet = replace(self, settings=settings, history=History(), reporter=PassReporter())
        return quiet._train(data, None)

    def _run(self, data: TrainingData, training: Training | None) -> Solution:
        rule = self.settings.stopping_rule(self.solver, data.held_out is not None)
        return run(
            self.solver,
            data.problem,
            data.source,
            stop=rule | StopAsked(self.reporter),
            callbacks=(self.history, self.reporter, *self._callbacks(data)),
            held_out=data.held_out,
            training=training,
            used=time.perf_counter() - self.began,
        )

    def _larger(self, data: TrainingData, solution: Solution, since: float) -> Setup | None:
        """Return a setup with a larger basis if the last growth was worth it and time is left.

        The last growth started `since` seconds after the fit; the next, twice as large, takes twice
        as long.
        """
        training, seconds = solution.training, solution.progress.seconds
        if data.held_out is None or not solution.reason.converged:
            return None
        if self.prepared.tuned is not None and not self.settings.effort.grows:
            return None
        if training.last_pass is not None:  # that came after all growth
            return None
        most, tol = self.settings.max_seconds, self.settings.tol
        if most is not None and seconds + 2 * (seconds - since) > most:
            return None
        if training.smaller_losses and training.best_loss > (1 - tol) * training.smaller_losses[-1]:
            return None
        return data.setup.with_larger_basis(data.problem.rows)

    def _on_larger_basis(self, data: TrainingData, training: Training) -> Training:
        """Return the record for more functions on the same rows, which starts from zero weights.

        Weights of fewer functions are no help: they fit noise that the larger basis would not, so
        that held-out rows end the fit later and with a higher loss.
        """
        larger = initial_training(self.solver, data.problem, data.source)
        past = {name: getattr(training, name) for name in ("pass_", "step", "rows")}
        return replace(
            larger, **past, smaller_losses=(*training.smaller_losses, training.best_loss)
        )

    def _revert(self, before: SmallerFit, after: Solution) -> tuple[TrainingData, Solution]:
        """Return to fewer functions, after more did not help or were interrupted."""
        solution = before.solution
        if after.reason is INTERRUPTED:
            self.history.columns = before.history.columns
            return before.data, replace(solution, reason=INTERRUPTED)
        # A growth that did not help is not tried again.
        solution.training.smaller_losses += (solution.training.best_loss,)
        return before.data, solution

    def _callbacks(self, data: TrainingData) -> list[Callback]:
        """Return the user's callbacks; one that saves checkpoints is given models to save."""
        given = self.settings.all_callbacks()
        if any(isinstance(one, CheckpointCallback) for one in given):
            require_checkpoints(self.prepared)
        return [
            partial(self._offer, one, data) if isinstance(one, CheckpointCallback) else one
            for one in given
        ]

    def _offer(self, callback: CheckpointCallback, data: TrainingData, progress: Progress) -> None:
        callback.keep(progress, partial(self._unfinished, data, progress))

    def _unfinished(self, data: TrainingData, progress: Progress) -> Any:
        """Return a model that resumes from here when it is fitted."""
        training, history, setup, before = progress.training, self.history, data.setup, self.smaller
        if before is not None and not training.best_loss < before.solution.training.best_loss:
            setup, history = before.data.setup, before.history
            training, expansion = before.solution.training, before.solution.expansion
        else:
            expansion = best_expansion(self.solver, data.problem, training.state)
        if training.prediction_cache is not None:
            cache = replace(training.prediction_cache, code=None)
            training = replace(training, prediction_cache=cache)
        solution = Solution(expansion, training, UNFINISHED, progress.detached())
        setup = replace(setup, rows_in_bins=None)
        record = FitRecord.of(self.prepared, setup, solution, history)
        used = time.perf_counter() - self.began
        assert self.model_of is not None  # only an estimator's fit has checkpoints
        return self.model_of(replace(record, unfinished=True, seconds=used))


def copied_history(columns: dict[str, list[Any]]) -> History:
    """Return a history with copies of these columns."""
    history = History()
    history.columns = {name: list(values) for name, values in columns.items()}
    return history
