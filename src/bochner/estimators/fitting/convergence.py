"""Convergence: an honest word to the user where a fit has ended too early."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner.training.loop import Solution
from bochner.training.progress import Progress


def warn_if_unfinished(solution: Solution, tol: float) -> None:
    """Warn whoever called `fit` if a limit ended it, unless the training loss stood still."""
    fall = solution.progress.fall
    if solution.reason.converged or abs(fall) <= tol / 10:
        return
    far = _last_fall(fall, f"tol / 10 is {tol / 10:g}")
    warnings.warn(
        f"The fit ended before it converged: {solution.reason}, and {far}. Raise max_passes or "
        "max_seconds, or leave both None to fit until held-out rows gain no more.",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_of_limits(ends: Sequence[Progress], tol: float, what: str) -> None:
    """Warn whoever called an estimator's method if a limit ended one of its fits too early.

    Solvers that know how far the minimum is have converged if they say so; of others the training
    loss may stand still.
    """
    early = [end for end in ends if not _converged(end, tol)]
    if not early:
        return
    last = early[-1]
    far = _last_fall(last.fall, f"tol is {tol:g}")
    if np.isfinite(last.optimality):
        far = f"the optimality residual is {last.optimality:.2g}"
    warnings.warn(
        f"{what} ended before it converged: {last.reason}, and {far}. Raise limits of "
        "passes or time that you gave, or choose another solver or regularisation.",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_of_unseen_rows(ends: Sequence[Progress], rows: int | None) -> None:
    """Warn whoever called `fit` if time was up before all rows had been seen."""
    early = [end for end in ends if end.reason is not None and not end.reason.converged]
    if not early:
        return
    end = early[-1]
    part = f"the first {end.rows:,} rows of a stream"
    if rows is not None:
        part = f"{end.rows:,} of {rows:,} rows"
    warnings.warn(
        f"The fit ended before all rows were seen: {end.reason}. What is known is the posterior "
        f"given {part}, with deviations as wide as these leave them. Raise max_seconds, or leave "
        "it None to see all rows.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _converged(end: Progress, tol: float) -> bool:
    if end.reason is None or end.reason.converged:
        return True
    return bool(np.isinf(end.optimality)) and abs(end.fall) <= tol


def _last_fall(fall: float, enough: str) -> str:
    if not np.isfinite(fall):
        return "a single pass cannot tell how far it is"
    return (
        f"in the last pass the training loss {'fell' if fall > 0 else 'rose'} by "
        f"{abs(fall):.2g} of its first value ({enough})"
    )
