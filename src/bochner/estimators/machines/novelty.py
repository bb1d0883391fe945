"""KernelNoveltyDetector: novelty detection by a one-class machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from bochner.callbacks import Callback
from bochner.component import Component
from bochner.estimators.automatic.scales import has_auto_bandwidth
from bochner.estimators.automatic.settings import FitSettings
from bochner.estimators.inputs.targets import InlierLearner
from bochner.estimators.inputs.validation import Counted
from bochner.estimators.machines.kernel_machine import KernelMachine
from bochner.features import FeatureMap
from bochner.kernels import Gaussian, Kernel
from bochner.losses import OneClass
from bochner.solvers import DoublyStochastic
from bochner.solvers.doubly_stochastic.step_rules import Plain
from bochner.stopping import Passes, Steps, Stop
from bochner.validation import require_fraction

MULTIPLIER = 0.35  # of the median distance
ENOUGH_STEPS = 64
BATCH_ROWS = 4_096
BLOCK_COLUMNS = 512
MOST_FEATURES = 32_768


class KernelNoveltyDetector(OutlierMixin, KernelMachine):  # type: ignore[misc]
    r"""Novelty detection on data of any size by a one-class support vector machine.

    Minimises nu/2 |h|^2 + mean max(0, rho - h(x)) - nu rho over functions h of the kernel and
    numbers rho (nu times Eq. 4 of Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001,
    Estimating the support of a high-dimensional distribution).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A kernel with random features, by name or as a component of `bochner.kernels`. "auto":
        Gaussian with a bandwidth of 0.35 times the median distance.
    nu : float, default=0.1
        Between 0 and 1: about the share of the training rows that lie outside (`predict` -1).
    features : str or FeatureMap, default="auto"
        "auto", the random features of the kernel, whose number grows during the fit up to 32,768;
        or a component of `bochner.features` such as `Fourier(size)`.
    scale : None, "standard" or "range", default=None
        As in `KernelRegressor`.
    scales : None or array-like of n_columns numbers, default=None
        The numbers by which columns are divided before the kernel is evaluated (ARD).
    max_passes : int or None, default=None
        The number of passes over the rows. None: until 64 steps, of at most 4,096 rows each, are
        done, to the end of that pass.
    max_seconds, warm_start, n_jobs, memory_budget, random_state, callbacks, verbose
        As in `KernelRegressor`.

    Attributes
    ----------
    offset_ : float
        rho, such that decision_function = score_samples - offset_.
    n_features_used_, n_iter_, history_, stopped_because_, kernel_, scaling_, expansion_
        As in `KernelRegressor`.
    weights_, feature_importances_
        As in `KernelRegressor`.

    See Also
    --------
    sklearn.svm.OneClassSVM : The same problem for few rows; its h is nu n_rows times this one.
    DensityRatio : Novelty of one sample relative to another.

    Notes
    -----
    The solver is doubly stochastic gradients with steps 1 / (nu t) (Dai et al. 2014, Algorithm 1,
    section 4). In each step rho is the nu-quantile of h at the batch. In the end it is the
    nu-quantile of the averaged iterate at the latest 4,096 rows, which the model stores so that
    `partial_fit` can continue.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelNoveltyDetector
    >>> X = np.random.default_rng(0).normal(size=(2_000, 2))
    >>> detector = KernelNoveltyDetector(nu=0.05, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    families: ClassVar[dict[str, type[Component]]] = {"kernel": Kernel, "features": FeatureMap}
    fit_intercept = False  # the loss contains the threshold, a quantile of each batch
    tuning = "search"
    quality = 3
    early_stopping = False
    tol = 0.0

    def __init__(
        self,
        kernel: Any = "auto",
        nu: float = 0.1,
        features: Any = "auto",
        *,
        scale: str | None = None,
        scales: Any = None,
        max_passes: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.features = features
        self.scale = scale
        self.scales = scales
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows, or to a source or an iterator of blocks; y is ignored.

        With `warm_start` a second call continues the first.
        """
        return self._fit(X, None, sample_weight)  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on these rows once, in their order.

        The first call determines the bandwidth, the scaling and the number of columns.
        """
        return self._partial_fit(X, None, sample_weight)  # type: ignore[no-any-return]

    def score_samples(self, X: Any) -> NDArray[Any]:
        """Return h, which is large where training rows are dense."""
        return self.decision_function(X) + self.offset_  # type: ignore[no-any-return]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return h - rho, which is negative outside."""
        return self._evaluate(X)[:, 0]  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for rows inside and -1 for rows outside."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def offset_(self) -> float:
        """The threshold rho."""
        check_is_fitted(self)
        return -float(self.expansion_.intercept[0])

    @property
    def loss(self) -> OneClass:
        """The one-class loss."""
        return OneClass(self.nu)

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The regularisation, nu; another one would only rescale h and rho."""
        return self.nu

    @property
    def solver(self) -> DoublyStochastic:
        """Doubly stochastic gradients with the steps of a strongly convex problem."""
        return DoublyStochastic(
            step=Plain(theta=1 / self.nu),
            batch_size=BATCH_ROWS,
            feature_block=BLOCK_COLUMNS,
            max_features=MOST_FEATURES,
        )

    def _check_parameters(self) -> None:
        require_fraction("nu", self.nu)
        if isinstance(self.scales, str):
            raise ValueError(
                "Scales are learned from targets, and a detector has none: scales must be None or "
                f"a number for each column; got {self.scales!r}."
            )
        if has_auto_bandwidth(self.kernel):
            raise ValueError(
                "A bandwidth is chosen by targets, and a detector has none: give a number, or "
                f'"median"; got {self.kernel!r}.'
            )
        super()._check_parameters()

    def _default_kernel(self) -> Gaussian:
        return Gaussian(multiplier=MULTIPLIER)

    def _settings(self) -> FitSettings:
        enough: Stop = Steps(ENOUGH_STEPS) if self.max_passes is None else Passes(self.max_passes)
        return replace(super()._settings(), kernel=self._value_of("kernel"), enough=enough)

    def _arrays(
        self, X: Any, y: Any, *, counted: Counted = None, reset: bool, least: int
    ) -> tuple[Any, None]:
        return self._validated(X, counted=counted, reset=reset, ensure_min_samples=least), None

    def _target_learner(self) -> InlierLearner:
        return InlierLearner()
