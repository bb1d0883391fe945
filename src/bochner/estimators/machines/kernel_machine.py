"""FittedFunction: what an estimator can do once it has a function."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bochner.callbacks import History
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.data import DataSource, Scaling, Warping, mapped
from bochner.estimators.automatic.defaults import alpha_for, is_precomputed
from bochner.estimators.fitting.callbacks import CallbackSupportMixin, PassReporter, with_callbacks
from bochner.estimators.fitting.convergence import warn_if_unfinished
from bochner.estimators.fitting.growing_fit import FitUnderWay
from bochner.estimators.fitting.preparation import Preparation
from bochner.estimators.fitting.resume import (
    fingerprint,
    forget_rows,
    on_new_rows,
    on_the_same_rows,
    require_own,
    require_same_rows,
    require_steps,
    require_stream,
    unchanged_on_error,
    without_unused_bins,
)
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.fitting.training_data import Walk
from bochner.estimators.inputs.schemas import joined
from bochner.estimators.inputs.sources import is_stream, metadata
from bochner.estimators.inputs.validation import PREDICTED_ROWS
from bochner.estimators.machines.calibration import Calibration
from bochner.estimators.parameters.parameters import Hyperparameters
from bochner.features import BinningDiagnostics, CenterBasis
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.problem import Expansion, Problem
from bochner.solvers import Solver
from bochner.stopping import OnePass
from bochner.training.loop import INTERRUPTED, Solution, Training, batch_size, run


class FittedFunction(Preparation):
    """The part of a kernel machine that comes after its last batch."""

    kernel_: Kernel
    loss_: Loss
    scaling_: Scaling | None
    warping_: Warping | None
    expansion_: Expansion
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    n_features_used_: int
    binning_: BinningDiagnostics
    calibration_: Calibration

    def _evaluate(self, X: Any) -> NDArray[Any]:
        """Return f at rows, (rows, outputs), in float32 for float32 rows."""
        check_is_fitted(self)
        if is_stream(X):
            return joined(map(self._evaluate, self._checked(X)))  # type: ignore[no-any-return]
        X = self._validated(X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
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
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = not is_precomputed(self.kernel)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # A copy has not the rows of a precomputed kernel, so it goes on by beginning anew.
        state: dict[str, Any] = super().__getstate__()
        return state | ({"_digest": None} if is_precomputed(self.__dict__.get("kernel_")) else {})


def learns_from_streams(estimator: Hyperparameters) -> bool:
    """Whether the solver learns from rows as they come, so that there is a `partial_fit`."""
    solver = estimator.solver
    if isinstance(solver, str) and solver not in Solver.registry:
        return True  # "auto" does, and an unknown name is refused when it is used
    require_steps(Solver.resolve(solver), estimator.features)
    return True


class KernelMachine(CallbackSupportMixin, FittedFunction):  # type: ignore[misc]
    """The way from rows to a fitted function; the estimators add what their targets need."""

    n_iter_: int
    history_: dict[str, list[Any]]
    stopped_because_: str
    _training: Training | None
    _digest: bytes | None
    _unfinished: bool
    _used: float

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        self._check_parameters()
        with unchanged_on_error(self), threads(self.n_jobs):
            solution = self._learn(X, y, sample_weight, classes)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        warn_if_unfinished(solution, self.tol)
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
        resumed = self.__dict__.get("_unfinished", False)
        began = time.perf_counter() - (self._used if resumed else 0.0)
        going_on = (self.warm_start or resumed) and self.__dict__.get("_training") is not None
        source = self._source(X, y, sample_weight, reset=not going_on, least=2)
        solver, setup, digest = self._settled(source, classes, going_on)
        if resumed:
            require_same_rows(digest, self._digest)
        of_rows = isinstance(setup.basis, CenterBasis) and setup.basis.is_of_rows
        if going_on and of_rows and digest != self._digest:
            going_on = False  # other rows have other functions
            solver, setup, digest = self._settled(source, classes, going_on)
        used = time.perf_counter() - began
        walk = self._walk(source, setup, solver)
        training = self._training_to_go_on(solver, walk.problem, digest) if going_on else None
        history = self._history(going_on)
        data = {} if is_stream(X) else {"X": X, "y": y, "metadata": metadata(sample_weight)}
        reporter = PassReporter(self, data, setup.attributes)
        reporter.begin(self.max_passes)
        fit = FitUnderWay(self, source, solver, history, reporter, digest, began)
        walk, solution = fit.climb(walk, training, used)
        if solution.training.last_pass is None:
            walk = replace(walk, setup=walk.setup.calibrated(solution.expansion, walk.held_out))
        if solver.learns_held_out_rows and walk.held_out is not None and solution.reason.converged:
            solution = fit.last_pass(walk, solution)
        walk.setup.basis.clear_cache()
        reporter.finish()
        # The progress holds a state that may have been forgotten.
        solution = replace(solution, progress=solution.progress.settled())
        if solution.reason.converged and not self.warm_start:
            plain = replace(walk.problem, basis=walk.setup.basis, rows=None)
            forget_rows(solution.training, solver, plain)
        self._store(walk.counted(), solver, solution, history, digest)
        walk.problem.basis.clear_cache()
        return solution

    def _settled(
        self, source: DataSource, classes: Any, going_on: bool
    ) -> tuple[Solver[Any], Setup, bytes | None]:
        """Return solver and setup, and a digest of the rows with all that they are fitted by."""
        self._tune(source, classes, going_on)
        resumed = self.__dict__.get("_unfinished", False)
        plan = self.plan_ if resumed else self._planned(source, going_on)
        solver: Solver[Any] = Solver.resolve(plan.solver)
        setup = self._set_up(source, plan, classes, going_on)
        if not going_on and source.n_rows is not None:
            setup = setup.begun(source.n_rows, self._seconds_left())
        settings = f"alpha={self.alpha}, fit_intercept={self.fit_intercept}, solver={solver}, "
        settings += f"early_stopping={self._early_stopping(solver)}"
        return solver, setup, fingerprint(source, setup, settings)

    def _walk(
        self,
        source: DataSource,
        setup: Setup,
        solver: Solver[Any],
        early_stopping: bool | str | None = None,
    ) -> Walk:
        early_stopping = self._early_stopping(solver) if early_stopping is None else early_stopping
        return Walk.over(
            source,
            setup,
            solver,
            alpha=self._alpha(solver, setup.loss, source.n_rows),
            intercept=self.fit_intercept,
            early_stopping=early_stopping,
            memory=memory_budget(self.memory_budget),
        )

    def _learn_a_chunk(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Solution:
        going_on = self.__sklearn_is_fitted__()
        if going_on and self._training is None:
            raise ValueError(
                "This model was made smaller when it was saved, and what partial_fit needs is not "
                "in it any more. Fit it anew, or keep the one that was not saved."
            )
        source = self._source(X, y, sample_weight, reset=not going_on, least=1)
        self._tune(source, classes, going_on, once=True)
        plan = self._planned(source, going_on, once=True)
        solver: Solver[Any] = Solver.resolve(plan.solver)
        setup = self._set_up(source, plan, classes, going_on)
        require_stream(solver, setup)
        alpha = alpha_for(self.alpha, solver, setup.loss, rows=None)
        problem = setup.problem(alpha, self.fit_intercept, rows=None)
        training = self._training_to_go_on(solver, problem, None) if going_on else None
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
        self._store(setup, solver, solution, history, digest=None)
        return solution

    def _training_to_go_on(
        self, solver: Solver[Any], problem: Problem, digest: bytes | None
    ) -> Training:
        setup, training = self._setup, self._training
        assert training is not None  # that is what going on means
        if setup.rows_in_bins is not None:
            state = solver.continued(problem, self.expansion_, setup.rows_in_bins)
            if state is not None:
                return Training(state, batch_size(solver, problem, state), rows=training.rows)
        require_own(solver, training.state)
        if digest is not None and digest == self._digest:
            return on_the_same_rows(training, solver, problem)
        return on_new_rows(training, solver, problem)

    def _history(self, going_on: bool) -> History:
        history = History()
        if going_on:
            history.columns = {name: list(values) for name, values in self.history_.items()}
        return history

    def _store(
        self,
        setup: Setup,
        solver: Solver[Any],
        solution: Solution,
        history: History,
        digest: bytes | None,
    ) -> None:
        binning = solver.diagnostics(solution.training.state)
        if binning is not None:
            setup = replace(setup, binning=binning, rows_in_bins=None)
        for name in ("coef_", "binning_", "calibration_", "_unfinished", "_used"):
            self.__dict__.pop(name, None)
        self.__dict__.update(setup.attributes(solution.expansion))
        self._training, self._digest = solution.training, digest
        self.n_iter_ = solution.training.pass_ + (solution.training.position > 0)
        self.history_ = history.columns
        self.stopped_because_ = solution.reason.text

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | without_unused_bins(self)  # type: ignore[no-any-return]
