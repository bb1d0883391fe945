"""GaussianProcessParameters: what a user can ask of a Gaussian process, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from numpy.typing import NDArray

from bochner.callbacks import Callback, ProgressBar
from bochner.component import Component
from bochner.estimators.border import Border
from bochner.estimators.choices import is_auto, kernel_for
from bochner.estimators.ranges import (
    require_callables,
    require_count,
    require_jobs,
    require_memory,
    require_number,
    require_one_of,
)
from bochner.estimators.scales import scaled_kernel
from bochner.features import FeatureMap
from bochner.kernels import Kernel
from bochner.posterior import Watch
from bochner.solvers import Solver

VARIANCES = ("features", "operator", "functions")


class GaussianProcessParameters(Border):
    """The parameters; `KernelGaussianProcess` describes them."""

    families: ClassVar[dict[str, type[Component]]] = {
        "kernel": Kernel,
        "features": FeatureMap,
        "solver": Solver,
    }

    def __init__(
        self,
        kernel: Any = "auto",
        noise: float | str = "auto",
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

    def _check_parameters(self) -> None:
        if not is_auto(self.noise):
            require_number("noise", self.noise, positive=False)
        require_one_of("variance", self.variance, VARIANCES)
        require_one_of("scale", self.scale, (None, "standard", "range"))
        require_one_of("normalize_y", self.normalize_y, (True, False))
        require_count("likelihood_rows", self.likelihood_rows)
        require_count("max_passes", self.max_passes, optional=True)
        require_number("max_seconds", self.max_seconds, positive=True, optional=True)
        require_number("tol", self.tol, positive=False)
        require_callables("callbacks", self.callbacks)
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        if isinstance(self.scales, str):
            require_one_of("scales", self.scales, ("auto", "learn", "equal"))
        scaled_kernel(self._meant("kernel"), self.scales).check()

    def _watch(self, *first: Callback, began: float | None = None, limited: bool = True) -> Watch:
        """Return the limits and all who are told the progress."""
        told = (*first, *(self.callbacks or ()))
        if self.verbose:
            passes = None if self.variance == "features" else self.max_passes
            told = (*told, ProgressBar(passes))
        seconds = self.max_seconds if limited else None
        return Watch(self.max_passes, seconds, self.tol, told, began)

    def _meant(self, name: str) -> Any:
        """Return what a parameter stands for, as far as that can be told without rows."""
        given = getattr(self, name)
        return kernel_for(self.features) if name == "kernel" and is_auto(given) else given

    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        return self._numbers(X, y, reset=reset, least=least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags


def has_sums(estimator: GaussianProcessParameters) -> bool:
    """Whether all that is known of the rows is a sum over them."""
    if estimator.variance != "features":
        raise AttributeError(
            f"variance={estimator.variance!r} keeps no sums over the rows, to which others could "
            "be added. Give variance='features' for partial_fit."
        )
    return True


def has_likelihood(estimator: GaussianProcessParameters) -> bool:
    """Whether sums over the rows, or the rows themselves, are kept."""
    if estimator.variance == "operator":
        raise AttributeError(
            "variance='operator' keeps neither the rows nor sums over them, which a likelihood "
            "needs. Give variance='features', with the same features, for log_marginal_likelihood."
        )
    return True
