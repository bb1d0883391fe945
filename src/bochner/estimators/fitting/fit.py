"""Fit: from checked rows to a fitted function, step by step.

`fit` tunes, plans, sets up, trains, grows, calibrates and makes a last pass; `partial_fit` tunes,
plans, sets up and makes one pass over its rows. Each step takes and returns records.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bochner.callbacks import Callback, CheckpointCallback, History
from bochner.compute.pool import thread_count
from bochner.data import ArraySource, Batch, DataSource, Scaling
from bochner.data.statistics import RowStatistics
from bochner.estimators.automatic.plan import Costs, Plan, PlanInputs, make_plan
from bochner.estimators.automatic.scales import (
    KernelTuning,
    TunedKernel,
    describe_scales,
    scaled_kernel,
)
from bochner.estimators.automatic.settings import (
    FitSettings,
    default_kernel,
    default_loss,
    features_for_table,
    is_auto,
    loss_for_targets,
    text_taken_for_numbers,
    unscaled_columns,
)
from bochner.estimators.fitting.reporting import PassReporter, StopAsked
from bochner.estimators.fitting.resume import (
    has_row_functions,
    is_same_fit,
    require_checkpoints,
    require_fixed_basis,
    require_same_rows,
    resumed,
)
from bochner.estimators.fitting.setup import (
    FitRecord,
    Preparation,
    Setup,
    TrainingData,
    alpha_for,
    fit_digest,
    holds_out,
    require_recipe,
)
from bochner.estimators.inputs.tables import Table
from bochner.estimators.inputs.targets import TargetLearner, Targets, require_classes
from bochner.estimators.inputs.validation import (
    in_single_precision,
    require_scaled_rows,
    require_square,
)
from bochner.features import Centers, FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Backfitting, Solver
from bochner.stopping import OnePass
from bochner.training.loop import (
    INTERRUPTED,
    Solution,
    Training,
    best_expansion,
    initial_training,
    run,
)
from bochner.training.progress import Progress, Reason
from bochner.validation import seed_of

UNFINISHED = Reason("it has not ended", converged=False)
NOMINAL_OUTPUTS = 4  # for expected times: the targets have not been read yet
PILOT_ROWS, PILOT_SEED = 8_000, 0  # the same pilot for the same rows, whatever the seed of the fit
FEW_CENTERS, MANY_CENTERS = 500, 2_000


@dataclass(frozen=True)
class Fit:
    """One call of `fit` or `partial_fit` on checked rows.

    Parameters
    ----------
    settings : FitSettings
        The parameters of the estimator.
    rows : RowStatistics
        The rows, without missing numbers, and what a first pass over them learns.
    target_learner : TargetLearner
        Learns how the targets are coded for a loss.
    classes : array-like or None
        All labels, if the caller gave them.
    table, names
        How a data frame with text became numbers, and the names of the columns, or None.
    previous : FitRecord or None
        The earlier fit that this one continues.
    is_chunk : bool
        Whether the rows are a part of more (`partial_fit`).
    reporter : PassReporter
        Reports passes to scikit-learn's callbacks.
    model_of : callable or None
        Turns the record of an unfinished fit into a model, for checkpoints.
    """

    settings: FitSettings
    rows: RowStatistics
    target_learner: TargetLearner
    classes: Any = None
    table: Table | None = None
    names: Any = None
    previous: FitRecord | None = None
    is_chunk: bool = False
    reporter: PassReporter = field(default_factory=PassReporter)
    model_of: Callable[[FitRecord], Any] | None = None

    def run(self) -> FitRecord:
        """Fit until a stopping rule ends it."""
        previous, settings = self.previous, self.settings
        began = time.perf_counter() - (0.0 if previous is None else previous.seconds)
        prepared = self._prepare()
        solver, setup = prepared.solver, prepared.setup
        same = previous is not None and is_same_fit(prepared, previous, self.source, settings)
        if previous is not None and previous.unfinished:
            require_same_rows(same)
        if previous is not None and has_row_functions(setup.basis) and not same:
            return replace(self, previous=None).run()  # other rows have other functions
        growing = GrowingFit(
            settings,
            setup.coded(self.source),
            prepared,
            _history_of(previous),
            began,
            self.reporter,
            self.model_of,
        )
        ready = time.perf_counter() - began
        data = growing.training_data(setup)
        training = None if previous is None else resumed(previous, solver, data.problem, same)
        self.reporter.begin(settings.max_passes, setup.attributes)
        data, solution = growing.run(data, training, ready)
        if solution.training.last_pass is None:
            data = replace(data, setup=data.setup.calibrated(solution.expansion, data.held_out))
        if solver.tags.keeps_best and data.held_out is not None and solution.reason.converged:
            solution = growing.last_pass(data, solution)
        data.setup.basis.clear_cache()
        self.reporter.finish()
        # The progress holds a state whose rows may be dropped below.
        solution = replace(solution, progress=solution.progress.detached())
        if solution.reason.converged and not settings.warm_start:
            plain = replace(data.problem, basis=data.setup.basis, rows=None)
            _drop_rows(solution.training, solver, plain)
        record = FitRecord.of(prepared, data.setup_with_counts(), solution, growing.history)
        data.problem.basis.clear_cache()
        return record

    def run_once(self) -> FitRecord:
        """Read the rows once, in their order, and learn from each batch (`partial_fit`)."""
        previous, settings = self.previous, self.settings
        prepared = self._prepare()
        solver, setup = prepared.solver, prepared.setup
        require_fixed_basis(setup)
        alpha = alpha_for(settings.alpha, solver, setup.loss, None)
        problem = setup.problem(alpha, settings.fit_intercept, None)
        passes = 0 if previous is None else previous.n_iter
        training = None if previous is None else resumed(previous, solver, problem, False)
        if training is not None:
            training.pass_ = passes
        history = _history_of(previous)
        solution = run(
            solver,
            problem,
            setup.coded(self.source),
            stop=OnePass(passes),
            callbacks=(history, *settings.all_callbacks()),
            training=training,
        )
        return FitRecord.of(prepared, setup, solution, history)

    def plan(self, tuned: TunedKernel | None = None) -> Plan:
        """Return features, solver and loss; those that were "auto" in an earlier fit stay."""
        settings, source = self.settings, self.source
        before = None if self.previous is None else self.previous.setup
        features = before.features if before and is_auto(settings.features) else settings.features
        loss = before.loss if before and is_auto(settings.loss) else settings.loss
        scaled = self._tuning.learns_scales
        kernel = self._kernel(tuned, features, scaled)
        if isinstance(kernel, Precomputed):
            require_square(source, self.is_chunk, settings.scale)
        inputs = PlanInputs(
            self._costs(),
            self.is_chunk or source.once,
            bool(text_taken_for_numbers(self.table, kernel)),
            kernel,
            type(Loss.resolve("squared" if is_auto(loss) else loss)),
            partial(self.gain_of_centers, tuned),
            scaled=scaled,
            stops_early=self._ends_by_held_out_rows(),
            given=not is_auto(settings.kernel),
        )
        if (left := self._seconds_left(tuned)) is not None:
            inputs = replace(inputs, seconds=min(inputs.seconds, left))
        plan = make_plan(features, settings.solver, inputs)
        cost = None if plan.cost is None else plan.cost.by(thread_count())
        return replace(plan, cost=cost, loss=default_loss(loss, plan.solver))

    @property
    def source(self) -> DataSource:
        """The rows."""
        return self.rows.source

    # Before the first batch: tune, plan, set up.

    def _prepare(self) -> Preparation:
        previous = self.previous
        tuned = self._tuning.run() if previous is None else previous.tuned
        if previous is not None and previous.unfinished and not self.is_chunk:
            plan = previous.plan
        else:
            plan = self.plan(tuned)
        setup = self._set_up(plan, tuned)
        if previous is None and not self.is_chunk and self.source.n_rows is not None:
            setup = setup.with_initial_size(self.source.n_rows, self._seconds_left(tuned))
        solver: Solver[Any] = Solver.resolve(plan.solver)
        digest = fit_digest(self.rows.digest, self.settings.described(solver))
        return Preparation(tuned, plan, solver, setup, digest)

    def _targets(self, loss: Loss) -> Targets:
        return self.target_learner.learn(self.rows, self.classes, loss)

    def _whole_scaling(self) -> Scaling:
        """Return the scaling of all columns."""
        return Scaling.of(self.rows.moments, self.settings.scale)  # type: ignore[arg-type]

    @property
    def _tuning(self) -> KernelTuning:
        return KernelTuning(
            self.settings,
            self.source,
            self.table,
            self.names,
            self._targets,
            self._whole_scaling,
            once=self.is_chunk or self.source.once,
        )

    def _set_up(self, plan: Plan, tuned: TunedKernel | None) -> Setup:
        """Return what stays fixed in all later calls: the first fit's, or what these rows say."""
        settings = self.settings
        loss: Loss = Loss.resolve(plan.loss)
        kernel = self._kernel(tuned, plan.features)
        features = features_for_table(FeatureMap.resolve(plan.features), self.table, kernel)
        given = kernel if tuned is None else settings.kernel
        recipe = f"kernel={given}, loss={loss}, features={features}, scale={settings.scale!r}, "
        recipe += f"scales={describe_scales(settings.scales)}{self.target_learner.recipe}"
        if self.previous is not None:
            first = self.previous.setup.recipe
            require_recipe(first, recipe, "fit", ": fit with warm_start=False")
            require_classes(self.previous.setup.targets, self.classes)
            return self.previous.setup
        seed = seed_of(settings.random_state)
        targets = self._targets(loss)
        scaling = self._scaling(features, kernel)
        sample = self.source.sample(features.sample_rows(self.source.n_rows), seed)
        if scaling is not None:
            sample, features = scaling(sample), features.scaled(scaling)
            require_scaled_rows(kernel, sample, settings.scale)
        warping = None if tuned is None else tuned.warping
        sample = sample if warping is None else warping(sample)
        in_single_precision(sample.X)
        error = None if tuned is None or tuned.tuned is None else tuned.tuned.learned_error
        loss = loss_for_targets(targets(sample), loss, error)
        kernel, basis = prepare(kernel, features, sample, seed, np.float32, settings.memory)
        setup = Setup(seed, loss, kernel, features, basis, scaling, targets, recipe)
        return replace(setup, warping=warping)

    def _kernel(self, tuned: TunedKernel | None, features: Any, scaled: bool = False) -> Kernel:
        """Return the kernel with its scales; "auto" depends on the features.

        A plan is made before scales are learned; these are most often those of a Laplacian.
        """
        if tuned is not None:
            return tuned.kernel
        auto = "laplacian" if scaled else default_kernel(features)
        kernel = auto if is_auto(self.settings.kernel) else self.settings.kernel
        return scaled_kernel(kernel, self.settings.scales).with_column_indices(self.names)

    def _scaling(self, features: FeatureMap, kernel: Kernel) -> Scaling | None:
        if self.settings.scale is None:
            return None
        left = unscaled_columns(features, kernel, self.source.n_columns)
        return self._whole_scaling().without(left)

    def _costs(self) -> Costs | None:
        source = self.source
        if source.n_rows is None:
            return None
        return Costs(source.n_rows, source.n_columns, NOMINAL_OUTPUTS, self.settings.memory)

    def _seconds_left(self, tuned: TunedKernel | None) -> float | None:
        """Return what a search has left of the time limit, None without a limit."""
        limit = self.settings.max_seconds
        return None if limit is None else max(limit - (tuned.seconds if tuned else 0.0), 0.0)

    def _ends_by_held_out_rows(self) -> bool:
        """Whether held-out rows end the fit; a continued fit keeps the solver chosen by that."""
        if self.previous is not None:
            return bool(self.previous.plan.solver == "backfitting")
        return holds_out(self.source, self.settings.stops_early(Backfitting()))

    def gain_of_centers(self, tuned: TunedKernel | None = None) -> float:
        """Return by what share the loss on held-out rows falls from 500 to 2,000 centres.

        Two small machines are fitted to a sample.
        """
        sample = self.source.sample(PILOT_ROWS, PILOT_SEED)
        if sample.y is None or (np.asarray(sample.y) == sample.y[0]).all():
            return 0.0  # nothing to learn from
        few, many = (self._pilot_loss(tuned, sample, size) for size in (FEW_CENTERS, MANY_CENTERS))
        return 1.0 - many / few if few > 0 else 0.0

    def _pilot_loss(self, tuned: TunedKernel | None, sample: Batch, size: int) -> float:
        """Return the best loss on held-out rows of a sample, with so many centres."""
        X, scale = sample.X, self.settings.scale
        warping = None if tuned is None else tuned.warping
        if warping is not None:
            if scale is not None:
                X = Scaling.learn(ArraySource(X), scale).rows(X)  # type: ignore[arg-type]
            X, scale = warping.rows(X), None
        settings = replace(
            self.settings,
            kernel=self._kernel(tuned, self.settings.features),
            loss="squared" if is_auto(self.settings.loss) else self.settings.loss,
            features=Centers(size),
            solver="nystroem",
            scale=scale,
            scales=None,
            early_stopping=True,
            max_passes=None,
            max_seconds=None,
            callbacks=None,
            verbose=False,
            memory_budget=self.settings.memory,
            random_state=PILOT_SEED,
        )
        # The sample may lack a class, so classes have no weights here.
        learner = self.target_learner.without_weights()
        source = ArraySource(X, sample.y, sample.weight)
        # Nothing continues this fit, so that its rows need no digest.
        rows = RowStatistics(source, learner.needs_labels, scale is not None)
        pilot = Fit(settings, rows, learner).run()
        return float(min(loss for loss in pilot.history["held_out_loss"] if loss is not None))


