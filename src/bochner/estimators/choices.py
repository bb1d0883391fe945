"""Choices: what "auto" means for the kernel, the solver and the regularisation."""

from __future__ import annotations

from typing import Any

from bochner.features import Binning
from bochner.losses import Loss, Quadratic, Smooth
from bochner.solvers import Solver


def bins(features: Any) -> bool:
    """Whether these features, a name or a component, are bins."""
    return isinstance(features, Binning) or (isinstance(features, str) and features == "binning")


def kernel_for(features: Any) -> str:
    """Return the kernel that features are made for."""
    return "laplacian" if bins(features) else "gaussian"


def solver_for(features: Any, loss: Any, once: bool) -> str:
    """Return the solver that suits the features, the loss and rows that can be read only once.

    Bins are best solved for by whole passes; rows that come once, and losses with kinks, leave
    stochastic steps.
    """
    if not bins(features):
        return "dsg"
    if isinstance(loss, str):
        loss = Loss.registry.get(loss, Loss)
    kind = loss if isinstance(loss, type) else type(loss)
    if once or not issubclass(kind, Smooth):
        return "averaged"
    return "cg" if issubclass(kind, Quadratic) else "newton"


def alpha_for(alpha: Any, solver: Solver[Any], rows: int | None) -> float:
    """Return the regularisation that was given, or the solver's own for so many rows."""
    return solver.regularization(rows) if isinstance(alpha, str) else float(alpha)
