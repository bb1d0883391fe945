"""KernelQuantileRegressor: several conditional quantiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import d2_pinball_score

from bochner.callbacks import Callback
from bochner.component import Component
from bochner.data import DataSource
from bochner.estimators.inputs.schemas import read_targets
from bochner.estimators.inputs.targets import NumberLearner
from bochner.estimators.machines.regressor import RegressionMachine
from bochner.losses import Quantile


class KernelQuantileRegressor(RegressionMachine):
    """Several conditional quantiles of a number, fitted at once.

    Minimises the mean over the rows of sum_k pinball(y, f_k(x); tau_k) + alpha/2 |f_k|^2, where
    pinball(y, f; tau) is tau (y - f) for y above f and (1 - tau) (f - y) below (Koenker and Bassett
    1978, Regression quantiles; Takeuchi et al. 2006, Nonparametric quantile estimation), with a
    smoothing (`losses.Quantile`).

    Parameters
    ----------
    quantiles : float or sequence of floats, default=(0.05, 0.5, 0.95)
        The quantiles tau_k, between 0 and 1, in increasing order. `predict` returns a column for
        each of a sequence, and the shape of y for a number, as `numpy.quantile` does.
    kernel, features, solver, alpha
        As in `KernelRegressor`. "auto" is random binning with backfitting where scales are
        learned, "smo" on few rows, Nystroem for other kernels, and "dsg" on streams.
        alpha="auto" is divided by the standard deviation of the targets, since the loss has their
        unit.
    fit_intercept, scale, scales, tuning, quality
        As in `KernelRegressor`; scales are learned with the squared loss.
    max_passes, max_seconds, early_stopping, tol, warm_start
        As in `KernelRegressor`.
    n_jobs, memory_budget, random_state, callbacks, verbose
        As in `KernelRegressor`.

    Attributes
    ----------
    loss_, kernel_, plan_, tuning_, relevance_, scaling_, warping_, expansion_, weights_, intercept_
        As in `KernelRegressor`; the function has a column for each quantile, and for y of several
        columns those of the first column of y come first.
    n_features_used_, n_iter_, history_, stopped_because_, binning_, feature_importances_
        As in `KernelRegressor`.

    See Also
    --------
    KernelRegressor : One quantile, with loss="quantile", or other losses.
    KernelGaussianProcess : Means with standard deviations.

    Notes
    -----
    A function is too close to the rows that it was fitted to. So each quantile is shifted such that
    its share of held-out rows lies below; where less than 2,000 rows are held out, up to ten
    further fits hold out others (Romano, Patterson and Candes 2019, Conformalized quantile
    regression). early_stopping=False and max_passes mean that no further fit is made.

    The predicted quantiles of a row never cross, since `predict` sorts them; two may be equal.
    Sorting does not increase the distance to the true quantiles (Chernozhukov, Fernandez-Val and
    Galichon 2010, Quantile and probability curves without crossing, Proposition 4).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, size=(2_000, 1))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 0] * rng.normal(size=2_000)
    >>> model = KernelQuantileRegressor(quantiles=[0.05, 0.95], random_state=0).fit(X, y)
    >>> low, high = model.predict(X).T
    >>> bool(0.85 < np.mean((low < y) & (y < high)) < 0.95), bool((low <= high).all())
    (True, True)
    """

    families: ClassVar[dict[str, type[Component]]] = {
        name: family for name, family in RegressionMachine.families.items() if name != "loss"
    }

    def __init__(
        self,
        quantiles: Any = (0.05, 0.5, 0.95),
        kernel: Any = "auto",
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
        super().__init__(
            kernel,
            "quantile",
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
        self.quantiles = quantiles

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean over the quantiles of D^2, the share of the pinball loss explained.

        It is 1 for perfect predictions and 0 for the quantiles of y without regard to the row
        (`sklearn.metrics.d2_pinball_score`).
        """
        if isinstance(X, DataSource):
            y, sample_weight = read_targets(X)
        values = self.predict(X)
        found = values[None] if self._is_single else np.moveaxis(values, -1, 0)
        scores = [
            d2_pinball_score(y, one, alpha=share, sample_weight=sample_weight)
            for share, one in zip(self._shares(), found, strict=True)
        ]
        return float(np.mean(scores))

    @property
    def _is_single(self) -> bool:
        """Whether there is one quantile, which has no axis of its own."""
        return np.ndim(self.quantiles) == 0

    def _loss(self) -> Any:
        shares = self._shares()
        return Quantile(shares[0] if self._is_single else shares)

    def _shares(self) -> tuple[float, ...]:
        """Return the validated quantiles."""
        shares = np.atleast_1d(self.quantiles)
        numbers = shares.ndim == 1 and len(shares) > 0 and shares.dtype.kind == "f"
        if not numbers or not ((shares > 0) & (shares < 1)).all():
            raise ValueError(
                "quantiles must be numbers between 0 and 1, exclusive, such as [0.05, 0.5, 0.95]; "
                f"got {self.quantiles!r}."
            )
        if not (np.diff(shares) > 0).all():
            raise ValueError(
                f"quantiles must be in increasing order, each once; got {self.quantiles!r}. Give "
                "sorted(set(quantiles))."
            )
        return tuple(shares.tolist())

    def _target_learner(self) -> NumberLearner:
        copies = None if self._is_single else len(self._shares())
        return NumberLearner(type(self).__name__, copies)
