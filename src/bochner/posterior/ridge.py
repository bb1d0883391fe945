"""Ridge: kernel ridge regression on given targets by any solver, and the limits of its fits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.callbacks import Callback
from bochner.data import Batch, DataSource, RandomAccess, mapped, shuffled
from bochner.features import Basis
from bochner.losses import Squared
from bochner.problem import Expansion, Problem
from bochner.solvers import Solver
from bochner.stopping import Stop, Tolerance, stopping_rule
from bochner.training.loop import INTERRUPTED, run
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
    memory : int or None
        Bytes that codes of rows may take; None is half of the free memory at each fit.
    """

    max_passes: int | None = None
    max_seconds: float | None = None
    tol: float = 0.0
    callbacks: tuple[Callback, ...] = ()
    began: float | None = None
    ends: list[Progress] = field(default_factory=list)
    memory: int | None = None

    def after(self, share: float) -> float:
        """Return the time at which a share of the time limit has passed."""
        if self.max_seconds is None or self.began is None:
            return math.inf
        return self.began + share * self.max_seconds

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
        """Return the same limits with no callback, no recorded fit and no memory budget."""
        return FitLimits(self.max_passes, self.max_seconds, self.tol)


@dataclass(frozen=True, eq=False)
class Ridge:
    """The minimum of sum w |f(x) - t(x)|^2 / (2 sum w) + alpha/2 |f|^2 for targets t of the rows.

    It is the posterior mean of a Gaussian process with the noise alpha sum w, since the squared
    loss has a factor 1/2 and is a mean over the rows.

    Parameters
    ----------
    source : DataSource
        Rows, weights and coded targets.
    basis : Basis
        The basis of f.
    solver : Solver
        The solver that finds the weights.
    alpha : float
        noise / sum w.
    seed : int
        Determines the order of the rows.
    watch : FitLimits
        Limits and callbacks of the fits, and how they ended.
    """

    source: DataSource
    basis: Basis
    solver: Solver[Any]
    alpha: float
    seed: int
    watch: FitLimits = field(default_factory=FitLimits)

    def fit_completely(self, targets: Callable[[Batch], NDArray[Any]]) -> Expansion:
        """Return the function as `fit` does, but raise KeyboardInterrupt after a Ctrl-C."""
        found = self.fit(targets)
        if self.watch.ends[-1].reason is INTERRUPTED:
            raise KeyboardInterrupt
        return found

    def fit(self, targets: Callable[[Batch], NDArray[Any]]) -> Expansion:
        """Return the function fitted to targets computed from batches; a Ctrl-C ends the fit."""

        def with_targets(batch: Batch) -> Batch:
            return replace(batch, y=np.asarray(targets(batch), np.float64))

        source: DataSource = mapped(self.source, with_targets)
        outputs = source.sample(1).targets.shape[1]
        if self.solver.tags.access == "shuffled" and isinstance(source, RandomAccess):
            source = shuffled(source)
        rows = self.source.n_rows
        problem = Problem(self.basis, Squared(), self.alpha, outputs, False, rows, self.seed)
        solution = run(
            self.solver,
            problem,
            source,
            stop=self.watch.rule(self.solver),
            callbacks=self.watch.callbacks,
            used=self.watch.used,
            memory=self.watch.memory,
        )
        self.watch.record(solution.progress)
        return solution.expansion.simplified()
