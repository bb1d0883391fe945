"""KernelMachine: what the estimators share: parameters, a fit, and predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bochner.callbacks import Callback
from bochner.component import Component
from bochner.compute.pool import threads
from bochner.data import DataSource, Scaling, Warping
from bochner.data.statistics import RowStatistics
from bochner.estimators.automatic.plan import Plan
from bochner.estimators.automatic.scales import TunedKernel, require_scales, scaled_kernel
from bochner.estimators.automatic.settings import FitSettings, default_kernel, is_auto
from bochner.estimators.fitting.calibration import Calibration
from bochner.estimators.fitting.fit import Fit
from bochner.estimators.fitting.importances import ColumnImportances, shares
from bochner.estimators.fitting.reporting import (
    CallbackSupportMixin,
    PassReporter,
    warn_if_unfinished,
    with_callbacks,
)
from bochner.estimators.fitting.resume import (
    has_row_functions,
    require_partial_fit,
    without_unused_bins,
)
from bochner.estimators.fitting.setup import FitRecord, Setup, padded
from bochner.estimators.inputs.ranges import in_single_precision
from bochner.estimators.inputs.schemas import concatenated
from bochner.estimators.inputs.suspicions import warn_of_columns, warn_of_labels, warn_of_size
from bochner.estimators.inputs.targets import TargetLearner
from bochner.estimators.inputs.validation import (
    PREDICTED_ROWS,
    ValidatedRows,
    is_precomputed,
    is_stream,
    named_columns,
    unchanged_on_error,
)
from bochner.features import BinningDiagnostics, CenterBasis, FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.problem import Expansion
from bochner.solvers import Solver
from bochner.training.loop import INTERRUPTED, Training
from bochner.tuning import Tuned, Tuning
from bochner.tuning.quality import QUALITIES
from bochner.validation import (
    require_callables,
    require_count,
    require_jobs,
    require_memory,
    require_not_negative,
    require_one_of,
    require_positive,
)

OPTIONAL_ATTRIBUTES = (
    "binning_",
    "calibration_",
    "tuning_",
    "relevance_",
    "_unfinished",
    "_used",
    "_importances",
)


def has_partial_fit(estimator: KernelMachine) -> bool:
    """Whether the solver can train on parts of the rows, so that there is a `partial_fit`."""
    solver = estimator.solver
    if isinstance(solver, str) and solver not in Solver.registry:
        return True  # "auto" can, and `fit` refuses an unknown name
    require_partial_fit(Solver.resolve(solver), estimator.features)
    return True


class KernelMachine(CallbackSupportMixin, ColumnImportances):  # type: ignore[misc]
    """Validates rows, runs a `Fit`, stores its record and predicts; subclasses code the targets.

    `KernelRegressor` describes the parameters.
    """

    families: ClassVar[dict[str, type[Component]]] = {
        "kernel": Kernel,
        "loss": Loss,
        "features": FeatureMap,
        "solver": Solver,
        "tuning": Tuning,
    }

    plan_: Plan
    tuning_: Tuned
    relevance_: NDArray[np.float64]
    kernel_: Kernel
    loss_: Loss
    scaling_: Scaling | None
    warping_: Warping | None
    expansion_: Expansion
    intercept_: NDArray[Any]
    n_features_used_: int
    binning_: BinningDiagnostics
    calibration_: Calibration
    n_iter_: int
    history_: dict[str, list[Any]]
    stopped_because_: str
    _setup: Setup
    _learned: TunedKernel | None = None
    _training: Training | None = None
    _digest: bytes | None = None
    _unfinished: bool = False
    _used: float = 0.0  # seconds of an unfinished fit

    def __init__(
        self,
        kernel: Any = "auto",
        loss: Any = "squared",
        features: Any = "auto",
        solver: Any = "auto",
        alpha: float | str = "auto",
        *,
        fit_intercept: bool = True,
        scale: str | None = None,
        scales: Any = "auto",
        tuning: Any = "search",
        quality: int = 3,
        max_passes: int | None = None,
        max_seconds: float | None = None,
        early_stopping: bool | str = "auto",
        tol: float = 0.02,
        warm_start: bool = False,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.features = features
        self.solver = solver
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.scales = scales
        self.tuning = tuning
        self.quality = quality
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.early_stopping = early_stopping
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    @abstractmethod
    def _target_learner(self) -> TargetLearner:
        """Return the object that learns how targets are coded for a loss."""

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with these rows; `str(plan)` describes it in a paragraph.

        X and y are those of `fit`. The estimator does not change. To choose the number of centres,
        this may fit two small machines to a sample.
        """
        self._check_parameters()
        estimator: KernelMachine = clone(self)
        source = estimator._source(X, y, None, reset=True, least=2)
        with threads(self.n_jobs), named_columns(estimator.__dict__):
            plan = estimator._new_fit(source, None).plan()
        warn_of_size(plan, source)
        return plan

    def _check_parameters(self) -> None:
        if not is_auto(self.alpha):
            require_not_negative("alpha", self.alpha)
        require_not_negative("tol", self.tol)
        require_positive("max_seconds", self.max_seconds, also=(None,))
        require_count("max_passes", self.max_passes, also=(None,))
        require_one_of("scale", self.scale, (None, "standard", "range"))
        require_one_of("early_stopping", self.early_stopping, (True, False, "auto"))
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        require_callables("callbacks", self.callbacks)
        require_scales(self.scales)
        Tuning.resolve(self.tuning).check()
        require_count("quality", self.quality, 1, max(QUALITIES))
        scaled_kernel(self._value_of("kernel"), self.scales).check()
        if not is_auto(loss := self._loss()):
            Loss.resolve(loss).check()

    def _loss(self) -> Any:
        """Return the loss: a name, a component or "auto"."""
        return self.loss

    def _default_kernel(self) -> Any:
        return default_kernel(self.features)

    def _settings(self) -> FitSettings:
        """Return the parameters as a record."""
        names = {field.name for field in fields(FitSettings)} - {"loss", "enough"}
        return FitSettings(loss=self._loss(), **{name: getattr(self, name) for name in names})

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        self._check_parameters()
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            record = self._run_fit(X, y, sample_weight, classes)
        if record.reason is INTERRUPTED:
            raise KeyboardInterrupt
        warn_if_unfinished(record.reason, record.progress, self.tol)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _run_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> FitRecord:
        continues = (self.warm_start or self._unfinished) and self._training is not None
        source = self._source(X, y, sample_weight, reset=not continues, least=2)
        wanted = not is_precomputed(self.kernel)
        reference = self._take_reference(source, continues) if wanted else None
        fit = self._new_fit(source, classes, previous=self._record() if continues else None)
        if not is_stream(X):
            weights = None if sample_weight is None else {"sample_weight": sample_weight}
            fit.reporter.data = {"X": X, "y": y, "metadata": weights}
        if not continues:
            self._warn_of_data(source, fit.rows)
            fit = replace(fit, announce=partial(warn_of_size, source=source))
        record = fit.run()
        self._store(record)
        self._reference = reference
        return record

    def _warn_of_data(self, source: DataSource, rows: RowStatistics) -> None:
        """Warn of what is probably not meant, before the fit."""
        of_files = "schema_" in vars(self)
        warn_of_columns(source, self._names, self._table, of_files=of_files)
        if rows.wants_labels and not source.once:
            warn_of_labels(rows.labels[1])

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        self._check_parameters()
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            continues = self.__sklearn_is_fitted__()
            if continues and self._training is None:
                raise ValueError(
                    "partial_fit needs the state of the fit, which this model lost when it was "
                    "saved without its unused bins. Fit it again, or use the model before saving."
                )
            source = self._source(X, y, sample_weight, reset=not continues, least=1)
            reference = self._take_reference(source, continues)
            previous = self._record() if continues else None
            record = self._new_fit(source, classes, previous, is_chunk=True).run_once()
            self._store(record)
            self._reference = reference
        if record.reason is INTERRUPTED:
            raise KeyboardInterrupt
        return self

    def _new_fit(
        self,
        source: DataSource,
        classes: Any,
        previous: FitRecord | None = None,
        is_chunk: bool = False,
    ) -> Fit:
        learner = self._target_learner()
        # A continued fit keeps what it has learned, unless other rows make it start again.
        learns = previous is None or has_row_functions(previous.setup.basis)
        rows = RowStatistics(
            source,
            wants_labels=learns and learner.needs_labels and classes is None,
            wants_moments=learns and self.scale is not None,
            wants_digest=not is_chunk,
        )
        return Fit(
            self._settings(),
            rows,
            learner,
            classes,
            self._table,
            self._names,
            previous,
            is_chunk,
            reporter=PassReporter(self),
            model_of=self._model_of,
        )

    def _record(self) -> FitRecord:
        """Return the record of the last fit."""
        return FitRecord(
            self._setup,
            self.expansion_,
            self._training,
            self.history_,
            self._digest,
            self.plan_,
            self._learned,
            unfinished=self._unfinished,
            seconds=self._used,
        )

    def _store(self, record: FitRecord) -> None:
        """Set the attributes of a fitted estimator."""
        for name in OPTIONAL_ATTRIBUTES:
            self.__dict__.pop(name, None)
        self.__dict__.update(record.setup.attributes(record.expansion))
        self._training, self._digest = record.training, record.digest
        self.n_iter_ = record.n_iter
        self.history_ = record.history
        self.stopped_because_ = "" if record.reason is None else record.reason.text
        self.plan_, self._learned = record.plan, record.tuned
        if record.tuned is not None and record.tuned.tuned is not None:
            self.tuning_ = record.tuned.tuned
            self.relevance_ = self.tuning_.relevance

    @property
    def weights_(self) -> NDArray[Any]:
        """The weights of the basis functions, (outputs, functions); unused functions have 0."""
        check_is_fitted(self)
        size = self.expansion_.basis.size
        if size is None:
            raise AttributeError(
                "weights_ needs a fixed number of functions, and these features are endless; "
                "expansion_.weights has the weights of those that are used."
            )
        return padded(self.expansion_.weights.T, size)

    @property
    def coef_(self) -> NDArray[Any]:
        """Missing: scikit-learn takes `coef_` for weights of columns, of which there are none."""
        raise AttributeError(
            "A kernel machine has no weights of columns, as which scikit-learn reads coef_: "
            "weights_ are the weights of its functions, feature_importances_ the importances of "
            "columns."
        )

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """The coefficients of k(., x_i) for all training rows x_i, (outputs, rows)."""
        check_is_fitted(self)
        basis = self.expansion_.basis
        if not isinstance(basis, CenterBasis) or not basis.complete or basis.index is None:
            raise AttributeError(
                "dual_coef_ needs a function of all training rows as centres: give "
                "features='centers'. weights_ has the weights of other features."
            )
        return self.expansion_.weights[np.argsort(basis.index)].T

    def _model_of(self, record: FitRecord) -> KernelMachine:
        """Return a copy of the estimator that resumes an unfinished fit."""
        model = object.__new__(type(self))
        model.__dict__.update(self.__dict__)
        model._store(record)
        model._unfinished, model._used = True, record.seconds
        return model

    def _learned_importances(self) -> NDArray[np.float64] | None:
        relevance = self.__dict__.get("relevance_")
        return None if relevance is None or not (relevance > 0).any() else shares(relevance)

    def _values(self, X: ValidatedRows) -> NDArray[Any]:
        return self._evaluate(X)

    def _evaluate(self, X: Any) -> NDArray[Any]:
        """Return f at rows, (rows, outputs), in float32 for float32 rows."""
        check_is_fitted(self)
        if is_stream(X):
            return concatenated(map(self._evaluate, self._validated_parts(X)))  # type: ignore[no-any-return]
        X = self._validated(X, reset=False)
        values = np.empty((X.shape[0], self._setup.targets.outputs), X.dtype)
        with threads(self.n_jobs), named_columns(self.__dict__):
            for start in range(0, len(values), PREDICTED_ROWS):
                rows = slice(start, start + PREDICTED_ROWS)
                values[rows] = self.expansion_(in_single_precision(self._setup.rows(X[rows])))
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
        state: dict[str, Any] = super().__getstate__()
        if not self.__sklearn_is_fitted__():
            return state
        # A copy does not have the rows of a precomputed kernel, so it cannot resume.
        if is_precomputed(self.kernel_):
            state |= {"_digest": None}
        return state | without_unused_bins(self._setup, self.expansion_, self._training)
