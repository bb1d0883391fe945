"""KernelClassifier: labels from rows."""

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
from bochner.estimators.fitting.calibration import gives_probabilities
from bochner.estimators.inputs.schemas import SourceScoreMixin
from bochner.estimators.inputs.targets import LabelLearner, Labels
from bochner.estimators.machines.kernel_machine import KernelMachine, has_partial_fit


class KernelClassifier(SourceScoreMixin, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Kernel classification on data of any size.

    Minimises mean loss + alpha/2 |f|^2 over f(x) = sum of functions of the kernel + intercept.
    Softmax has a column of f for each class; the other losses have one for two classes and one
    against the rest for each of several.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The name of one, such as "gaussian", "laplacian" or "matern", "precomputed" (X holds the
        kernel's values), a component of `bochner.kernels` or a function k(A, B); "auto" means
        what learned scales say, else "laplacian" for bins and "gaussian" for others. A bandwidth
        "median" is taken from a sample of the rows, "auto" by held-out ones (`kernel__bandwidth`).
    loss : str or Loss
        "softmax", "logistic", "hinge", "squared_hinge", "squared" or a component of
        `bochner.losses`. "auto": "softmax" for "dsg", its kin and "averaged", else "squared".
        Softmax and logistic are likelihoods and give probabilities. For the others they are
        learned from the rows of early stopping (`calibration_`); where none are held out, the
        squared loss gives (1 + f) / 2 as a share of the sum over the classes, the hinges none.
    features : str or FeatureMap
        "centers", the kernel at all training rows, or `features.Centers(size, choice, given)`;
        "fourier", random waves without end, or `features.Fourier(size)`; "binning", random
        grids for tables, also with categories, or `features.Binning(grids)`; "random", those
        of the kernel; others in `bochner.features`. "auto": those that the solver is made for.
    solver : str or Solver
        Centres: "direct" (exact, squared loss), "eigenpro", "pegasos" (plain gradients),
        "nystroem". Fourier features: "dsg" (doubly stochastic gradients), "udsg", "cdsg" (the
        same, reusing old features). A finite number of features: "eigenpro", "cg" (conjugate
        gradients, squared loss), "newton" (other smooth losses). Bins: the latter two,
        "backfitting", "coordinate" (leaves few bins), "averaged" (streams). Or a component of
        `bochner.solvers`. "auto", for auto features: exact up to 3,000 rows; bins where scales are
        learned for a Laplacian; else "eigenpro", or "nystroem" with 5,000 centres if a sample says
        that more gain little; beyond, bins for products over columns, "nystroem" or "dsg".
        Streams: "dsg". `plan(X, y)` tells which.
    alpha : float or "auto"
        The regularisation; "auto" leaves it to the solver: 0 for "eigenpro" and "pegasos", which
        early stopping regularises, 0.1 / rows (or what was learned with scales) for "direct",
        "nystroem", "newton", "cg", "backfitting", 1 / rows for "coordinate", else 1e-7.
    class_weight : None, "balanced" or dict
        Weights of the classes.
    fit_intercept : bool
        Whether f has an unpenalised constant.
    scale : None, "standard" or "range"
        Columns to mean 0 and standard deviation 1, or to [0, 1], learned from the rows (from the
        first ones of an iterator) and kept with the model.
    scales : "auto", "learn", None or array-like of n_columns numbers
        What the columns are divided by before the kernel sees them. "learn" finds a scale for each
        on held-out rows of a sample, with it a bandwidth and, for solvers of kernel ridge
        regression, alpha; kernel "auto" is then the Laplacian or the Gaussian, whichever is better.
        "auto" learns them from over 3,000 rows of up to 256 columns if all else is "auto", too.
    tuning : str or Tuning
        How scales are learned: "search", or a component of `bochner.tuning`.
    max_passes, max_seconds : number or None
        Limits; a fit that ends by them before it converged warns and says how far it is.
    early_stopping : "auto" or bool
        Whether to hold out a tenth of the rows (at most 2,500, chosen by a hash of the row number)
        and to stop when their loss stops falling. "auto": if no `max_passes` is given and there
        are at least 1,000 rows (or nobody knows how many) that can be read more than once; not
        for "direct". EigenPro learns the held-out rows in a last pass.
    tol : float
        How much the loss has to fall to be worth going on: relative, on held-out rows over the
        last five looks (20 steps), or two to six passes of solvers that look once a pass; without
        held-out rows a tenth of it, relative to the first value, on the training rows over the
        last three passes (32 steps at least), where solvers have no tolerance of their own.
    warm_start : bool
        Whether `fit` goes on from where the last one stopped.
    n_jobs : int or None
        Threads; None means all cores. The results are the same for any number.
    memory_budget : int, str or None
        Bytes, or a text such as "2GB", for what could be computed again; None means half of the
        free memory. It changes no result but that of bins on streams ("averaged"): what does not
        fit has weight 0. The solver that "auto" takes may depend on both this and `n_jobs`.
    random_state : int, RandomState, Generator or None
        Determines the features, the order of the rows and the held-out rows.
    callbacks : iterable of callables or None
        Told the progress after every batch (`bochner.callbacks`).
    verbose : bool
        Whether to draw a progress bar.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    n_features_used_ : int
        How many functions of the basis have a weight, which may be 0.
    n_iter_ : int
        Passes over the rows, the last one perhaps not finished.
    history_ : dict of lists
        Losses, rows and seconds after every batch.
    stopped_because_ : str
        Why the fit ended.
    coef_, intercept_ : arrays
        The constants, and the weights of centres, or of the columns that `RandomFourier` or
        `RandomBinning` gives for the same kernel, size and random_state (not for endless features
        nor for "averaged", which meets the rows in another order).
    binning_ : BinningDiagnostics
        For bins: how many there are, and how finely they cut the rows.
    calibration_ : Calibration
        For losses other than softmax and logistic: the `slope` by which f, and the `power` by which
        the squared loss's (1 + f) / 2, become probabilities, and the number of held-out `rows` that
        they were learned from; 0 rows mean none. `partial_fit` keeps it.
    tuning_, relevance_ : Tuned, array
        With learned scales: what was found and whether it helped, and by what share the error on
        held-out rows rises without a column.
    kernel_, loss_, plan_, scaling_, warping_, expansion_
        The kernel with its bandwidth, the loss, what "auto" chose and why, scaling and maps of the
        columns or None, and the fitted function.

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

        `classes` are all labels; without them they are taken from y, for a source in a first
        pass. An iterator that can be read once needs them. With `warm_start` a second call goes on
        where the first one stopped: bit for bit like a fit that was not interrupted, if the rows
        are the same; `max_passes` counts all passes.
        """
        return self._fit(X, y, sample_weight, classes)  # type: ignore[no-any-return]

    @available_if(has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go through these rows once, in their order, in batches of their own.

        The first call fixes the classes (give all of them), the bandwidth and the scaling.
        """
        return self._partial_fit(X, y, sample_weight, classes)  # type: ignore[no-any-return]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return f: one number a row for two classes, one for each class else."""
        return self._labels.decision(self._evaluate(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label that `decision_function` speaks for."""
        return self._labels.labels(self.decision_function(X))

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class; the most probable one is what `predict` says."""
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

    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        X, y = self._validated(
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=least,
            reset=reset,
        )
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _target_learner(self) -> LabelLearner:
        return LabelLearner(self.class_weight)
