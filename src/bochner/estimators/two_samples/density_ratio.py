"""DensityRatio: how much more often rows occur in one law than in another."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.compute.pool import threads
from bochner.data import DataSource
from bochner.estimators.fitting.reporting import warn_of_limits
from bochner.estimators.fitting.resume import unchanged_on_error
from bochner.estimators.inputs.validation import is_stream
from bochner.estimators.two_samples.ratio_fit import RatioFit, divergence, normalised, values
from bochner.estimators.two_samples.samples import SamplePair, two_sources
from bochner.estimators.two_samples.streaming_ratio_fit import Course
from bochner.kernels import Kernel
from bochner.problem import Expansion
from bochner.stopping import OnePass, Steps, Stop
from bochner.validation import require_jobs, seed_of

ENOUGH_STEPS = 16  # through a source that can be read again


class DensityRatio(BaseEstimator):  # type: ignore[misc]
    r"""The ratio p/q of the densities of two samples, and the divergence KL(p, q).

    Maximises E_p f - E_q exp(f) - alpha |f|^2 over functions f of the kernel, of which the maximum
    for alpha = 0 is KL(p, q) - 1 at f = log(p/q) (Nguyen, Wainwright and Jordan 2010, Estimating
    divergence functionals and the likelihood ratio by convex risk minimization, section III);
    "logistic" tells rows of p from rows of q by logistic regression instead, with half of the
    weight on either, and has the same f at its minimum (Sugiyama, Suzuki and Kanamori 2012, Density
    ratio estimation in machine learning, section 4.2). A constant is added so that the mean of
    exp(f) over the rows of q is 1. Held-out rows choose the bandwidth and alpha, and estimate the
    divergence.

    Arrays are learned by Nystroem. Streams are walked through side by side by doubly stochastic
    gradients (Dai et al. 2014, section 4) in memory that does not grow with them: the first rows
    choose bandwidth and alpha, and up to 20,000 rows of either are held out, which settle the
    constant as well. A sample that ends first begins anew if it can be read again; if not, it ends
    the fit.

    Parameters
    ----------
    kernel : str or Kernel
        "auto": Gaussian, its bandwidth one of 1/2, 1, 2 and 4 median distances.
    loss : "logistic" or "exponential"
        Logistic is the steadier one where the ratio is large.
    size : int
        The number of centres, or of random features of streams.
    alpha : float or "auto"
        The regularisation, of a mean over the rows; "auto" chooses it, for 100,000 rows where
        nobody knows how many will come.
    held_out : float
        The share of either sample that is held out, between 0 and 1.
    random_state, n_jobs, memory_budget
        As for the other estimators.

    Attributes
    ----------
    kl_divergence_ : float
        The estimate on the held-out rows. Where these chose bandwidth and alpha as well it is
        a little high; `kl_divergence` takes other rows.
    kernel_, alpha_, expansion_
        The kernel with its bandwidth, the regularisation, and the function f.

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
    _course: Course | None

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
        of blocks (rows, None, weights). In streams both samples have the same mass in each batch of
        8,192 rows, so that weights count beside those of their batch.
        """
        asked, given = self._asked(), (X, Y, sample_weight_X, sample_weight_Y)
        with unchanged_on_error(self), threads(self.n_jobs):
            if is_stream(X) or is_stream(Y):
                x, y = two_sources(*given)
                rows = x.n_rows + y.n_rows if x.n_rows and y.n_rows else None
                self._go_on(Course.begun(asked, x, y, rows), x, y, Steps(ENOUGH_STEPS))
                self._name_columns(X, x, reset=True)
            else:
                self._learn(asked, SamplePair.checked(*given))
                validate_data(self, X, skip_check_array=True)
        return self

    def partial_fit(
        self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None
    ) -> Self:
        """Go through these rows once by doubly stochastic gradients; they are as those of `fit`.

        The first call settles the bandwidth, alpha and the number of columns. Later ones go on,
        also from a `fit` to streams.
        """
        asked, first = self._asked(), "expansion_" not in self.__dict__
        with unchanged_on_error(self), threads(self.n_jobs):
            course = None if first else self._course_so_far(asked)
            x, y = two_sources(X, Y, sample_weight_X, sample_weight_Y)
            self._name_columns(X, x, reset=first)
            self._go_on(course or Course.begun(asked, x, y, None), x, y, OnePass())
        return self

    def log_ratio(self, X: Any) -> NDArray[np.float64]:
        """Return f = log(p/q) at rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        with threads(self.n_jobs):
            return values(self.expansion_, X)

    def ratio(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return np.exp(self.log_ratio(X))  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return self.ratio(X)

    def sample_weights(self, X: Any) -> NDArray[np.float64]:
        """Return weights of mean 1 that make rows of q stand for p."""
        ratio = self.ratio(X)
        return ratio / ratio.mean()  # type: ignore[no-any-return]

    def novelty(self, X: Any, rho: float = 0.0) -> NDArray[np.float64]:
        """Return max(0, rho - log(p/q)): how novel rows of q are beside what is known of p.

        Smola, Song and Teo 2009, Relative novelty detection.
        """
        return np.maximum(0.0, rho - self.log_ratio(X))

    def kl_divergence(
        self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None
    ) -> float:
        """Return E_p f - log E_q exp(f) on samples X of p and Y of q that were not fitted to.

        For any f this is at most KL(p, q), and what the dual gives for f with the best constant
        added (Donsker and Varadhan 1975).
        """
        check_is_fitted(self)
        pair = SamplePair.checked(X, Y, sample_weight_X, sample_weight_Y)
        self._require_columns(pair.x.X.shape[1])
        with threads(self.n_jobs):
            return divergence(self.expansion_, pair)

    def _asked(self) -> RatioFit:
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

    def _learn(self, fit: RatioFit, pair: SamplePair) -> None:
        """Learn from rows at hand."""
        learned, judged = fit.split(pair)
        choice = fit.chosen(learned, judged)
        solution = fit.solved(learned, choice, self.size)
        self.expansion_ = normalised(solution.expansion.simplified(), learned)
        self.kernel_, self.alpha_ = choice.kernel, fit.alpha_for(choice, len(learned))
        self.kl_divergence_ = divergence(self.expansion_, judged)
        self._course = None
        warn_of_limits([solution.progress], 0.0, "The fit")

    def _go_on(self, course: Course, x: DataSource, y: DataSource, stop: Stop) -> None:
        """Learn from rows as they come."""
        self.expansion_, self._course = course.through(x, y, stop)
        self.kernel_, self.alpha_ = course.kernel, course.problem.alpha
        self.kl_divergence_ = divergence(self.expansion_, self._course.judged)

    def _course_so_far(self, asked: RatioFit) -> Course:
        if self._course is None:
            raise ValueError(
                "This model was fitted to arrays by another solver, so partial_fit cannot go on "
                "with it. Begin with partial_fit, or fit to streams: iter([X]) and iter([Y])."
            )
        self._course.require(asked)
        return self._course

    def _name_columns(self, X: Any, x: DataSource, reset: bool) -> None:
        """Learn the columns at a first call, and refuse others later on."""
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
