"""Choices: what "auto" means for the kernel, the loss and the regularisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.data import Batch
from bochner.estimators.inputs.tables import Table
from bochner.features import Binning, FeatureMap
from bochner.features.feature_map import categories_of, for_categories
from bochner.kernels import Kernel
from bochner.losses import Loss, deviations
from bochner.solvers import AveragedGradient, Solver

EXPECTED_ERROR = 0.25  # of the variance, where nothing is known of it


def bins(features: Any) -> bool:
    """Whether these features, a name or a component, are bins."""
    return isinstance(features, Binning) or (isinstance(features, str) and features == "binning")


def kernel_for(features: Any) -> str:
    """Return the kernel that features are made for."""
    return "laplacian" if bins(features) else "gaussian"


def loss_for(loss: Any, solver: Any) -> Any:
    """Return the loss that was given, or for labels the one that a solver is best with.

    Whole passes solve a linear system, and probabilities are calibrated on held-out rows; steps of
    single batches may as well minimise the likelihood itself.
    """
    if not is_auto(loss):
        return loss
    chosen: Solver[Any] = Solver.resolve(solver)
    stochastic = chosen.home(None) == "fourier" or isinstance(chosen, AveragedGradient)
    return "softmax" if stochastic else "squared"


def loss_on(sample: Batch, loss: Loss, error: float | None) -> Loss:
    """Return the loss for targets like these, of whose variance such a share will be left."""
    if type(loss).settled is Loss.settled:
        return loss  # it does not ask
    assert sample.y is not None  # targets refuse a batch without
    share = EXPECTED_ERROR if error is None else error
    return loss.settled(np.sqrt(share) * deviations(sample.y, sample.weight))


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel, a name or a component, is one whose values are the rows."""
    named = isinstance(kernel, str) and kernel == "precomputed"
    return named or (isinstance(kernel, Kernel) and kernel.precomputed)


def is_auto(given: Any) -> bool:
    """Whether a parameter is left to the data."""
    return isinstance(given, str) and given == "auto"


def alpha_for(alpha: Any, solver: Solver[Any], loss: Loss, rows: int | None) -> float:
    """Return the regularisation that was given, or the solver's own for so many rows."""
    given = not isinstance(alpha, str)
    return float(alpha) if given else solver.regularization(rows) * loss.stiffness


def text_as_numbers(table: Table | None, kernel: Kernel) -> tuple[int, ...]:
    """Return the columns of text whose codes the kernel would take for numbers."""
    if table is None:
        return ()
    measured = kernel.measured(len(table.names))
    return tuple(j for j in table.categorical if j in measured)


def for_text(features: FeatureMap, table: Table | None, kernel: Kernel) -> FeatureMap:
    """Return the feature map for a table; what the kernel does not compare it has to."""
    columns = text_as_numbers(table, kernel)
    return for_categories(features, columns) if columns else features


def unscaled(features: FeatureMap, kernel: Kernel, n_columns: int) -> tuple[int, ...]:
    """Return the columns that are left as they are, since nobody takes them for numbers."""
    others = set(range(n_columns)) - kernel.measured(n_columns)
    return tuple(sorted(others | set(categories_of(features, n_columns))))
