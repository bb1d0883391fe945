"""FitSettings: the parameters of a fit as a record, and its stopping rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bochner.callbacks import Callback, ProgressBar
from bochner.compute.memory import memory_budget
from bochner.estimators.automatic.defaults import is_auto
from bochner.solvers import Solver
from bochner.stopping import NoImprovement, Passes, Seconds, Solved, Stop, Tolerance

MOST_PASSES = 1_000  # if the user sets no limit and no other rule ends the fit


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

    def stops_early(self, solver: Solver[Any]) -> bool | str:
        """Return `early_stopping`; "auto" is False for a limit of passes or a closed form."""
        unneeded = self.max_passes is not None or not solver.tags.iterates
        return False if unneeded and is_auto(self.early_stopping) else self.early_stopping

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
