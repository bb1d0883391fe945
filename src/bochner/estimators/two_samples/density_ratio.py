"""DensityRatio: the ratio of the densities of two samples."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.compute.pool import threads
from bochner.data import DataSource
from bochner.estimators.fitting.reporting import warn_of_limits
from bochner.estimators.fitting.setup import require_same_parameters
from bochner.estimators.inputs.ranges import in_single_precision
from bochner.estimators.inputs.tables import numeric_rows
from bochner.estimators.inputs.validation import is_stream, unchanged_on_error
from bochner.estimators.two_samples.ratio_fit import (
    RatioFit,
    StreamingRatioFit,
    divergence,
    normalised,
    values,
)
from bochner.estimators.two_samples.samples import SamplePair, weighted_sources
from bochner.kernels import Kernel
from bochner.problem import Expansion
from bochner.stopping import OnePass, Steps, Stop
from bochner.validation import require_jobs, seed_of

ENOUGH_STEPS = 16  # if the sources can be read again


class DensityRatio(BaseEstimator):  # type: ignore[misc]
    r"""The ratio p/q of the densities of two samples, and the divergence KL(p, q).

    Maximises E_p f - E_q exp(f) - alpha |f|^2 over functions f of the kernel, of which the maximum
    for alpha = 0 is KL(p, q) - 1 at f = log(p/q) (Nguyen, Wainwright and Jordan 2010, Estimating
    divergence functionals and the likelihood ratio by convex risk minimization, section III);
    "logistic" classifies rows of p and of q by logistic regression instead, with half of the
    weight on either, and has the same f at its minimum (Sugiyama, Suzuki and Kanamori 2012, Density
    ratio estimation in machine learning, section 4.2). A constant is added so that the mean of
    exp(f) over the rows of q is 1.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A kernel, by name or as a component of `bochner.kernels`. "auto": Gaussian with a bandwidth
        of 1/2, 1, 2 or 4 median distances.
    loss : "logistic" or "exponential", default="logistic"
        "logistic" is more stable for large ratios.
    size : int, default=512
        The number of centres, or of random features for streams.
    alpha : float or "auto", default="auto"
        The regularisation of the mean over the rows. "auto" is chosen on held-out rows, for 100,000
        rows if their number is unknown.
    held_out : float, default=0.2
        The share of either sample that is held out, between 0 and 1.
    random_state : int, RandomState, Generator or None, default=None
        Determines the features, the order of the rows and the held-out rows.
    n_jobs : int or None, default=None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None, default=None
        Bytes, or a text such as "2GB", for cached values; None means half of the free memory. The
        result does not depend on it.

    Attributes
    ----------
    kl_divergence_ : float
        The estimate on the held-out rows. It is slightly too high if bandwidth and alpha were
        chosen on the same rows; `kl_divergence` uses other rows.
    kernel_, alpha_, expansion_
        The kernel with its bandwidth, the regularisation, and the function f.

    See Also
    --------
    two_sample_test : Whether two samples differ in distribution.
    KernelNoveltyDetector : Novelty relative to one sample.

    Notes
    -----
    Bandwidth and alpha are chosen on held-out rows, which also estimate the divergence. Arrays are
    fitted by Nystroem, streams by doubly stochastic gradients (Dai et al. 2014, section 4) in
    constant memory: bandwidth and alpha are chosen on the first rows, and up to 20,000 rows of
    either sample are held out, which also determine the constant. A sample that ends before the
    other is read again if possible; otherwise the fit ends.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DensityRatio
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2_000, 1)), rng.normal(size=(2_000, 1)) + 1
    >>> model = DensityRatio(random_state=0).fit(X, Y)
    >>> bool(np.abs(model.log_ratio([[0.0], [1.0]]) - [0.5, -0.5]).max() < 0.2)  # 1/2 - x
    True
    """

    kernel_: Kernel
    expansion_: Expansion
    n_features_in_: int
    alpha_: float
    kl_divergence_: float
    _course: StreamingRatioFit | None  # by this name in model files

    def __init__(
        self,
        kernel: Any = "auto",
        loss: str = "logistic",
        size: int = 512,
        alpha: float | str = "auto",
        *,
        held_out: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.size = size
        self.alpha = alpha
        self.held_out = held_out
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget

    def fit(self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None) -> Self:
        """Fit to a sample X of p and a sample Y of q with the same columns.

        They are arrays or sparse rows, or either is a source or an iterator of blocks of rows, or
        of blocks (rows, None, weights). In streams both samples have the same total weight in each
        batch of 8,192 rows, so that weights are relative to those of their batch.
        """
        fit, given = self._ratio_fit(), (X, Y, sample_weight_X, sample_weight_Y)
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            if is_stream(X) or is_stream(Y):
                x, y = weighted_sources(*given)
                rows = x.n_rows + y.n_rows if x.n_rows and y.n_rows else None
                streaming = StreamingRatioFit.start(fit, x, y, rows)
                self._fit_streams(streaming, x, y, Steps(ENOUGH_STEPS))
                self._name_columns(X, x, reset=True)
            else:
                self._fit_arrays(fit, SamplePair.from_arrays(*given))
                validate_data(self, X, skip_check_array=True)
        return self

    def partial_fit(
        self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None
    ) -> Self:
        """Train on these rows once by doubly stochastic gradients; they are given as to `fit`.

        The first call chooses the bandwidth, alpha and the number of columns. Later calls continue
        it, or a `fit` to streams.
        """
        fit, first = self._ratio_fit(), "expansion_" not in self.__dict__
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            streaming = None if first else self._earlier_fit(fit)
            x, y = weighted_sources(X, Y, sample_weight_X, sample_weight_Y)
            self._name_columns(X, x, reset=first)
            streaming = streaming or StreamingRatioFit.start(fit, x, y, None)
            self._fit_streams(streaming, x, y, OnePass())
        return self

    def log_ratio(self, X: Any) -> NDArray[np.float64]:
        """Return f = log(p/q) at rows."""
        check_is_fitted(self)
        X = in_single_precision(numeric_rows(self, X, reset=False, accept_sparse="csr"))
        with threads(self.n_jobs):
            return values(self.expansion_, X)

    def ratio(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return np.exp(self.log_ratio(X))  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return self.ratio(X)

    def sample_weights(self, X: Any) -> NDArray[np.float64]:
        """Return weights of mean 1 under which rows of q represent p."""
        ratio = self.ratio(X)
        return ratio / ratio.mean()  # type: ignore[no-any-return]

    def novelty(self, X: Any, rho: float = 0.0) -> NDArray[np.float64]:
        """Return max(0, rho - log(p/q)): how novel rows of q are relative to p.

        Smola, Song and Teo 2009, Relative novelty detection.
        """
        return np.maximum(0.0, rho - self.log_ratio(X))

    def kl_divergence(
        self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None
    ) -> float:
        """Return E_p f - log E_q exp(f) on further samples X of p and Y of q.

        For any f this is at most KL(p, q), and the value of the dual for f with the best constant
        added (Donsker and Varadhan 1975).
        """
        check_is_fitted(self)
        pair = SamplePair.from_arrays(X, Y, sample_weight_X, sample_weight_Y)
        self._require_columns(pair.x.X.shape[1])
        with threads(self.n_jobs):
            return divergence(self.expansion_, pair)

    def _ratio_fit(self) -> RatioFit:
        """Return the validated parameters as a record."""
        require_jobs(self.n_jobs)
        fit = RatioFit(
            self.kernel,
            self.loss,
            self.size,
            self.alpha,
            self.held_out,
            self.memory_budget,
            seed_of(self.random_state),
        )
        fit.check()
        return fit

    def _fit_arrays(self, fit: RatioFit, pair: SamplePair) -> None:
        training, held_out = fit.split(pair)
        choice = fit.choose(training, held_out)
        solution = fit.solve(training, choice, self.size)
        self.expansion_ = normalised(solution.expansion.simplified(), training)
        self.kernel_, self.alpha_ = choice.kernel, fit.alpha_for(choice, len(training))
        self.kl_divergence_ = divergence(self.expansion_, held_out)
        self._course = None
        warn_of_limits([solution.progress], 0.0, "The fit")

    def _fit_streams(
        self, fit: StreamingRatioFit, x: DataSource, y: DataSource, stop: Stop
    ) -> None:
        self.expansion_, self._course = fit.run(x, y, stop)
        self.kernel_, self.alpha_ = fit.kernel, fit.problem.alpha
        self.kl_divergence_ = divergence(self.expansion_, self._course.held_out_pair)

    def _earlier_fit(self, fit: RatioFit) -> StreamingRatioFit:
        """Return the streaming fit to continue, or refuse other parameters."""
        if self._course is None:
            raise ValueError(
                "This model was fitted to arrays by another solver, so partial_fit cannot continue "
                "it. Start with partial_fit, or fit to streams: iter([X]) and iter([Y])."
            )
        require_same_parameters(self._course.parameters, repr(fit), "call", " with fit")
        return self._course

    def _name_columns(self, X: Any, x: DataSource, reset: bool) -> None:
        """Store the columns at a first call, and refuse others later."""
        if not reset:
            self._require_columns(x.n_columns)
        if not is_stream(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
        elif reset:
            self.n_features_in_ = x.n_columns
            self.__dict__.pop("feature_names_in_", None)

    def _require_columns(self, columns: int) -> None:
        if columns != self.n_features_in_:
            raise ValueError(
                f"The samples have {columns} columns, but DensityRatio was fitted with "
                f"{self.n_features_in_}. Give the same columns."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
