"""Fit: from checked rows to a fitted function, step by step.

`fit` tunes, plans, sets up, trains, grows, calibrates and makes a last pass; `partial_fit` tunes,
plans, sets up and makes one pass over its rows. Each step takes and returns records.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp

from bochner.callbacks import History
from bochner.compute.interruption import abandonable, after, interruptible
from bochner.compute.pool import thread_count
from bochner.data import ArraySource, Batch, DataSource, Scaling
from bochner.data.statistics import RowStatistics
from bochner.estimators.automatic.plan import Costs, Plan, PlanInputs, expected_model, make_plan
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
from bochner.estimators.fitting.growing_fit import GrowingFit, copied_history
from bochner.estimators.fitting.reporting import PassReporter
from bochner.estimators.fitting.resume import (
    is_same_fit,
    require_fixed_basis,
    require_same_rows,
    resumed,
    streaming_plan,
    takes_own_rows,
    with_fixed_centers,
)
from bochner.estimators.fitting.setup import (
    FitRecord,
    Preparation,
    Setup,
    TrainingData,
    alpha_for,
    fit_digest,
    holds_out,
    require_same_parameters,
)
from bochner.estimators.fitting.smoothed_losses import follows_residuals
from bochner.estimators.inputs.ranges import (
    in_single_precision,
    refuse_vanishing,
    with_weights_near_one,
)
from bochner.estimators.inputs.tables import Table
from bochner.estimators.inputs.targets import TargetLearner, Targets, require_classes
from bochner.estimators.inputs.validation import require_scaled_rows, require_square
from bochner.features import Basis, Centers, FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Backfitting, Solver
from bochner.stopping import OnePass
from bochner.training.loop import INTERRUPTED, Solution, Training, run
from bochner.validation import seed_of

NOMINAL_OUTPUTS = 4  # for expected times: the targets have not been read yet
PILOT_ROWS, PILOT_SEED = 8_000, 0  # the same pilot for the same rows, whatever the seed of the fit
PILOT_SHARE, CHOICE_SHARE = 0.2, 0.3  # of a time limit
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
    announce : callable or None
        Called with the plan of a new fit before the first batch.
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
    announce: Callable[[Plan], None] | None = None

    def run(self) -> FitRecord:
        """Fit until a stopping rule ends it."""
        previous, settings = self.previous, self.settings
        began = time.perf_counter() - (0.0 if previous is None else previous.seconds)
        prepared = self._prepare()
        setup = prepared.setup
        same = previous is not None and is_same_fit(prepared, previous, self.source, settings)
        if previous is not None and previous.unfinished:
            require_same_rows(same)
        if previous is not None and takes_own_rows(setup) and not same:
            return replace(self, previous=None).run()  # other rows have other functions
        growing = GrowingFit(
            settings,
            setup.coded(with_weights_near_one(self.source, self.rows.total_weight)),
            prepared,
            _history_of(previous),
            began,
            self.reporter,
            self.model_of,
            self.rows.total_weight,
        )
        ready = time.perf_counter() - began
        data, training = growing.training_data(setup), None
        if previous is not None:
            training = resumed(previous, prepared.solver, data.problem, same, growing.coded)
        self.reporter.begin(settings.max_passes, setup.attributes)
        data, solution = growing.run(data, training, ready)
        return self._finish(growing, data, solution)

    def _finish(self, growing: GrowingFit, data: TrainingData, solution: Solution) -> FitRecord:
        """Calibrate, learn the held-out rows, too, and return the record of the fit."""
        solution, shift = growing.quantile_shift(data, solution)
        with interruptible() as interrupted:  # what was learned is not lost
            if solution.training.last_pass is None:
                data = replace(data, setup=data.setup.calibrated(data, solution))
            if growing.makes_last_pass(data, solution) and not interrupted.is_set():
                solution = growing.last_pass(data, solution)
            counted = data.setup_with_counts()
        solution = replace(solution, expansion=solution.expansion.shifted(shift))
        if interrupted.is_set():
            solution = replace(solution, reason=INTERRUPTED)
        data.setup.basis.clear_cache()
        self.reporter.finish()
        # The progress holds a state whose rows may be dropped below.
        solution = replace(solution, progress=solution.progress.detached())
        if solution.reason.converged and not self.settings.warm_start:
            plain = replace(data.problem, basis=data.setup.basis, rows=None)
            _drop_rows(solution.training, growing.solver, plain)
        record = FitRecord.of(growing.prepared, counted, solution, growing.history)
        data.problem.basis.clear_cache()
        return record

    def run_once(self) -> FitRecord:
        """Read the rows once, in their order, and learn from each batch (`partial_fit`)."""
        previous, settings = self.previous, self.settings
        prepared = self._prepare()
        solver, setup = prepared.solver, prepared.setup
        setup = setup if previous is None else with_fixed_centers(setup)
        require_fixed_basis(setup)
        coded = setup.coded(self.source)
        alpha = alpha_for(settings.alpha, solver, setup.loss, None)
        problem = setup.problem(alpha, settings.fit_intercept, None)
        passes = 0 if previous is None else previous.n_iter
        training = None if previous is None else resumed(previous, solver, problem, False, coded)
        if training is not None:
            training.pass_ = passes
        history = _history_of(previous)
        solution = run(
            solver,
            problem,
            coded,
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
        scaled, leaves_out = self._tuning.learns_scales, self._tuning.tunes_few_rows
        kernel = self._kernel(tuned, features, scaled)
        if isinstance(kernel, Precomputed):
            require_square(source, self.is_chunk, settings.scale)
        # With few rows the search makes a kernel that compares text.
        text = () if leaves_out else text_taken_for_numbers(self.table, kernel)
        inputs = PlanInputs(
            self._costs(),
            self.is_chunk or source.once,
            bool(text),
            kernel,
            type(Loss.resolve("squared" if is_auto(loss) else loss)),
            partial(self.gain_of_centers, tuned),
            scaled=scaled,
            stops_early=self._ends_by_held_out_rows(),
            given=not is_auto(settings.kernel),
            text=text,
            distinct=self._distinct_share,
        )
        if (left := self._seconds_left(tuned)) is not None:
            inputs = replace(inputs, seconds=min(inputs.seconds, left))
        plan = make_plan(features, settings.solver, inputs)
        cost, search = plan.cost, self._tuning.cost(inputs.costs)
        if cost is not None and search is not None:
            cost = search + cost
        threads, chosen = thread_count(), default_loss(loss, plan.solver)
        outputs = self._outputs(chosen)
        model = None
        if inputs.costs is not None and outputs is not None:
            model = expected_model(plan.features, inputs.costs, outputs)
        return replace(
            plan,
            cost=None if cost is None else cost.by(threads),
            search=None if search is None else search.by(threads),
            loss=chosen,
            model_bytes=model,
        )

    def _outputs(self, loss: Any) -> int | None:
        """Return the number of outputs, None if the targets are not known yet."""
        if self.previous is not None:
            return self.previous.setup.targets.outputs
        learner = self.target_learner
        unread = learner.needs_labels and self.classes is None and not self.rows.wants_labels
        if self.is_chunk or self.source.once or unread:
            return None
        if self.rows.first_row.y is None and learner.needs_targets:
            return None
        return self._targets(Loss.resolve(loss)).outputs

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
        if previous is not None and self.is_chunk and is_auto(self.settings.solver):
            plan = streaming_plan(plan, previous)
        if previous is None and self.announce is not None:
            self.announce(plan)
        setup = self._set_up(plan, tuned)
        if previous is None and not self.is_chunk and self.source.n_rows is not None:
            left, most = self._seconds_left(tuned), self.settings.effort.seconds if tuned else inf
            left = left if left is not None and left < most else most
            setup = setup.with_initial_size(self.source.n_rows, None if left == inf else left)
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
        parameters = f"kernel={given}, loss={loss}, features={features}, scale={settings.scale!r}, "
        parameters += f"scales={describe_scales(settings.scales)}{self.target_learner.parameters}"
        if self.previous is not None:
            first = self.previous.setup.parameters
            require_same_parameters(first, parameters, "fit", ": fit with warm_start=False")
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
        refuse_vanishing(sample.X, "X")
        coded = targets(sample)
        refuse_vanishing(coded.targets, "y")
        error = None if tuned is None or tuned.tuned is None else tuned.tuned.learned_error
        if follows_residuals(settings, loss, Solver.resolve(plan.solver)):
            error = None  # a small smoothing width would be far from most residuals at first
        loss = loss_for_targets(coded, loss, error)
        kernel, basis = self._basis(kernel, features, sample, seed)
        setup = Setup(seed, loss, kernel, features, basis, scaling, targets, parameters)
        return replace(setup, warping=warping)

    def _basis(
        self, kernel: Kernel, features: FeatureMap, sample: Batch, seed: int
    ) -> tuple[Kernel, Basis]:
        """Return the kernel with numbers and its basis; centres are random where time is short."""
        memory, most = self.settings.memory, self.settings.max_seconds
        if most is not None and isinstance(features, Centers) and features.choice != "uniform":
            with abandonable(after(time.perf_counter() + CHOICE_SHARE * most)):
                return prepare(kernel, features, sample, seed, np.float32, memory)
            features = replace(features, choice="uniform")
        return prepare(kernel, features, sample, seed, np.float32, memory)

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

    def _distinct_share(self) -> float:
        """Return the share of the rows of a sample that are left without repetitions."""
        X = self.source.sample(PILOT_ROWS, PILOT_SEED).X
        rows = sp.csr_array(X)
        parts = pairwise(rows.indptr.tolist())
        found = {(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in parts}
        return len(found) / int(X.shape[0])

    def gain_of_centers(self, tuned: TunedKernel | None = None) -> float:
        """Return by what share the loss on held-out rows falls from 500 to 2,000 centres.

        Two small machines are fitted to a sample. If they take too much of a time limit, it is 0.
        """
        most = self.settings.max_seconds
        with abandonable(after(inf if most is None else time.perf_counter() + PILOT_SHARE * most)):
            return self._gain_of_centers(tuned)
        return 0.0

    def _gain_of_centers(self, tuned: TunedKernel | None) -> float:
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
        if pilot.reason is INTERRUPTED:
            raise KeyboardInterrupt
        return float(min(loss for loss in pilot.history["held_out_loss"] if loss is not None))


def _history_of(previous: FitRecord | None) -> History:
    return History() if previous is None else copied_history(previous.history)


def _drop_rows(training: Training, solver: Solver[Any], problem: Problem) -> None:
    """Drop what the record holds for each row: a model file should not grow with the data."""
    training.state = solver.on_new_rows(problem, training.state)
    training.prediction_cache, training.rows_dropped = None, True
