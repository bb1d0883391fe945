"""KernelRegressor: kernel regression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from bochner.callbacks import Callback
from bochner.estimators.inputs.targets import NumberLearner
from bochner.estimators.inputs.validation import NumericRegressor
from bochner.estimators.machines.kernel_machine import KernelMachine, has_partial_fit
from bochner.losses import Quantile


class RegressionMachine(NumericRegressor, KernelMachine):  # type: ignore[misc]
    """A kernel machine that predicts one or several numbers for each row."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, or to a source or an iterator of blocks (X, y[, sample_weight]).

        A row of weight 2 counts as two rows, one of weight 0 as none (docs/choosing.md). With
        `warm_start` a second call continues the first: on the same rows the result equals that of
        one uninterrupted fit, bit for bit; `max_passes` counts all passes.
        """
        return self._fit(X, y, sample_weight)  # type: ignore[no-any-return]

    @available_if(has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on these rows once, in their order.

        The first call determines the bandwidth, the scaling and the number of columns, or an
        earlier `fit` did, whose function goes on with its features.
        """
        return self._partial_fit(X, y, sample_weight)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions, float32 for float32 rows."""
        values = self._evaluate(X)
        return self._setup.targets.restore(values)  # type: ignore[attr-defined,no-any-return]

    def _target_learner(self) -> NumberLearner:
        return NumberLearner(type(self).__name__)


class KernelRegressor(RegressionMachine):
    """Kernel regression on data of any size.

    Minimises mean loss + alpha/2 |f|^2 over f(x) = sum_j w_j phi_j(x) + intercept, where phi_j are
    features of the kernel. The squared loss is 1/2 (f - y)^2.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        A name such as "gaussian", "laplacian" or "matern", also one of scikit-learn ("rbf", "poly",
        "linear", "cosine", "chi2", "additive_chi2"); a component of `bochner.kernels`, a function
        k(A, B), or "precomputed" if X holds the kernel's values. "auto": the kernel found
        with learned scales, else "laplacian" for bins and "gaussian" otherwise. The bandwidth
        "median" is computed from a sample of the rows, "auto" is chosen on held-out rows
        (`kernel__bandwidth`).
    loss : str or Loss, default="squared"
        "squared"; for targets with outliers "absolute" (the median), "quantile", "huber",
        "epsilon_insensitive" or "squared_epsilon_insensitive"; or a component of `bochner.losses`
        such as `Huber(delta=0.5)`, with delta and epsilon in units of the targets.
    features : str or FeatureMap, default="auto"
        "centers", the kernel at all training rows; "fourier", random Fourier features, whose number
        grows during the fit; "binning", random grids, also for categories; "random", the random
        features of the kernel; or a component of `bochner.features` such as `Centers(size)`,
        `Fourier(size)` or `Binning(grids)`. "auto": the default features of the solver.
    solver : str or Solver, default="auto"
        For centres "direct" (exact, squared loss), "eigenpro", "nystroem" or "pegasos"; for Fourier
        features "dsg" (doubly stochastic gradients), "udsg" or "cdsg"; for a fixed number of
        features "eigenpro", "cg" (conjugate gradients, squared loss) or "newton" (other smooth
        losses); for bins also "backfitting", "coordinate" or "averaged"; or a component of
        `bochner.solvers`. "auto" depends on rows, columns, loss, memory and time: docs/choosing.md
        lists the rules, and `plan(X, y)` returns the choice.
    alpha : float or "auto", default="auto"
        The regularisation. "auto" is the default of the solver (docs/choosing.md), most often one
        divided by the number of rows or their total weight.
    quantile : float or None, default=None
        The quantile, between 0 and 1, for loss="quantile"; None is the median.
    fit_intercept : bool, default=True
        Whether f has an unpenalised constant.
    scale : None, "standard" or "range", default=None
        Whether columns are scaled to mean 0 and standard deviation 1, or to [0, 1], as learned from
        the rows (for an iterator from the first ones).
    scales : "auto", "learn", None or array-like of n_columns numbers, default="auto"
        The numbers by which columns are divided before the kernel is evaluated (ARD). "learn"
        chooses them on held-out rows of a sample, together with the bandwidth, the kernel if it is
        "auto" (Laplacian or Gaussian) and, for kernel ridge regression, alpha. "auto" learns them
        if kernel, features and solver are "auto" and there are up to 256 columns: on held-out rows
        or, for up to 3,000 rows and the squared loss, by leave-one-out errors.
    tuning : str or Tuning, default="search"
        How scales are learned: "search", or a component of `bochner.tuning`.
    quality : int, default=3
        How much time the search may take for a better result, from 1, as fast as possible, to 5,
        with the mean of many searches. It matters where scales are learned.
    max_passes : int or None, default=None
        The largest number of passes over the rows. A fit that has not converged by then warns.
    max_seconds : float or None, default=None
        The time limit of the fit, which warns in the same way.
    early_stopping : "auto" or bool, default="auto"
        Whether to hold out a tenth of the rows, at most 2,500, and to stop when their loss stops
        falling. "auto" does so for at least 1,000 rows that can be read more than once, if
        `max_passes` is None and the solver iterates.
    tol : float, default=0.02
        The relative decrease of the held-out loss below which the fit stops; without held-out rows
        a tenth of it applies to the training loss (docs/choosing.md).
    warm_start : bool, default=False
        Whether `fit` continues the previous fit.
    n_jobs : int or None, default=None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None, default=None
        Bytes, or a text such as "2GB", for cached values; None means half of the free memory. The
        result does not depend on it, except for bins on streams ("averaged"), where bins that do
        not fit have weight 0, and for what "auto" chooses.
    random_state : int, RandomState, Generator or None, default=None
        Determines the features, the order of the rows and the held-out rows.
    callbacks : iterable of callables or None, default=None
        Called with the progress after every batch (`bochner.callbacks`).
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_features_used_ : int
        The number of basis functions that have a weight, which may be 0.
    n_iter_ : int
        The number of passes over the rows, an unfinished one included.
    history_ : dict of lists
        Losses, rows and seconds after every batch.
    stopped_because_ : str
        Why the fit ended.
    weights_, intercept_ : arrays
        The weights and the constants of f. The weights are those of the centres, or of the columns
        of `RandomFourier` or `RandomBinning` with the same kernel, size and random_state (not for a
        growing number of features, nor for "averaged", which reads the rows in another order).
    dual_coef_ : array of shape (outputs, n_rows)
        The weights in the order of the training rows, if all of them are centres.
    feature_importances_ : array of n_columns numbers
        How much each column contributes to the predictions: shares of `relevance_`, or of total
        effects on up to 256 training rows if no scales were learned (docs/scales.md). There is no
        `coef_`, which scikit-learn takes for weights of columns.
    binning_ : BinningDiagnostics
        For bins: their number, and how finely they divide the rows.
    tuning_, relevance_ : Tuned, array
        With learned scales: the scales and whether they lower the held-out error, and for each
        column the relative increase of that error without it.
    kernel_, loss_, plan_, scaling_, warping_, expansion_
        The kernel with its bandwidth, the loss, the choices of "auto" with their reasons, the
        scaling and the transformations of columns (None if there are none), and the function f.

    See Also
    --------
    KernelClassifier : Classification with the same kernels, features and solvers.
    KernelQuantileRegressor : Several quantiles at once.
    KernelGaussianProcess : Regression with standard deviations.

    Notes
    -----
    Losses that are not differentiable are smoothed within a width that depends on the targets
    (`loss_`). The model stores the learned scaling and applies it to the rows of `predict`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(2_000, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=2_000)
    >>> model = KernelRegressor(random_state=0).fit(X, y)
    >>> float(np.abs(model.predict(X) - np.sin(2 * X[:, 0])).max()) < 0.2
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        loss: Any = "squared",
        features: Any = "auto",
        solver: Any = "auto",
        alpha: float | str = "auto",
        *,
        quantile: float | None = None,
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
        super().__init__(
            kernel,
            loss,
            features,
            solver,
            alpha,
            fit_intercept=fit_intercept,
            scale=scale,
            scales=scales,
            tuning=tuning,
            quality=quality,
            max_passes=max_passes,
            max_seconds=max_seconds,
            early_stopping=early_stopping,
            tol=tol,
            warm_start=warm_start,
            n_jobs=n_jobs,
            memory_budget=memory_budget,
            random_state=random_state,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.quantile = quantile

    def _loss(self) -> Any:
        if self.quantile is None:
            return self.loss
        if not isinstance(self.loss, str) or self.loss != "quantile":
            raise ValueError(
                f"quantile={self.quantile!r} is for loss='quantile'; got loss={self.loss!r}. Leave "
                "quantile=None, or give that loss."
            )
        return Quantile(self.quantile)
