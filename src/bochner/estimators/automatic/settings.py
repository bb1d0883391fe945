"""FitSettings: the parameters of a fit as a record, and what "auto" means in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bochner.callbacks import Callback, ProgressBar
from bochner.compute.memory import memory_budget
from bochner.data import Batch
from bochner.estimators.inputs.tables import Table
from bochner.features import Binning, FeatureMap
from bochner.features.feature_map import categories_of, for_categories
from bochner.kernels import Kernel
from bochner.losses import Loss, deviations
from bochner.solvers import SMO, AveragedGradient, Solver
from bochner.stopping import MOST_PASSES, NoImprovement, Passes, Seconds, Solved, Stop, Tolerance
from bochner.tuning.quality import QUALITIES, Quality

EXPECTED_ERROR = 0.25  # of the variance, if no better estimate is known


def is_auto(given: Any) -> bool:
    """Whether a parameter is "auto"."""
    return isinstance(given, str) and given == "auto"


def is_binning(features: Any) -> bool:
    """Whether features, a name or a component, are bins."""
    return isinstance(features, Binning) or (isinstance(features, str) and features == "binning")


def default_kernel(features: Any) -> str:
    """Return the kernel that "auto" means for these features."""
    return "laplacian" if is_binning(features) else "gaussian"


def default_loss(loss: Any, solver: Any) -> Any:
    """Return the given loss, or for "auto" the default loss of labels for a solver.

    Solvers of whole passes minimise the squared loss, and probabilities are calibrated on held-out
    rows; stochastic solvers minimise the likelihood itself. Sequential minimal optimisation is that
    of support vector machines.
    """
    if not is_auto(loss):
        return loss
    chosen: Solver[Any] = Solver.resolve(solver)
    if isinstance(chosen, SMO):
        return "hinge"
    stochastic = chosen.tags.default_features == "fourier" or isinstance(chosen, AveragedGradient)
    return "softmax" if stochastic else "squared"


def loss_for_targets(sample: Batch, loss: Loss, error: float | None) -> Loss:
    """Return the loss with widths in proportion to the expected residuals of these targets.

    `error` is the expected share of their variance that remains unexplained.
    """
    if type(loss).with_deviations is Loss.with_deviations:
        return loss  # it has no widths
    share = EXPECTED_ERROR if error is None else error
    return loss.with_deviations(np.sqrt(share) * deviations(sample.targets, sample.weight))


def text_taken_for_numbers(table: Table | None, kernel: Kernel) -> tuple[int, ...]:
    """Return the columns of text whose codes the kernel treats as numbers."""
    if table is None:
        return ()
    numeric = kernel.numeric_columns(len(table.names))
    return tuple(j for j in table.categorical if j in numeric)


def features_for_table(features: FeatureMap, table: Table | None, kernel: Kernel) -> FeatureMap:
    """Return the feature map for a table: it compares categories if the kernel does not."""
    columns = text_taken_for_numbers(table, kernel)
    return for_categories(features, columns) if columns else features


def unscaled_columns(features: FeatureMap, kernel: Kernel, n_columns: int) -> tuple[int, ...]:
    """Return the columns that are not scaled, since their values are not treated as numbers."""
    others = set(range(n_columns)) - kernel.numeric_columns(n_columns)
    return tuple(sorted(others | set(categories_of(features, n_columns))))


@dataclass(frozen=True, eq=False)
class FitSettings:
    """The parameters of an estimator that its fit needs.

    `enough` is a stopping rule that replaces convergence.
    """

    kernel: Any
    loss: Any
    features: Any
    solver: Any
    alpha: Any
    fit_intercept: bool
    scale: str | None
    scales: Any
    tuning: Any
    quality: int
    max_passes: int | None
    max_seconds: float | None
    early_stopping: bool | str
    tol: float
    warm_start: bool
    memory_budget: int | str | None
    random_state: Any
    callbacks: Iterable[Callback] | None
    verbose: bool
    enough: Stop | None = None

    @cached_property
    def memory(self) -> int:
        """The memory budget in bytes, determined once for the whole fit."""
        return memory_budget(self.memory_budget)

    @property
    def effort(self) -> Quality:
        """What a search does at this quality."""
        return QUALITIES[self.quality]

    def stops_early(self, solver: Solver[Any]) -> bool | str:
        """Return `early_stopping`; "auto" is False for a limit of passes or a closed form."""
        unneeded = self.max_passes is not None or not solver.tags.iterates
        return False if unneeded and is_auto(self.early_stopping) else self.early_stopping

    def described(self, solver: Solver[Any]) -> str:
        """Return as text the parameters by which the same rows and setup give the same fit."""
        text = f"alpha={self.alpha}, fit_intercept={self.fit_intercept}, solver={solver}, "
        return text + f"early_stopping={self.stops_early(solver)}"

    def stopping_rule(self, solver: Solver[Any], held_out: bool) -> Stop:
        """Return the stopping rule, with or without held-out rows."""
        rule = self._convergence(solver, held_out) if self.enough is None else self.enough
        return rule if self.max_seconds is None else rule | Seconds(self.max_seconds)

    def _convergence(self, solver: Solver[Any], held_out: bool) -> Stop:
        passes = MOST_PASSES if self.max_passes is None else self.max_passes
        rule: Stop = Solved() | Passes(passes)  # Solved first: it is the reason if both apply
        if held_out:
            return rule | NoImprovement(solver.tags.patience, self.tol)
        return rule | Tolerance(self.tol / 10) if solver.tags.access == "shuffled" else rule

    def all_callbacks(self) -> tuple[Callback, ...]:
        """Return the callbacks of the user, and a new progress bar if `verbose`."""
        given: tuple[Callback, ...] = tuple(self.callbacks or ())
        return (*given, ProgressBar(self.max_passes)) if self.verbose else given
