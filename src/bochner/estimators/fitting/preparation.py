"""Preparation: what a user gave, rows and hyperparameters, becomes a source and a setup."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bochner.compute.memory import memory_budget
from bochner.compute.pool import thread_count, threads
from bochner.data import Batch, DataSource, Scaling
from bochner.estimators.automatic.costs import Costs
from bochner.estimators.automatic.defaults import (
    bins,
    for_text,
    is_auto,
    kernel_for,
    loss_for,
    loss_on,
    text_as_numbers,
    unscaled,
)
from bochner.estimators.automatic.pilot import gain_of_centers
from bochner.estimators.automatic.plan import Plan, Situation, planned
from bochner.estimators.automatic.scales import (
    Learned,
    finds_bandwidth,
    learned,
    learns,
    scaled_kernel,
    told,
    with_bandwidth,
)
from bochner.estimators.fitting.setup import Setup, in_single_precision
from bochner.estimators.inputs.sources import holds_out, require_square
from bochner.estimators.inputs.targets import Targets
from bochner.estimators.inputs.validation import Border
from bochner.estimators.parameters.parameters import Hyperparameters
from bochner.estimators.parameters.ranges import seed_of
from bochner.features import FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.losses import Loss, Quadratic, Regression
from bochner.solvers import Backfitting, Solver
from bochner.tuning import Tuned

# On bins quantiles in the tails have few rows to go by; short steps that end early need no more.
LEAST_RIDGE = 0.5
NOMINAL_OUTPUTS = 4  # for expected times: nobody has looked at the targets yet


class Preparation(Border, Hyperparameters):
    """The part of a kernel machine that comes before its first batch."""

    plan_: Plan
    tuning_: Tuned
    relevance_: NDArray[np.float64]
    _setup: Setup
    _learned: Learned | None = None

    @abstractmethod
    def _targets(self, source: DataSource, loss: Loss, classes: Any) -> Targets:
        """Return the coding of the targets in a source."""

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with these rows: `str(plan)` says it in a paragraph.

        X and y are what `fit` takes. The estimator is not changed; where it is not clear how many
        centres are worth their time, two small machines are fitted to a sample.
        """
        self._check_parameters()
        estimator: Preparation = clone(self)
        return estimator._planned(estimator._source(X, y, None, reset=True, least=2))

    def _planned(self, source: DataSource, going_on: bool = False, once: bool = False) -> Plan:
        """Return features, solver and loss for these rows; `once` if they are a part of more.

        What "auto" stood for in the first fit it stands for in those that go on from it.
        """
        before = self._setup if going_on else None
        features = before.features if before and is_auto(self.features) else self.features
        loss = before.loss if before and is_auto(self._loss()) else self._loss()
        scaled = self._learns(source, once)
        kernel = self._kernel(features, scaled)
        if isinstance(kernel, Precomputed):
            require_square(source, once, self.scale)
        situation = Situation(
            self._costs(source),
            once or source.once,
            bool(text_as_numbers(self._table, kernel)),
            kernel,
            type(Loss.resolve("squared" if is_auto(loss) else loss)),
            partial(gain_of_centers, self, source),
            scaled=scaled,
            judged=self._judged(source, going_on),
            given=not is_auto(self.kernel),
        )
        if (left := self._seconds_left()) is not None:
            situation = replace(situation, seconds=min(situation.seconds, left))
        plan = planned(features, self.solver, situation)
        with threads(self.n_jobs):
            cost = None if plan.cost is None else plan.cost.by(thread_count())
        return replace(plan, cost=cost, loss=loss_for(loss, plan.solver))

    def _seconds_left(self) -> float | None:
        """Return what a search has left of the limit of time, if there is one."""
        used = 0.0 if self._learned is None else self._learned.seconds
        return None if self.max_seconds is None else max(self.max_seconds - used, 0.0)

    def _judged(self, source: DataSource, going_on: bool) -> bool:
        """Whether held-out rows end the fit; what goes on keeps the solver that was chosen so."""
        if going_on:
            return bool(self.plan_.solver == "backfitting")
        return holds_out(source, self._early_stopping(Backfitting()))

    def _costs(self, source: DataSource) -> Costs | None:
        if source.n_rows is None:
            return None
        memory = memory_budget(self.memory_budget)
        return Costs(source.n_rows, source.n_columns, NOMINAL_OUTPUTS, memory)

    def _set_up(self, source: DataSource, plan: Plan, classes: Any, going_on: bool) -> Setup:
        """Return what holds for all calls: that of the first one, or what these rows say."""
        self.plan_ = plan
        loss: Loss = Loss.resolve(plan.loss)
        kernel = self._kernel(plan.features)
        features = for_text(FeatureMap.resolve(plan.features), self._table, kernel)
        asked = kernel if self._learned is None else self.kernel
        recipe = f"kernel={asked}, loss={loss}, features={features}, scale={self.scale!r}, "
        recipe += f"scales={told(self.scales)}"
        if "class_weight" in (parameters := self.get_params(deep=False)):
            recipe += f", class_weight={parameters['class_weight']!r}"
        if going_on:
            self._setup.require(recipe)
            self._setup.targets.require(classes)
            return self._setup
        seed = seed_of(self.random_state)
        targets = self._targets(source, loss, classes)
        scaling = self._scaling(source, features, kernel)
        sample = source.sample(features.sample_rows(source.n_rows), seed)
        if scaling is not None:
            sample, features = scaling(sample), features.scaled(scaling)
            self._require_scaled(kernel, sample)
        warping = None if self._learned is None else self._learned.warping
        sample = sample if warping is None else warping(sample)
        in_single_precision(sample.X)
        tuned = None if self._learned is None else self._learned.tuned
        loss = loss_on(targets(sample), loss, None if tuned is None else tuned.learned_error)
        memory = memory_budget(self.memory_budget)
        kernel, basis = prepare(kernel, features, sample, seed, np.float32, memory)
        settled = Setup(seed, loss, kernel, features, basis, scaling, targets, recipe)
        return replace(settled, warping=warping)

    def _require_scaled(self, kernel: Kernel, sample: Batch) -> None:
        """Refuse a scale that makes rows of what a kernel is not for."""
        try:
            kernel.require(sample.X)
        except ValueError as error:
            raise ValueError(
                f"{error} The rows are what scale={self.scale!r} has made of them. "
                "Give scale=None, or let the kernel see columns that may be scaled."
            ) from error

    def _learns(self, source: DataSource, once: bool) -> bool:
        return learns(self, source.n_rows, source.n_columns, once or source.once)

    def _tune(self, source: DataSource, classes: Any, going_on: bool, once: bool = False) -> None:
        """Learn scales if they are to be learned; what goes on keeps those it has."""
        if going_on:
            return
        self._learned = None
        for name in ("tuning_", "relevance_"):
            self.__dict__.pop(name, None)
        if self._learns(source, once):
            self._learned = learned(self, source, classes)
        elif finds_bandwidth(self, source.n_rows, source.n_columns, once or source.once):
            self._learned = with_bandwidth(self, source, classes)
        if self._learned is not None and self._learned.tuned is not None:
            self.tuning_ = self._learned.tuned
            self.relevance_ = self.tuning_.relevance

    def _kernel(self, features: Any, scaled: bool = False) -> Kernel:
        """Return the kernel, which "auto" leaves to the features, with its scales.

        A plan speaks before scales are learned; most often they are those of a Laplacian kernel.
        """
        if self._learned is not None:
            return self._learned.kernel
        auto = "laplacian" if scaled else kernel_for(features)
        kernel = scaled_kernel(auto if is_auto(self.kernel) else self.kernel, self.scales)
        return kernel.with_column_indices(self._names)

    def _alpha(self, solver: Solver[Any], loss: Loss, rows: int | None) -> Any:
        """Return alpha as it was given, or the learned ridge for kernel ridge regression."""
        numbers = isinstance(loss, Quadratic | Regression)
        ridge = solver.takes_ridge and numbers and is_auto(self.alpha)
        if self._learned is None or rows is None or not ridge:
            return self.alpha
        swept = isinstance(loss, Quadratic) or isinstance(solver, Backfitting)
        open_tails = bins(self.plan_.features) and not swept
        least = LEAST_RIDGE if open_tails else 0.0
        return max(self._learned.ridge, least) * loss.typical_curvature / rows

    def _scaling(self, source: DataSource, features: FeatureMap, kernel: Kernel) -> Scaling | None:
        if self.scale is None:
            return None
        left = unscaled(features, kernel, source.n_columns)
        return Scaling.learn(source, self.scale).without(left)  # type: ignore[arg-type]
