"""KernelClassifier: kernel classification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bochner.callbacks import Callback
from bochner.data.statistics import distinct_labels
from bochner.estimators.fitting.calibration import gives_probabilities
from bochner.estimators.inputs.schemas import SourceScoreMixin
from bochner.estimators.inputs.targets import LabelLearner, Labels, require_single_labels
from bochner.estimators.inputs.validation import Counted
from bochner.estimators.machines.kernel_machine import KernelMachine, has_partial_fit


class KernelClassifier(SourceScoreMixin, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Kernel classification on data of any size.

    Minimises mean loss + alpha/2 |f|^2 over f(x) = sum_j w_j phi_j(x) + intercept, where phi_j are
    features of the kernel. Softmax has one f for each class. The other losses have one f for two
    classes, and for more classes one f for each class against the rest.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        A name such as "gaussian", "laplacian" or "matern", a component of `bochner.kernels`, a
        function k(A, B), or "precomputed" if X holds the kernel's values. "auto": the kernel found
        with learned scales, else "laplacian" for bins and "gaussian" otherwise. The bandwidth
        "median" is computed from a sample of the rows, "auto" is chosen on held-out rows
        (`kernel__bandwidth`).
    loss : str or Loss, default="auto"
        "softmax", "logistic", "hinge", "squared_hinge", "squared" or a component of
        `bochner.losses`. "auto": "softmax" for "dsg", "udsg", "cdsg" and "averaged", else
        "squared".
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
        The regularisation. "auto" is the default of the solver (docs/choosing.md).
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes.
    fit_intercept, scale, scales, tuning, quality
        As in `KernelRegressor`.
    max_passes, max_seconds, early_stopping, tol, warm_start
        As in `KernelRegressor`.
    n_jobs, memory_budget, random_state, callbacks, verbose
        As in `KernelRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    calibration_ : Calibration
        For losses other than softmax and logistic: the `slope` by which f, and the `power` by which
        (1 + f) / 2 of the squared loss, become probabilities, and the number of held-out `rows`
        from which both are learned, 0 if there are none. `partial_fit` does not change it.
    n_features_used_, n_iter_, history_, stopped_because_, weights_, intercept_, binning_
        As in `KernelRegressor`.
    tuning_, relevance_, feature_importances_, kernel_, loss_, plan_, scaling_, warping_, expansion_
        As in `KernelRegressor`.

    See Also
    --------
    KernelRegressor : Regression with the same kernels, features and solvers.
    RandomFourier, RandomBinning, NystroemMap : Features for linear models.

    Notes
    -----
    Softmax and logistic are likelihoods and give probabilities. For the other losses probabilities
    are calibrated on the rows held out for early stopping (`calibration_`). Without such rows, the
    squared loss gives (1 + f) / 2 divided by its sum over the classes, and the hinge losses give no
    probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import KernelClassifier
    >>> X, y = make_moons(2_000, noise=0.1, random_state=0)
    >>> model = KernelClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        kernel: Any = "auto",
        loss: Any = "auto",
        features: Any = "auto",
        solver: Any = "auto",
        alpha: float | str = "auto",
        *,
        class_weight: Any = None,
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
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Fit to arrays, or to a source or an iterator of blocks (X, y[, sample_weight]).

        `classes` are all labels, by default those of y (for a source, found in a first pass); an
        iterator that can be read only once needs them. A row of weight 2 counts as two rows, one of
        weight 0 as none, except that its label is a class (docs/choosing.md). With `warm_start` a
        second call continues the first: on the same rows the result equals that of one
        uninterrupted fit, bit for bit; `max_passes` counts all passes.
        """
        return self._fit(X, y, sample_weight, classes)  # type: ignore[no-any-return]

    @available_if(has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train on these rows once, in their order.

        The first call determines the classes (give all of them), the bandwidth and the scaling, or
        an earlier `fit` did, whose function goes on with its features.
        """
        return self._partial_fit(X, y, sample_weight, classes)  # type: ignore[no-any-return]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return f: one number per row for two classes, else one for each class."""
        return self._labels.decision(self._evaluate(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the largest value of `decision_function`."""
        return self._labels.labels(self.decision_function(X))

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class; `predict` returns the most probable one."""
        values = self._evaluate(X)
        return self._setup.calibration.probabilities(self.loss_, values)

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))  # type: ignore[no-any-return]

    @property
    def _labels(self) -> Labels:
        check_is_fitted(self)
        return cast(Labels, self._setup.targets)

    def _arrays(
        self, X: Any, y: Any, *, counted: Counted = None, reset: bool, least: int
    ) -> tuple[Any, NDArray[Any]]:
        require_single_labels(y)
        X, y = self._validated(X, y, counted=counted, ensure_min_samples=least, reset=reset)
        if y.dtype == object:
            distinct_labels(y)  # scikit-learn compares them too
        with np.errstate(invalid="ignore"):  # of numbers that are no labels
            check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _target_learner(self) -> LabelLearner:
        return LabelLearner(self.class_weight)
