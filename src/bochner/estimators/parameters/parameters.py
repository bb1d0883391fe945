"""Hyperparameters: what a user can ask of a kernel machine, checked and in the loop's terms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from bochner.callbacks import Callback, ProgressBar
from bochner.component import Component
from bochner.estimators.automatic.defaults import is_auto, kernel_for
from bochner.estimators.automatic.scales import require_scales, scaled_kernel
from bochner.estimators.parameters.named_components import NamedComponents
from bochner.estimators.parameters.ranges import (
    require_callables,
    require_count,
    require_jobs,
    require_memory,
    require_number,
    require_one_of,
)
from bochner.features import FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.solvers import Solver
from bochner.stopping import NoImprovement, Passes, Seconds, Solved, Stop, Tolerance
from bochner.tuning import Tuning

MOST_PASSES = 1_000  # where the user sets no limit and no rule ends the fit


class Hyperparameters(NamedComponents):
    """The parameters that all kernel machines have; the estimators describe them."""

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
            require_number("alpha", self.alpha, positive=False)
        require_number("tol", self.tol, positive=False)
        require_number("max_seconds", self.max_seconds, positive=True, optional=True)
        require_count("max_passes", self.max_passes, optional=True)
        require_one_of("scale", self.scale, (None, "standard", "range"))
        require_one_of("early_stopping", self.early_stopping, (True, False, "auto"))
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        require_callables("callbacks", self.callbacks)
        require_scales(self.scales)
        Tuning.resolve(self.tuning).check()
        scaled_kernel(self._meant("kernel"), self.scales).check()
        if not is_auto(loss := self._loss()):
            Loss.resolve(loss).check()

    def _loss(self) -> Any:
        """Return the loss that was asked for: a name, a component or "auto"."""
        return self.loss

    def _meant(self, name: str) -> Any:
        """Return what a parameter stands for, as far as that can be told without rows."""
        given = getattr(self, name)
        return kernel_for(self.features) if name == "kernel" and is_auto(given) else given

    def _early_stopping(self, solver: Solver[Any]) -> bool | str:
        needless = self.max_passes is not None or not solver.tags.iterates
        return False if needless and is_auto(self.early_stopping) else self.early_stopping

    def _rule(self, judged: bool, solver: Solver[Any]) -> Stop:
        """Return when to end."""
        passes = MOST_PASSES if self.max_passes is None else self.max_passes
        rule: Stop = Solved() | Passes(passes)  # solved in the last pass is solved
        if judged:
            rule = rule | NoImprovement(solver.tags.patience, self.tol)
        elif solver.tags.access == "shuffled":
            rule = rule | Tolerance(self.tol / 10)
        return rule if self.max_seconds is None else rule | Seconds(self.max_seconds)

    def _callbacks(self) -> tuple[Callback, ...]:
        given: tuple[Callback, ...] = tuple(self.callbacks or ())
        return (*given, ProgressBar(self.max_passes)) if self.verbose else given
