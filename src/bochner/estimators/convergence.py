"""Convergence: an honest word to the user where a fit has ended too early."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner.loop import Solution


def warn_if_unfinished(solution: Solution, tol: float) -> None:
    """Warn whoever called `fit` if a limit ended it, unless the training loss stood still."""
    fall = solution.progress.fall
    if solution.reason.converged or abs(fall) <= tol / 10:
        return
    far = (
        f"in the last pass the training loss {'fell' if fall > 0 else 'rose'} by "
        f"{abs(fall):.2g} of its first value (tol / 10 is {tol / 10:g})"
        if np.isfinite(fall)
        else "a single pass cannot tell how far it is"
    )
    warnings.warn(
        f"The fit ended before it converged: {solution.reason}, and {far}. Raise max_passes or "
        "max_seconds, or leave both None to fit until held-out rows gain no more.",
        ConvergenceWarning,
        stacklevel=4,
    )
