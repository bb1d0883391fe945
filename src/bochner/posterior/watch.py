"""Watch: when fits end, who is told of them, and how they ended."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from bochner.callbacks import Callback
from bochner.solvers import Solver
from bochner.stopping import Passes, Seconds, Solved, Stop, Tolerance
from bochner.training.progress import Progress

MOST_PASSES = 1_000


@dataclass
class Watch:
    """The limits of fits, those who are told their progress, and how each of them ended.

    Parameters
    ----------
    max_passes, max_seconds : number or None
        Limits of each fit; None is a thousand passes, and any time.
    tol : float
        Of the training loss, for solvers that know no optimum: see `Tolerance`; 0 for none.
    callbacks : tuple of callables
        Told the progress as in `run`.
    began : float or None
        When the time began, by `time.perf_counter`; None is with each fit.
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
        """Seconds since the time began."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    @property
    def time_is_up(self) -> Stop | None:
        """The rule of the time, if there is a limit."""
        return None if self.max_seconds is None else Seconds(self.max_seconds)

    def rule(self, solver: Solver[Any]) -> Stop:
        """Return when a solver ends; to have converged comes before a limit."""
        rule: Stop = Solved()
        if self.tol > 0 and solver.tags.access == "shuffled":
            rule = rule | Tolerance(self.tol)
        rule = rule | Passes(MOST_PASSES if self.max_passes is None else self.max_passes)
        return rule if self.time_is_up is None else rule | self.time_is_up

    def ended(self, progress: Progress) -> None:
        """Note how a fit ended, without the function that it learned."""
        self.ends.append(progress.detached())

    def afresh(self) -> Watch:
        """Return the same limits for fits that nobody is told of yet."""
        return Watch(self.max_passes, self.max_seconds, self.tol)
