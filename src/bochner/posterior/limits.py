"""FitLimits: when the fits of a posterior end, their callbacks, and how each fit ended."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from bochner.callbacks import Callback
from bochner.solvers import Solver
from bochner.stopping import Stop, Tolerance, stopping_rule
from bochner.training.progress import Progress


@dataclass
class FitLimits:
    """The limits and the callbacks of fits, and a record of how each of them ended.

    Parameters
    ----------
    max_passes, max_seconds : number or None
        Limits of each fit; None is a thousand passes, and any time.
    tol : float
        Of the training loss, for solvers that cannot measure their distance from the minimum: see
        `Tolerance`; 0 for none.
    callbacks : tuple of callables
        Called with the progress as in `run`.
    began : float or None
        When the time limit starts, by `time.perf_counter`; None: at the start of each fit.
    ends : list of Progress
        The last progress of each fit.
    """

    max_passes: int | None = None
    max_seconds: float | None = None
    tol: float = 0.0
    callbacks: tuple[Callback, ...] = ()
    began: float | None = None
    ends: list[Progress] = field(default_factory=list)

    @property
    def used(self) -> float:
        """Seconds since `began`."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    def rule(self, solver: Solver[Any]) -> Stop:
        """Return the stopping rule for a solver."""
        by_loss = self.tol > 0 and solver.tags.access == "shuffled"
        return stopping_rule(
            Tolerance(self.tol) if by_loss else None, self.max_passes, self.max_seconds
        )

    def record(self, end: Progress) -> None:
        """Append the last progress of a fit, without the function that it learned."""
        self.ends.append(end.detached())

    def without_callbacks(self) -> FitLimits:
        """Return the same limits with no callback and no recorded fit."""
        return FitLimits(self.max_passes, self.max_seconds, self.tol)