@dataclass(frozen=True)
class SmallerFit:
    """Data, solution and history of a fit before its basis grew."""

    data: TrainingData
    solution: Solution
    history: History


@dataclass
class GrowingFit:
    """The runs of one fit, of which several are needed where the basis grows.

    `coded` are the rows by `Setup.coded`; `history` gets a line for each batch of all runs; `began`
    is by `time.perf_counter`. While a larger basis has yet to prove better, `smaller` is the result
    to return to.
    """

    settings: FitSettings
    coded: DataSource
    prepared: Preparation
    history: History
    began: float
    reporter: PassReporter
    model_of: Callable[[FitRecord], Any] | None
    smaller: SmallerFit | None = None

    @property
    def solver(self) -> Solver[Any]:
        """The solver."""
        return self.prepared.solver

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
            smaller=smaller,
        )

    def run(
        self, data: TrainingData, training: Training | None, since: float
    ) -> tuple[TrainingData, Solution]:
        """Train; enlarge the basis and train again, as long as held-out rows gain by it."""
        solution = self._train(data, training)
        while (larger := self._larger(data, solution, since)) is not None:
            since = solution.progress.seconds
            self.smaller = SmallerFit(data, solution, _copied(self.history.columns))
            try:
                data = self.training_data(larger, smaller=data)
            except KeyboardInterrupt:  # what was learned with fewer functions is not lost
                return self.smaller.data, replace(solution, reason=INTERRUPTED)
            after = self._train(data, self._on_larger_basis(data, solution.training))
            if not after.training.best_loss < solution.training.best_loss:
                return self._revert(self.smaller, after)
            solution, self.smaller = after, None
        return data, solution

    def last_pass(self, data: TrainingData, solution: Solution) -> Solution:
        """Continue from the best function for one pass through all rows, held-out ones included.

        An interrupted pass is continued, a finished one is not repeated.
        """
        every = self.training_data(data.setup, early_stopping=False)
        # The basis has been prepared for these rows.
        every = replace(every, problem=replace(every.problem, basis=data.problem.basis))
        training, self.smaller = solution.training, None
        if training.last_pass is None:
            training.state = self.solver.on_new_rows(every.problem, training.state)
            training.position, training.last_pass = 0, training.pass_
        last = run(
            self.solver,
            every.problem,
            every.source,
            stop=OnePass(training.last_pass),
            callbacks=(self.history, *self._callbacks(every)),
            training=training,
        )
        return last if last.reason is INTERRUPTED else replace(last, reason=solution.reason)

    def _train(self, data: TrainingData, training: Training | None) -> Solution:
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
        if training.last_pass is not None:  # that came after all growth
            return None
        most, tol = self.settings.max_seconds, self.settings.tol
        if most is not None and seconds + 2 * (seconds - since) > most:
            return None
        if training.levels and training.best_loss > (1 - tol) * training.levels[-1]:
            return None
        return data.setup.with_larger_basis(data.problem.rows)

    def _on_larger_basis(self, data: TrainingData, training: Training) -> Training:
        """Return the record for more functions on the same rows, which starts from zero weights.

        Weights of fewer functions are no help: they fit noise that the larger basis would not, so
        that held-out rows end the fit later and with a higher loss.
        """
        larger = initial_training(self.solver, data.problem, data.source)
        past = {name: getattr(training, name) for name in ("pass_", "step", "rows")}
        return replace(larger, **past, levels=(*training.levels, training.best_loss))

    def _revert(self, before: SmallerFit, after: Solution) -> tuple[TrainingData, Solution]:
        """Return to fewer functions, after more did not help or were interrupted."""
        solution = before.solution
        if after.reason is INTERRUPTED:
            self.history.columns = before.history.columns
            return before.data, replace(solution, reason=INTERRUPTED)
        # A growth that did not help is not tried again.
        solution.training.levels += (solution.training.best_loss,)
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
        memo = None if training.memo is None else replace(training.memo, code=None)
        training = replace(training, memo=memo)
        solution = Solution(expansion, training, UNFINISHED, progress.detached())
        setup = replace(setup, rows_in_bins=None)
        record = FitRecord.of(self.prepared, setup, solution, history)
        used = time.perf_counter() - self.began
        assert self.model_of is not None  # only an estimator's fit has checkpoints
        return self.model_of(replace(record, unfinished=True, seconds=used))


def _history_of(previous: FitRecord | None) -> History:
    return History() if previous is None else _copied(previous.history)


def _copied(columns: dict[str, list[Any]]) -> History:
    history = History()
    history.columns = {name: list(values) for name, values in columns.items()}
    return history


def _drop_rows(training: Training, solver: Solver[Any], problem: Problem) -> None:
    """Drop what the record holds for each row: a model file should not grow with the data."""
    training.state = solver.on_new_rows(problem, training.state)
    training.memo, training.forgotten = None, True
