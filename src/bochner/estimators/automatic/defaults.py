"""What "auto" means for the kernel, the loss and the feature map."""

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
    rows; stochastic solvers minimise the likelihood itself.
    """
    if not is_auto(loss):
        return loss
    chosen: Solver[Any] = Solver.resolve(solver)
    stochastic = chosen.tags.default_features == "fourier" or isinstance(chosen, AveragedGradient)
    return "softmax" if stochastic else "squared"


def loss_for_targets(sample: Batch, loss: Loss, error: float | None) -> Loss:
    """Return the loss with widths in proportion to the expected residuals of these targets.

    `error` is the expected share of their variance that remains unexplained.
    """
    if type(loss).with_deviations is Loss.with_deviations:
        return loss  # it has no widths
    assert sample.y is not None  # targets refuse a batch without y
    share = EXPECTED_ERROR if error is None else error
    return loss.with_deviations(np.sqrt(share) * deviations(sample.y, sample.weight))


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
