"""Fit: from checked rows to a fitted function, step by step.

`fit` tunes, plans, sets up, trains, grows, calibrates and makes a last pass; `partial_fit` tunes,
plans, sets up and makes one pass over its rows. Each step takes and returns records.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bochner.callbacks import Callback, CheckpointCallback, History
from bochner.compute.pool import thread_count
from bochner.data import ArraySource, Batch, DataSource, Scaling, mapped
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
    is_binning,
    loss_for_targets,
    text_taken_for_numbers,
    unscaled_columns,
)
from bochner.estimators.fitting.reporting import PassReporter, StopAsked
from bochner.estimators.fitting.resume import (
    drop_rows,
    fingerprint,
    has_improved,
    has_row_functions,
    larger_setup,
    require_checkpoints,
    require_fixed_basis,
    require_own_state,
    require_same_rows,
    resume_on_new_rows,
    resume_on_same_rows,
    solution_without_growth,
    training_on_larger_basis,
)
from bochner.estimators.fitting.setup import Setup, TrainingData, alpha_for, holds_out
from bochner.estimators.inputs.tables import Table
from bochner.estimators.inputs.targets import TargetLearner, Targets
from bochner.estimators.inputs.validation import (
    in_single_precision,
    require_scaled_rows,
    require_square,
)
from bochner.features import Centers, FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.losses import Loss, Quadratic, Regression
from bochner.problem import Expansion, Problem
from bochner.solvers import AveragedGradient, Backfitting, Solver
from bochner.solvers.binning.averaged_gradient import AveragedGradientState
from bochner.stopping import OnePass
from bochner.training.loop import INTERRUPTED, Solution, Training, batch_size, best_expansion, run
from bochner.training.progress import Progress, Reason
from bochner.validation import seed_of

UNFINISHED = Reason("it has not ended", converged=False)
# On bins quantiles in the tails have few rows to go by; short steps that end early need no more.
LEAST_RIDGE = 0.5
NOMINAL_OUTPUTS = 4  # for expected times: the targets have not been read yet
PILOT_ROWS, PILOT_SEED = 8_000, 0  # the same pilot for the same rows, whatever the seed of the fit
FEW_CENTERS, MANY_CENTERS = 500, 2_000


@dataclass(frozen=True)
class FitRecord:
    """What a fit leaves behind: the function, why it ended, and all that a later fit resumes from.

    `seconds` is the time that an unfinished fit has taken.
    """

    setup: Setup
    expansion: Expansion
    training: Training | None
    history: dict[str, list[Any]]
    digest: bytes | None
    plan: Plan
    tuned: TunedKernel | None
    reason: Reason | None = None
    progress: Progress | None = None
    unfinished: bool = False
    seconds: float = 0.0

    @property
    def n_iter(self) -> int:
        """The number of passes, the last one perhaps not finished."""
        assert self.training is not None  # a fit has just made it
        return self.training.pass_ + (self.training.position > 0)


@dataclass
class Fit:
    """One call of `fit` or `partial_fit` on checked rows.

    Parameters
    ----------
    settings : FitSettings
        The parameters of the estimator.
    source : DataSource
        The rows, checked, without missing numbers.
    target_learner : TargetLearner
        Reads the targets and codes them for a loss.
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
    source: DataSource
    target_learner: TargetLearner
    classes: Any = None
    table: Table | None = None
    names: Any = None
    previous: FitRecord | None = None
    is_chunk: bool = False
    reporter: PassReporter = field(default_factory=PassReporter)
    model_of: Callable[[FitRecord], Any] | None = None
    tuned: TunedKernel | None = field(default=None, init=False)
    chosen: Plan | None = field(default=None, init=False)

    def run(self) -> FitRecord:
        """Fit until a stopping rule ends it."""
        previous = self.previous
        resumes = previous is not None and previous.unfinished
        began = time.perf_counter() - (previous.seconds if resumes and previous else 0.0)
        solver, setup, digest = self._prepare()
        if resumes and previous is not None:
            require_same_rows(digest, previous.digest)
        if previous is not None and has_row_functions(setup.basis) and digest != previous.digest:
            self.previous = previous = None  # other rows have other functions
            solver, setup, digest = self._prepare()
        prepared = time.perf_counter() - began
        data = self.training_data(setup, solver)
        training = None if previous is None else self._resumed(solver, data.problem, digest)
        history = History() if previous is None else _copied(previous.history)
        self.reporter.begin(self.settings.max_passes, setup.attributes)
        growing = GrowingFit(self, solver, history, digest, began)
        data, solution = growing.run(data, training, prepared)
        if solution.training.last_pass is None:
            data = replace(data, setup=data.setup.calibrated(solution.expansion, data.held_out))
        if solver.tags.keeps_best and data.held_out is not None and solution.reason.converged:
            solution = growing.last_pass(data, solution)
        data.setup.basis.clear_cache()
        self.reporter.finish()
        # The progress holds a state whose rows may be dropped below.
        solution = replace(solution, progress=solution.progress.detached())
        if solution.reason.converged and not self.settings.warm_start:
            plain = replace(data.problem, basis=data.setup.basis, rows=None)
            drop_rows(solution.training, solver, plain)
        record = self.record(data.setup_with_counts(), solution, history, digest)
        data.problem.basis.clear_cache()
        return record

    def run_once(self) -> FitRecord:
        """Read the rows once, in their order, and learn from each batch (`partial_fit`)."""
        previous = self.previous
        solver, setup = self._prepare_chunk()
        problem = setup.problem(
            alpha_for(self.settings.alpha, solver, setup.loss, None),
            self.settings.fit_intercept,
            None,
        )
        training = None if previous is None else self._resumed(solver, problem, None)
        passes = 0 if previous is None else previous.n_iter
        if training is not None:
            training.pass_ = passes
        history = History() if previous is None else _copied(previous.history)
        solution = run(
            solver,
            problem,
            mapped(self.source, setup),
            stop=OnePass(passes),
            callbacks=(history, *self.settings.all_callbacks()),
            training=training,
        )
        return self.record(setup, solution, history, None)

    def plan(self) -> Plan:
        """Return features, solver and loss; those that were "auto" in an earlier fit stay."""
        settings = self.settings
        before = None if self.previous is None else self.previous.setup
        features = before.features if before and is_auto(settings.features) else settings.features
        loss = before.loss if before and is_auto(settings.loss) else settings.loss
        scaled = self._tuning.learns_scales
        kernel = self._kernel(features, scaled)
        if isinstance(kernel, Precomputed):
            require_square(self.source, self.is_chunk, settings.scale)
        inputs = PlanInputs(
            self._costs(),
            self.is_chunk or self.source.once,
            bool(text_taken_for_numbers(self.table, kernel)),
            kernel,
            type(Loss.resolve("squared" if is_auto(loss) else loss)),
            self.gain_of_centers,
            scaled=scaled,
            stops_early=self._ends_by_held_out_rows(),
            given=not is_auto(settings.kernel),
        )
        if (left := self._seconds_left()) is not None:
            inputs = replace(inputs, seconds=min(inputs.seconds, left))
        plan = make_plan(features, settings.solver, inputs)
        cost = None if plan.cost is None else plan.cost.by(thread_count())
        return replace(plan, cost=cost, loss=default_loss(loss, plan.solver))

    def record(
        self,
        setup: Setup,
        solution: Solution,
        history: History,
        digest: bytes | None,
    ) -> FitRecord:
        """Return what the estimator keeps of a solution."""
        state = solution.training.state
        if isinstance(state, AveragedGradientState):
            setup = replace(setup, binning=state.diagnostics(), rows_in_bins=None)
        assert self.chosen is not None  # planned before anything was trained
        return FitRecord(
            setup,
            solution.expansion,
            solution.training,
            history.columns,
            digest,
            self.chosen,
            self.tuned,
            solution.reason,
            solution.progress,
        )

    # Before the first batch: tune, plan, set up.

    def _prepare(self) -> tuple[Solver[Any], Setup, bytes | None]:
        """Return solver, setup, and a digest of the rows with all that they are fitted by."""
        previous, settings = self.previous, self.settings
        self.tuned = self._tuning.run() if previous is None else previous.tuned
        resumes = previous is not None and previous.unfinished
        self.chosen = previous.plan if resumes and previous is not None else self.plan()
        solver: Solver[Any] = Solver.resolve(self.chosen.solver)
        setup = self._set_up(self.chosen)
        if previous is None and self.source.n_rows is not None:
            setup = setup.with_initial_size(self.source.n_rows, self._seconds_left())
        text = f"alpha={settings.alpha}, fit_intercept={settings.fit_intercept}, solver={solver}, "
        text += f"early_stopping={settings.stops_early(solver)}"
        return solver, setup, fingerprint(self.source, setup, text)

    def _prepare_chunk(self) -> tuple[Solver[Any], Setup]:
        self.tuned = self._tuning.run() if self.previous is None else self.previous.tuned
        self.chosen = self.plan()
        solver: Solver[Any] = Solver.resolve(self.chosen.solver)
        setup = self._set_up(self.chosen)
        require_fixed_basis(setup)
        return solver, setup

    @cached_property
    def _targets(self) -> Callable[[Loss], Targets]:
        """The coding of the targets for a loss; the targets are read once."""
        return self.target_learner.observe(self.source, self.classes)

    @cached_property
    def _whole_scaling(self) -> Scaling:
        """The scaling of all columns; the rows are read once for tuning and for the fit."""
        return Scaling.learn(self.source, self.settings.scale)  # type: ignore[arg-type]

    @property
    def _tuning(self) -> KernelTuning:
        return KernelTuning(
            self.settings,
            self.source,
            self.table,
            self.names,
            targets=lambda loss: self._targets(loss),
            scaling=lambda: self._whole_scaling,
            once=self.is_chunk or self.source.once,
        )

    def _set_up(self, plan: Plan) -> Setup:
        """Return what stays fixed in all later calls: the first fit's, or what these rows say."""
        settings, tuned = self.settings, self.tuned
        loss: Loss = Loss.resolve(plan.loss)
        kernel = self._kernel(plan.features)
        features = features_for_table(FeatureMap.resolve(plan.features), self.table, kernel)
        asked = kernel if tuned is None else settings.kernel
        recipe = f"kernel={asked}, loss={loss}, features={features}, scale={settings.scale!r}, "
        recipe += f"scales={describe_scales(settings.scales)}{self.target_learner.recipe}"
        if self.previous is not None:
            self.previous.setup.require_same_recipe(recipe)
            self.previous.setup.targets.require(self.classes)
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

    def _kernel(self, features: Any, scaled: bool = False) -> Kernel:
        """Return the kernel with its scales; "auto" depends on the features.

        A plan is made before scales are learned; these are most often those of a Laplacian.
        """
        if self.tuned is not None:
            return self.tuned.kernel
        auto = "laplacian" if scaled else default_kernel(features)
        kernel = auto if is_auto(self.settings.kernel) else self.settings.kernel
        return scaled_kernel(kernel, self.settings.scales).with_column_indices(self.names)

    def _scaling(self, features: FeatureMap, kernel: Kernel) -> Scaling | None:
        if self.settings.scale is None:
            return None
        left = unscaled_columns(features, kernel, self.source.n_columns)
        return self._whole_scaling.without(left)

    def _costs(self) -> Costs | None:
        source = self.source
        if source.n_rows is None:
            return None
        return Costs(source.n_rows, source.n_columns, NOMINAL_OUTPUTS, self.settings.memory)

    def _seconds_left(self) -> float | None:
        """Return what a search has left of the time limit, None without a limit."""
        used = 0.0 if self.tuned is None else self.tuned.seconds
        limit = self.settings.max_seconds
        return None if limit is None else max(limit - used, 0.0)

    def _ends_by_held_out_rows(self) -> bool:
        """Whether held-out rows end the fit; a continued fit keeps the solver chosen by that."""
        if self.previous is not None:
            return bool(self.previous.plan.solver == "backfitting")
        return holds_out(self.source, self.settings.stops_early(Backfitting()))

    def gain_of_centers(self) -> float:
        """Return by what share the loss on held-out rows falls from 500 to 2,000 centres.

        Two small machines are fitted to a sample.
        """
        sample = self.source.sample(PILOT_ROWS, PILOT_SEED)
        if sample.y is None or (np.asarray(sample.y) == sample.y[0]).all():
            return 0.0  # nothing to learn from
        few, many = (self._pilot_loss(sample, size) for size in (FEW_CENTERS, MANY_CENTERS))
        return 1.0 - many / few if few > 0 else 0.0

    def _pilot_loss(self, sample: Batch, size: int) -> float:
        """Return the best loss on held-out rows of a sample, with so many centres."""
        X, scale = sample.X, self.settings.scale
        warping = None if self.tuned is None else self.tuned.warping
        if warping is not None:
            if scale is not None:
                X = Scaling.learn(ArraySource(X), scale).rows(X)  # type: ignore[arg-type]
            X, scale = warping.rows(X), None
        settings = replace(
            self.settings,
            kernel=self._kernel(self.settings.features),
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
        source = ArraySource(X, sample.y, sample.weight)
        # The sample may lack a class, so classes have no weights here.
        pilot = Fit(settings, source, self.target_learner.without_weights()).run()
        return float(min(loss for loss in pilot.history["held_out_loss"] if loss is not None))

    # Training.

    def training_data(
        self,
        setup: Setup,
        solver: Solver[Any],
        early_stopping: bool | str | None = None,
        smaller: TrainingData | None = None,
    ) -> TrainingData:
        """Return the rows and the problem for a solver; `smaller` are those of a smaller basis."""
        if early_stopping is None:
            early_stopping = self.settings.stops_early(solver)
        return TrainingData.for_solver(
            self.source,
            setup,
            solver,
            alpha=self._alpha(solver, setup.loss, self.source.n_rows),
            intercept=self.settings.fit_intercept,
            early_stopping=early_stopping,
            memory=self.settings.memory,
            smaller=smaller,
        )

    def _alpha(self, solver: Solver[Any], loss: Loss, rows: int | None) -> Any:
        """Return alpha as it was given, or the learned ridge for kernel ridge regression."""
        numbers = isinstance(loss, Quadratic | Regression)
        ridge = solver.tags.takes_ridge and numbers and is_auto(self.settings.alpha)
        if self.tuned is None or rows is None or not ridge:
            return self.settings.alpha
        swept = isinstance(loss, Quadratic) or isinstance(solver, Backfitting)
        assert self.chosen is not None  # planned before anything was trained
        open_tails = is_binning(self.chosen.features) and not swept
        least = LEAST_RIDGE if open_tails else 0.0
        return max(self.tuned.ridge, least) * loss.typical_curvature / rows

    def _resumed(self, solver: Solver[Any], problem: Problem, digest: bytes | None) -> Training:
        """Return the record from which the earlier fit continues on these rows."""
        previous = self.previous
        assert previous is not None
        training = previous.training
        assert training is not None  # the estimator refuses to continue without
        counts = previous.setup.rows_in_bins
        if counts is not None and isinstance(solver, AveragedGradient):
            state = solver.continue_from(problem, previous.expansion, counts)
            return Training(state, batch_size(solver, problem, state), rows=training.rows)
        require_own_state(solver, training.state)
        if digest is not None and digest == previous.digest:
            return resume_on_same_rows(training, solver, problem)
        return resume_on_new_rows(training, solver, problem)


@dataclass
class GrowingFit:
    """The runs of one fit, of which several are needed where the basis grows.

    While a larger basis has yet to prove better, the fit stands where the smaller one had ended:
    `smaller` and `smaller_history` are the data, the solution and the history of then. `began` is
    by `time.perf_counter`.
    """

    fit: Fit
    solver: Solver[Any]
    history: History
    digest: bytes | None
    began: float
    smaller: tuple[TrainingData, Solution] | None = None
    smaller_history: History | None = None

    def run(
        self, data: TrainingData, training: Training | None, since: float
    ) -> tuple[TrainingData, Solution]:
        """Train; enlarge the basis and train again, as long as held-out rows gain by it."""
        solution = self._train(data, training)
        while (larger := self._larger(data, solution, since)) is not None:
            since = solution.progress.seconds
            self.smaller, self.smaller_history = (data, solution), _copied(self.history.columns)
            try:
                data = self.fit.training_data(larger, self.solver, smaller=data)
            except KeyboardInterrupt:  # what was learned with fewer functions is not lost
                return self.smaller[0], replace(solution, reason=INTERRUPTED)
            after = self._train(
                data, training_on_larger_basis(solution.training, self.solver, data)
            )
            if not has_improved(solution.training, after.training):
                return self._revert(after)
            solution, self.smaller = after, None
        return data, solution

    def last_pass(self, data: TrainingData, solution: Solution) -> Solution:
        """Continue from the best function for one pass through all rows, held-out ones included.

        An interrupted pass is continued, a finished one is not repeated.
        """
        every = self.fit.training_data(data.setup, self.solver, early_stopping=False)
        every, self.smaller = every.with_basis(data.problem.basis), None
        training = solution.training
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
        rule = self.fit.settings.stopping_rule(self.solver, data.held_out is not None)
        return run(
            self.solver,
            data.problem,
            data.source,
            stop=rule | StopAsked(self.fit.reporter),
            callbacks=(self.history, self.fit.reporter, *self._callbacks(data)),
            held_out=data.held_out,
            training=training,
            used=time.perf_counter() - self.began,
        )

    def _larger(self, data: TrainingData, solution: Solution, since: float) -> Setup | None:
        if solution.training.last_pass is not None:  # that came after all growth
            return None
        settings = self.fit.settings
        return larger_setup(data, solution, settings.tol, settings.max_seconds, since)

    def _revert(self, after: Solution) -> tuple[TrainingData, Solution]:
        """Return to what was learned with fewer functions."""
        assert self.smaller is not None  # there were fewer
        data, solution = self.smaller
        if after.reason is INTERRUPTED and self.smaller_history is not None:
            self.history.columns = self.smaller_history.columns
        return data, solution_without_growth(solution, after)

    def _callbacks(self, data: TrainingData) -> list[Callback]:
        """Return the user's callbacks; one that saves checkpoints is given models to save."""
        given = self.fit.settings.all_callbacks()
        if any(isinstance(one, CheckpointCallback) for one in given):
            require_checkpoints(self.digest, data.setup)
        return [
            partial(self._offer, one, data) if isinstance(one, CheckpointCallback) else one
            for one in given
        ]

    def _offer(self, callback: CheckpointCallback, data: TrainingData, progress: Progress) -> None:
        callback.keep(progress, partial(self._unfinished, data, progress))

    def _unfinished(self, data: TrainingData, progress: Progress) -> Any:
        """Return a model that resumes from here when it is fitted."""
        training, history, setup = progress.training, self.history, data.setup
        if self.smaller is not None and not has_improved(self.smaller[1].training, training):
            assert self.smaller_history is not None  # they were stored together
            setup, history = self.smaller[0].setup, self.smaller_history
            training, expansion = self.smaller[1].training, self.smaller[1].expansion
        else:
            expansion = best_expansion(self.solver, data.problem, training.state)
        memo = None if training.memo is None else replace(training.memo, code=None)
        solution = Solution(
            expansion, replace(training, memo=memo), UNFINISHED, progress.detached()
        )
        setup = replace(setup, rows_in_bins=None)
        record = self.fit.record(setup, solution, history, self.digest)
        used = time.perf_counter() - self.began
        assert self.fit.model_of is not None  # only an estimator's fit has checkpoints
        return self.fit.model_of(replace(record, unfinished=True, seconds=used))


def _copied(columns: dict[str, list[Any]]) -> History:
    history = History()
    history.columns = {name: list(values) for name, values in columns.items()}
    return history
