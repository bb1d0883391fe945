"""FitUnderWay: a fit from its first batch to its last, which can be left and gone on with."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bochner.callbacks import Callback, History, Keeper
from bochner.data import DataSource
from bochner.estimators.fitting.callbacks import Asked, PassReporter
from bochner.estimators.fitting.resume import (
    gained,
    grown,
    kept,
    last_pass,
    on_larger_basis,
)
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.fitting.training_data import Walk
from bochner.kernels import Precomputed
from bochner.solvers import Solver
from bochner.training.loop import INTERRUPTED, Solution, Training, run
from bochner.training.progress import Progress, Reason

if TYPE_CHECKING:
    from bochner.estimators.machines.kernel_machine import KernelMachine

UNFINISHED = Reason("it has not ended", converged=False)


@dataclass
class FitUnderWay:
    """What the runs of one fit have in common; `began` is by `time.perf_counter`.

    A fit whose basis grows is several runs. While a larger basis has yet to show that it is better,
    the fit stands where the smaller one had ended: `reached` and `lines` are the walk, the record
    and the history of then.
    """

    estimator: KernelMachine
    source: DataSource
    solver: Solver[Any]
    history: History
    reporter: PassReporter
    digest: bytes | None
    began: float
    reached: tuple[Walk, Solution] | None = None
    lines: History | None = None

    def climb(self, walk: Walk, training: Training | None, since: float) -> tuple[Walk, Solution]:
        """Run; make the basis larger, and run again, as long as held-out rows gain by it."""
        solution = self._run(walk, training)
        while (larger := self._larger(walk, solution, since)) is not None:
            since = solution.progress.seconds
            self.reached, self.lines = (walk, solution), self._copy()
            try:
                walk = self.estimator._walk(self.source, larger, self.solver)
            except KeyboardInterrupt:  # what was learned with fewer functions is not lost
                return self.reached[0], replace(solution, reason=INTERRUPTED)
            after = self._run(walk, on_larger_basis(solution.training, self.solver, walk))
            if not gained(solution.training, after.training):
                return self._back(after)
            solution, self.reached = after, None
        return walk, solution

    def last_pass(self, walk: Walk, solution: Solution) -> Solution:
        """Learn from the held-out rows as well, for one pass."""
        every = self.estimator._walk(self.source, walk.setup, self.solver, False)
        every, self.reached = every.on(walk.problem.basis), None
        told: tuple[Callback, ...] = (self.history, *self._callbacks(every))
        return last_pass(self.solver, every, solution, told)

    def _run(self, walk: Walk, training: Training | None) -> Solution:
        estimator = self.estimator
        return run(
            self.solver,
            walk.problem,
            walk.source,
            stop=estimator._rule(walk.held_out is not None, self.solver) | Asked(self.reporter),
            callbacks=(self.history, self.reporter, *self._callbacks(walk)),
            held_out=walk.held_out,
            training=training,
            used=time.perf_counter() - self.began,
        )

    def _larger(self, walk: Walk, solution: Solution, since: float) -> Any:
        if solution.training.last_pass is not None:  # that came after all growth
            return None
        return grown(walk, solution, self.estimator.tol, self.estimator.max_seconds, since)

    def _back(self, after: Solution) -> tuple[Walk, Solution]:
        """Return to what was learned with fewer functions."""
        assert self.reached is not None  # there were fewer
        walk, solution = self.reached
        if after.reason is INTERRUPTED and self.lines is not None:
            self.history.columns = self.lines.columns
        return walk, kept(solution, after)

    def _callbacks(self, walk: Walk) -> list[Callback]:
        """Return those of the user; one that keeps models is handed them."""
        given = self.estimator._callbacks()
        if any(isinstance(one, Keeper) for one in given):
            require_lasting(self.digest, walk.setup)
        return [partial(self._hand, one, walk) if isinstance(one, Keeper) else one for one in given]

    def _hand(self, keeper: Keeper, walk: Walk, progress: Progress) -> None:
        keeper.keep(progress, partial(self._unfinished, walk, progress))

    def _unfinished(self, walk: Walk, progress: Progress) -> KernelMachine:
        """Return a copy of the estimator that goes on from here when it is fitted."""
        training, history, setup = progress.training, self.history, walk.setup
        if self.reached is not None and not gained(self.reached[1].training, training):
            assert self.lines is not None  # they were noted together
            setup, history = self.reached[0].setup, self.lines
            training, expansion = self.reached[1].training, self.reached[1].expansion
        else:
            expansion = self.solver.expansion(walk.problem, training.state)
        memo = None if training.memo is None else replace(training.memo, code=None)
        solution = Solution(expansion, replace(training, memo=memo), UNFINISHED, progress.settled())
        other = object.__new__(type(self.estimator))
        other.__dict__.update(self.estimator.__dict__)
        setup = replace(setup, rows_in_bins=None)
        other._store(setup, self.solver, solution, history, self.digest)
        other._unfinished, other._used = True, time.perf_counter() - self.began
        return other

    def _copy(self) -> History:
        history = History()
        history.columns = {name: list(values) for name, values in self.history.columns.items()}
        return history


def require_lasting(digest: bytes | None, setup: Setup) -> None:
    """Refuse to keep a fit that no later one could go on with."""
    if isinstance(setup.kernel, Precomputed):
        raise ValueError("Fits to a precomputed kernel have no checkpoints: save the fitted model.")
    if digest is None:
        raise ValueError(
            "Checkpoints need rows that can be read again; got some that can be read only once. "
            "Leave the checkpoint out of callbacks, or give rows as an array or a file."
        )
