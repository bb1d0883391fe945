"""Hyperparameters: the parameters of a kernel machine, their validation and their record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, ClassVar

from bochner.callbacks import Callback
from bochner.component import Component, NamedComponents
from bochner.estimators.automatic.defaults import default_kernel, is_auto
from bochner.estimators.automatic.scales import require_scales, scaled_kernel
from bochner.estimators.automatic.settings import FitSettings
from bochner.features import FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.solvers import Solver
from bochner.tuning import Tuning
from bochner.validation import (
    require_callables,
    require_count,
    require_jobs,
    require_memory,
    require_not_negative,
    require_one_of,
    require_positive,
)


class Hyperparameters(NamedComponents):
    """The parameters that all kernel machines share; `KernelRegressor` describes them."""

    families: ClassVar[dict[str, type[Component]]] = {
        "kernel": Kernel,
        "loss": Loss,
        "features": FeatureMap,
        "solver": Solver,
        "tuning": Tuning,
    }

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
