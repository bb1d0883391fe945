"""KernelGaussianProcess: regression with a standard deviation for each prediction."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from bochner.callbacks import Callback, History, ProgressBar
from bochner.component import Component
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.estimators.automatic.scales import scaled_kernel
from bochner.estimators.automatic.settings import default_kernel
from bochner.estimators.fitting.importances import ColumnImportances
from bochner.estimators.fitting.reporting import warn_of_limits, warn_of_unseen_rows
from bochner.estimators.fitting.setup import require_same_parameters
from bochner.estimators.gaussian_process.fit import (
    FittedProcess,
    fit_process,
    log_likelihood,
    noises_in_units,
    with_limits,
)
from bochner.estimators.gaussian_process.setup import (
    GaussianProcessSetup,
    ProcessOptions,
    RowNoises,
    prepare_setup,
    require_noise,
)
from bochner.estimators.inputs.schemas import concatenated
from bochner.estimators.inputs.suspicions import warn_of_columns
from bochner.estimators.inputs.validation import (
    NumericRegressor,
    ValidatedRows,
    is_stream,
    unchanged_on_error,
)
from bochner.features import Basis, FeatureMap
from bochner.kernels import Kernel
from bochner.posterior import FeatureSums, FitLimits, Posterior, Units
from bochner.posterior.posterior import draw_functions, map_batches
from bochner.posterior.summation import EarlierRows
from bochner.solvers import Solver
from bochner.training.loop import INTERRUPTED
from bochner.training.progress import Progress
from bochner.validation import (
    require_callables,
    require_count,
    require_jobs,
    require_memory,
    require_not_negative,
    require_one_of,
    require_positive,
    seed_of,
)

VARIANCES = ("features", "operator", "functions")
SHARE_OF_LIKELIHOOD = 0.4  # of a time limit, for the search of its maximum


def has_sums(estimator: KernelGaussianProcess) -> bool:
    """Whether the posterior is made of sums over the rows."""
    if estimator.variance != "features":
        raise AttributeError(
            f"variance={estimator.variance!r} keeps no sums over the rows, to which others could "
            "be added. Give variance='features' for partial_fit."
        )
    return True


def has_likelihood(estimator: KernelGaussianProcess) -> bool:
    """Whether the posterior stores the rows, or sums over them."""
    if estimator.variance == "operator":
        raise AttributeError(
            "variance='operator' keeps neither the rows nor sums over them, which a likelihood "
            "needs. Give variance='features', with the same features, for log_marginal_likelihood."
        )
    return True


def _require_request(return_std: bool, return_cov: bool, noise: Any) -> None:
    """Refuse outputs that contradict each other."""
    if np.ndim(noise) == 0:
        require_one_of("noise", noise, (True, False))
    else:
        require_noise(noise)
        noise = True
    if return_std and return_cov:
        raise ValueError(
            "At most one of return_std and return_cov may be True; got both. Give one of them."
        )
    if noise and not (return_std or return_cov):
        raise ValueError(
            "noise=True adds the noise to deviations or covariances, and none are asked for; the "
            "mean does not depend on it. Give return_std=True or return_cov=True, too."
        )


class KernelGaussianProcess(NumericRegressor, ColumnImportances):
    r"""Gaussian process regression on data of any size: a mean and its standard deviation.

    f ~ GP(mean of y, k), y_i = f(x_i) + e_i with e_i ~ N(0, noise / w_i), w_i the rows' weights.
    With K = k(X, X) and W = diag(w) the posterior of f at x has

        mean      k(x, X) (K + noise W^-1)^-1 y
        variance  k(x, x) - k(x, X) (K + noise W^-1)^-1 k(X, x)

    (Rasmussen and Williams 2006, Gaussian processes for machine learning, section 2.2; Dai et al.
    2014, section 4, for the three computations of the variance.)

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        As in `KernelRegressor`. "auto" is amplitude * Gaussian (Laplacian for bins) with a scale
        for each column, all of maximum likelihood on a sample. Any other kernel is used as given,
        with a median bandwidth computed from the rows, unless `scales` are learned.
    noise : float, "auto" or array-like of n_rows numbers, default="auto"
        The variance of the noise, in the units of y squared. "auto": of maximum likelihood, with
        variance="features" on all rows. An array has the positive variance of each row, as `alpha`
        of scikit-learn's process; on streams weights do the same, since noise / weight is the
        noise of a row. The noise is at least 1e-8 k(x, x) times the mean weight, so that equal rows
        with zero noise and different targets give their mean.
    variance : "features", "operator" or "functions", default="features"
        "features": the closed form for D features; time rows D^2, memory D^2, one pass, also over
        streams. "operator": an operator over random features, fitted by `solver` (appendix D of
        the paper); at most 8,192 features. "functions": `predict` fits a function for each test
        row by `solver`; the model stores the training rows.
    features : str or FeatureMap, default="auto"
        As in `KernelRegressor`. "auto": all rows as centres up to 1,500 rows, which is exact, else
        1,500 of them; 2,048 random features in `partial_fit`; 1,024 for an operator; the solver's
        default features for functions (2,048 if they are random).
    solver : str or Solver, default="auto"
        For "operator" ("auto": doubly stochastic gradients with `Preconditioned(caution=0)`, which
        converges to the minimum on the training rows, and one block of all features) and
        "functions" ("auto": "direct" up to 3,000 rows, else "nystroem").
    scale : None, "standard" or "range", default=None
        As in `KernelRegressor`.
    scales : "auto", "learn", "equal", None or array-like of n_columns numbers, default="auto"
        The numbers by which columns are divided before the kernel is evaluated (ARD). "learn": a
        scale of maximum likelihood for each column, "equal": one for all columns; both with an
        amplitude. "auto" learns them if `kernel` is "auto" (one for all if there are more than 256
        columns).
    normalize_y : bool, default=True
        Whether the mean of each output is subtracted and the rest divided by its standard
        deviation: then the prior variance of f is k(x, x) times the variance of y. A constant
        output is divided by 1.
    likelihood_rows : int, default=1000
        The number of rows of the sample on which the likelihood is maximised; the time is cubic.
    max_passes : int or None, default=None
        The largest number of passes over the rows. A fit that has not converged by then warns.
    max_seconds : float or None, default=None
        The time limit of `fit`, which ends after the current batch, and of each 1,024 functions
        that `predict` fits. With variance="features" the posterior is then that of the rows read
        so far, in random order for arrays, and a warning gives their number.
    tol : float, default=0.001
        For stochastic solvers: a fit ends when the training loss falls by less than this fraction
        of its first value in several passes; 0 means that only limits end it.
    n_jobs, memory_budget, random_state, callbacks, verbose
        As in `KernelRegressor`; for "functions" `predict` calls the callbacks, too.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted kernel, in variances of y if `normalize_y`.
    noise_ : float or array
        The noise variance in the units of y squared, one for each output if there are several; of
        noises of the rows their harmonic mean.
    posterior_ : Posterior
        Mean and covariance in normalised units.
    basis_ : Basis
        The features.
    feature_importances_ : array of n_columns numbers
        As in `KernelRegressor`, of the mean.
    n_iter_, history_, stopped_because_
        As in `KernelRegressor`; with variance="features" there is no loss.

    See Also
    --------
    KernelRegressor : Regression without standard deviations, with other losses.
    KernelQuantileRegressor : Quantiles, also for noise that is not normal.
    sklearn.gaussian_process.GaussianProcessRegressor : Exact regression for few rows.

    Notes
    -----
    With variance="features" and at most 1,500 rows the result is exact by default. docs/methods.md
    derives the three kinds of variance.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelGaussianProcess
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> process = KernelGaussianProcess(random_state=0).fit(X, y)
    >>> mean, std = process.predict([[0.0], [9.0]], return_std=True)  # of f
    >>> bool(std[0] < 0.05), bool(std[1] > 0.5), round(float(process.noise_), 2)
    (True, True, 0.01)
    >>> mean, std = process.predict([[0.0], [9.0]], return_std=True, noise=True)  # of a new y
    >>> round(float(std[0]), 1)
    0.1
    """

    families: ClassVar[dict[str, type[Component]]] = {
        "kernel": Kernel,
        "features": FeatureMap,
        "solver": Solver,
    }

    kernel_: Kernel
    basis_: Basis
    posterior_: Posterior
    n_iter_: int
    history_: dict[str, list[Any]]
    stopped_because_: str
    noise_: float | NDArray[np.float64]
    _units: Units
    _noises: NDArray[np.float64]
    _setup: GaussianProcessSetup
    _sums: FeatureSums | None

    def __init__(
        self,
        kernel: Any = "auto",
        noise: Any = "auto",
        variance: str = "features",
        features: Any = "auto",
        solver: Any = "auto",
        *,
        scale: str | None = None,
        scales: Any = "auto",
        normalize_y: bool = True,
        likelihood_rows: int = 1_000,
        max_passes: int | None = None,
        max_seconds: float | None = None,
        tol: float = 0.001,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.variance = variance
        self.features = features
        self.solver = solver
        self.scale = scale
        self.scales = scales
        self.normalize_y = normalize_y
        self.likelihood_rows = likelihood_rows
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.tol = tol
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, or to a source or an iterator of blocks (X, y[, sample_weight]).

        A weight is a precision: a row of weight 2 has half the noise.
        """
        self._check_parameters()
        limits = self._limits(history := History(), began=time.perf_counter())
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            noise, sample_weight = self._noise_of_rows(X, sample_weight)
            source = self._source(X, y, sample_weight, reset=True, least=2)
            reference = self._take_reference(source, continues=False)
            warn_of_columns(source, self._names, self._table, of_files="schema_" in vars(self))
            options = self._options(seed_of(self.random_state), noise)
            setup = prepare_setup(options, source, False, limits.after(SHARE_OF_LIKELIHOOD))
            self._store(fit_process(options, setup, source, limits), limits.ends[-1], history)
            self._reference = reference
        self._report_end(limits, "The fit", source.n_rows)
        return self

    @available_if(has_sums)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, without a time limit; the first call chooses kernel, features and columns."""
        self._check_parameters()
        if np.ndim(self.noise) > 0:
            raise ValueError(
                "noise with a number for each row is for fit, which has all rows; got it in "
                "partial_fit. Give one noise, and sample_weight = noise / noises of the rows."
            )
        limits = self._limits(history := History(), timed=False)
        sums = self._sums if self.__sklearn_is_fitted__() else None
        earlier = None
        if sums is not None:
            given = self._options(self._setup.seed).parameters
            require_same_parameters(self._setup.parameters, given, "rows", " with fit")
            history.columns = {name: list(values) for name, values in self.history_.items()}
            steps, rows = (history.columns[name][-1] for name in ("step", "rows"))
            earlier = EarlierRows(sums, self.n_iter_, steps, rows)  # type: ignore[arg-type]
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            source = self._source(X, y, sample_weight, reset=sums is None, least=1)
            reference = self._take_reference(source, continues=sums is not None)
            seed = seed_of(self.random_state) if sums is None else self._setup.seed
            options = self._options(seed)
            setup = prepare_setup(options, source, part=True) if sums is None else self._setup
            found = fit_process(options, setup, source, limits, earlier)
            self._store(found, limits.ends[-1], history)
            self._reference = reference
        self._report_end(limits, "The fit", source.n_rows)
        return self

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, noise: Any = False
    ) -> Any:
        """Return the mean, shaped as y, and on request standard deviations or covariances.

        They are those of the function f, as in scikit-learn without a WhiteKernel, or with
        `noise=True` those of new observations f(x) + e, whose variance is larger by `noise_`:
        intervals that shall contain new targets need it. An array as `noise` has the variance of
        each of these rows. A covariance is limited to 5,000 rows.
        """
        _require_request(return_std, return_cov, noise)
        if is_stream(X) and not return_cov:
            if np.ndim(noise) > 0:
                raise ValueError(
                    "noise of each row is for arrays; got a source or blocks. Give noise=True, or "
                    "add the variances to the squares of the deviations."
                )
            parts = self._validated_parts(X)
            return concatenated(self.predict(rows, return_std, noise=noise) for rows in parts)
        rows, limits, targets = self._rows(X), self._limits(), self._setup.targets
        posterior, found = with_limits(self.posterior_, limits), None
        added = self._added_noise(noise, rows.shape[0])
        with threads(self.n_jobs):
            mean = targets.restore(self._units.restore(map_batches(posterior.mean, rows)))
            if return_cov:
                found = posterior.covariance(rows)
                np.einsum("iij->ij", found)[:] += added
                found = found * np.square(self._units.deviation)
                found = found[:, :, 0] if targets.flat else found
            if return_std:
                found = np.sqrt(map_batches(posterior.variance, rows) + added)
                found = targets.restore(found * self._units.deviation)
        self._report_end(limits, "A fit of functions for the variance")
        return mean if found is None else (mean, found)

    def _added_noise(self, noise: Any, rows: int) -> NDArray[np.float64]:
        """Return the variances that `predict` adds, (rows or 1, outputs), in units of the fit."""
        if np.ndim(noise) > 0:
            variances = RowNoises.of(noise, rows).variances[:, None]
            return variances / np.square(self._units.deviation)
        return self._noises[None] if noise else np.zeros((1, len(self._noises)))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> NDArray[np.float64]:
        """Draw functions from the posterior: their values, (rows[, outputs], n_samples)."""
        require_count("n_samples", n_samples)
        rows, limits = self._rows(X), self._limits()
        with threads(self.n_jobs):
            posterior = with_limits(self.posterior_, limits)
            values = draw_functions(posterior, rows, n_samples, Random(seed_of(random_state)))
        self._report_end(limits, "A fit of functions for the covariance")
        values = np.moveaxis(self._units.restore(np.moveaxis(values, 1, 2)), 2, 1)
        return values[:, 0] if self._setup.targets.flat else values

    @available_if(has_likelihood)  # type: ignore[untyped-decorator]
    def log_marginal_likelihood(self, noise: float | None = None) -> float:
        """Return log p(y | X) for the fitted noise or another noise variance.

        For variance="features" it is that of the features' kernel; for "functions" that of the
        kernel itself, of up to `likelihood_rows` rows.
        """
        check_is_fitted(self)
        noises = self._noises
        if noise is not None:
            require_positive("noise", noise)
            noises = noises_in_units(noise, self._units)
        with threads(self.n_jobs):
            return log_likelihood(self.posterior_, noises, self._units, self.likelihood_rows)

    def _check_parameters(self) -> None:
        require_noise(self.noise)
        require_one_of("variance", self.variance, VARIANCES)
        require_one_of("scale", self.scale, (None, "standard", "range"))
        require_one_of("normalize_y", self.normalize_y, (True, False))
        require_count("likelihood_rows", self.likelihood_rows)
        require_count("max_passes", self.max_passes, also=(None,))
        require_positive("max_seconds", self.max_seconds, also=(None,))
        require_not_negative("tol", self.tol)
        require_callables("callbacks", self.callbacks)
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        if isinstance(self.scales, str):
            require_one_of("scales", self.scales, ("auto", "learn", "equal"))
        scaled_kernel(self._value_of("kernel"), self.scales).check()

    def _noise_of_rows(self, X: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return one noise, and weights by which the noises of the rows follow from it."""
        if np.ndim(self.noise) == 0:
            return self.noise, sample_weight
        if is_stream(X):
            raise ValueError(
                "noise with a number for each row is for arrays; got a source or blocks. Give one "
                "noise, and weights = noise / noises of the rows in the source or the blocks."
            )
        noises = RowNoises.of(self.noise, _num_samples(X))
        return noises.common, noises.weights(sample_weight)

    def _options(self, seed: int, noise: Any = None) -> ProcessOptions:
        """Return the parameters of the fit as a record; `noise` replaces those of the rows."""
        names = {field.name for field in fields(ProcessOptions)} - {"seed", "columns", "table"}
        given = {name: getattr(self, name) for name in names}
        given["noise"] = self.noise if noise is None else noise
        return ProcessOptions(**given, seed=seed, columns=self._names, table=self._table)

    def _limits(
        self, *callbacks: Callback, began: float | None = None, timed: bool = True
    ) -> FitLimits:
        """Return limits and callbacks, the given ones first."""
        callbacks = (*callbacks, *(self.callbacks or ()))
        if self.verbose:
            passes = None if self.variance == "features" else self.max_passes
            callbacks = (*callbacks, ProgressBar(passes))
        seconds = self.max_seconds if timed else None
        memory = memory_budget(self.memory_budget)
        return FitLimits(self.max_passes, seconds, self.tol, callbacks, began, memory=memory)

    def _default_kernel(self) -> Any:
        return default_kernel(self.features)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._setup.rows(self._validated(X, reset=False))

    def _report_end(self, limits: FitLimits, what: str, rows: int | None = None) -> None:
        """Raise KeyboardInterrupt after a Ctrl-C, or warn of a limit that ended a fit."""
        if any(end.reason is INTERRUPTED for end in limits.ends):
            raise KeyboardInterrupt
        if self.variance == "features":
            warn_of_unseen_rows(limits.ends, rows)
        else:
            warn_of_limits(limits.ends, self.tol, what)

    def _values(self, X: ValidatedRows) -> NDArray[Any]:
        return np.asarray(map_batches(self.posterior_.mean, self._rows(X)))

    def _store(self, found: FittedProcess, end: Progress, history: History) -> None:
        self.__dict__.pop("_importances", None)
        self._setup, self._sums, self._units = found.setup, found.sums, found.units
        self.kernel_, self.posterior_ = found.setup.kernel, found.posterior
        self.basis_ = found.setup.basis
        self._noises = found.noises
        noise = found.noises * np.square(found.units.deviation)
        self.noise_ = float(noise[0]) if found.setup.targets.flat else noise
        self.n_iter_ = end.pass_ + (end.position > 0)
        self.history_, self.stopped_because_ = history.columns, str(end.reason)

    def __sklearn_is_fitted__(self) -> bool:
        return "posterior_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags
