"""KernelMachine: what the estimators have in common, from rows to a fitted function."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.callbacks import History
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.data import DataSource, HeldOut, RandomAccess, Scaling, mapped, shuffled
from bochner.estimators.callback_protocol import (
    Asked,
    CallbackSupportMixin,
    PassReporter,
    with_callbacks,
)
from bochner.estimators.going_on import (
    fingerprint,
    forget_rows,
    on_new_rows,
    on_the_same_rows,
    unchanged_on_error,
)
from bochner.estimators.hyperparameters import Hyperparameters
from bochner.estimators.seeds import seed_of
from bochner.estimators.setup import Setup, in_single_precision
from bochner.estimators.sources import (
    array_source,
    held_out_rows,
    is_stream,
    refuse_blocks,
    split,
    stream,
)
from bochner.estimators.targets import Targets
from bochner.features import SAMPLE_ROWS, FeatureMap, prepare
from bochner.kernels import Kernel
from bochner.loop import INTERRUPTED, Solution, Training, run
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Solver
from bochner.stopping import OnePass

PREDICTED_ROWS = 16_384  # at a time


class KernelMachine(CallbackSupportMixin, Hyperparameters):  # type: ignore[misc]
    """The way from rows to a fitted function; the estimators add what their targets need."""

    _setup: Setup
    _training: Training
    _digest: bytes | None

    @abstractmethod
    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        """Return rows and targets, checked as scikit-learn does."""

    @abstractmethod
    def _targets(self, source: DataSource, loss: Loss, classes: Any) -> Targets:
        """Return the coding of the targets in a source."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        self._check_parameters()
        with unchanged_on_error(self), threads(self.n_jobs):
            solution = self._learn(X, y, sample_weight, classes)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        self._warn_if_unfinished(solution)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        self._check_parameters()
        with unchanged_on_error(self), threads(self.n_jobs):
            solution = self._learn_a_chunk(X, y, sample_weight, classes)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _learn(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Solution:
        going_on = self.warm_start and self.__sklearn_is_fitted__()
        source = self._source(X, y, sample_weight, reset=not going_on, least=2)
        setup = self._set_up(source, classes, going_on)
        solver: Solver[Any] = Solver.resolve(self.solver)
        problem = setup.problem(self.alpha, self.fit_intercept, source.n_rows)
        settings = f"alpha={self.alpha}, fit_intercept={self.fit_intercept}, solver={solver}"
        digest = fingerprint(source, setup, settings)
        training = self._training_to_go_on(solver, problem, digest) if going_on else None
        history = self._history(going_on)
        data = {} if is_stream(X) else {"X": X, "y": y, "metadata": _metadata(sample_weight)}
        reporter = PassReporter(self, data, setup.attributes)
        rest = split(source, self._early_stopping(), setup.seed)
        held_out = held_out_rows(rest, setup) if isinstance(rest, HeldOut) else None
        reporter.begin(self.max_passes)
        solution = run(
            solver,
            problem,
            mapped(shuffled(rest) if isinstance(rest, RandomAccess) else rest, setup),
            stop=self._rule(judged=held_out is not None) | Asked(reporter),
            callbacks=(history, reporter, *self._callbacks()),
            held_out=held_out,
            training=training,
        )
        if solution.reason.converged and not self.warm_start:
            endless = setup.problem(self.alpha, self.fit_intercept, rows=None)
            forget_rows(solution.training, solver, endless)
        self._store(setup, solution, history, digest)
        return solution

    def _learn_a_chunk(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Solution:
        going_on = self.__sklearn_is_fitted__()
        source = self._source(X, y, sample_weight, reset=not going_on, least=1)
        setup = self._set_up(source, classes, going_on)
        solver: Solver[Any] = Solver.resolve(self.solver)
        problem = setup.problem(self.alpha, self.fit_intercept, rows=None)
        training = on_new_rows(self._training, solver, problem) if going_on else None
        passes = self.n_iter_ if going_on else 0
        if training is not None:
            training.pass_ = passes
        history = self._history(going_on)
        solution = run(
            solver,
            problem,
            mapped(source, setup),
            stop=OnePass(passes),
            callbacks=(history, *self._callbacks()),
            training=training,
        )
        self._store(setup, solution, history, digest=None)
        return solution

    def _set_up(self, source: DataSource, classes: Any, going_on: bool) -> Setup:
        """Return what holds for all calls: that of the first one, or what these rows say."""
        loss: Loss = Loss.resolve(self.loss)
        kernel, features = Kernel.resolve(self.kernel), FeatureMap.resolve(self.features)
        recipe = f"kernel={kernel}, loss={loss}, features={features}, scale={self.scale!r}"
        if "class_weight" in (parameters := self.get_params(deep=False)):
            recipe += f", class_weight={parameters['class_weight']!r}"
        if going_on:
            self._setup.require(recipe)
            self._setup.targets.require(classes)
            return self._setup
        seed = seed_of(self.random_state)
        targets = self._targets(source, loss, classes)
        scaling = None if self.scale is None else Scaling.learn(source, self.scale)  # type: ignore[arg-type]
        sample = source.sample(SAMPLE_ROWS, seed)
        sample = sample if scaling is None else scaling(sample)
        in_single_precision(sample.X)
        memory = memory_budget(self.memory_budget)
        kernel, basis = prepare(kernel, features, sample, seed, np.float32, memory)
        return Setup(seed, loss, kernel, basis, scaling, targets, recipe)

    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int) -> DataSource:
        if not is_stream(X):
            refuse_blocks(X)
            X, y = self._arrays(X, y, reset=reset, least=least)
            return array_source(X, y, sample_weight)
        source = stream(X, y, sample_weight)
        if reset:
            self.n_features_in_ = source.n_columns
            self.__dict__.pop("feature_names_in_", None)
        elif source.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} columns, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}. Give the same columns."
            )
        return source

    def _training_to_go_on(
        self, solver: Solver[Any], problem: Problem, digest: bytes | None
    ) -> Training:
        if digest is not None and digest == self._digest:
            return on_the_same_rows(self._training, solver, problem)
        return on_new_rows(self._training, solver, problem)

    def _history(self, going_on: bool) -> History:
        history = History()
        if going_on:
            history.columns = {name: list(values) for name, values in self.history_.items()}
        return history

    def _store(
        self, setup: Setup, solution: Solution, history: History, digest: bytes | None
    ) -> None:
        self.__dict__.pop("coef_", None)  # an endless basis has none
        self.__dict__.update(setup.attributes(solution.expansion))
        self._training, self._digest = solution.training, digest
        self.n_iter_ = solution.training.pass_ + (solution.training.position > 0)
        self.history_ = history.columns
        self.stopped_because_ = solution.reason.text

    def _warn_if_unfinished(self, solution: Solution) -> None:
        fall = solution.progress.fall
        if solution.reason.converged or abs(fall) <= self.tol / 10:
            return
        far = (
            f"in the last pass the training loss {'fell' if fall > 0 else 'rose'} by "
            f"{abs(fall):.2g} of its first value (tol / 10 is {self.tol / 10:g})"
            if np.isfinite(fall)
            else "a single pass cannot tell how far it is"
        )
        warnings.warn(
            f"The fit ended before it converged: {solution.reason}, and {far}. Raise max_passes or "
            "max_seconds, or leave both None to fit until held-out rows gain no more.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _evaluate(self, X: Any) -> NDArray[Any]:
        """Return f at rows, (rows, outputs), in float32 for float32 rows."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        values = np.empty((X.shape[0], self._setup.targets.outputs), X.dtype)
        with threads(self.n_jobs):
            for start in range(0, len(values), PREDICTED_ROWS):
                rows = slice(start, start + PREDICTED_ROWS)
                values[rows] = self.expansion_(self._setup.rows(X[rows]))
        return values

    def __sklearn_is_fitted__(self) -> bool:
        return "expansion_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _metadata(sample_weight: Any) -> dict[str, Any] | None:
    return None if sample_weight is None else {"sample_weight": sample_weight}
