"""Summation: the solver that adds rows to the sums of a closed form, in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bochner.compute.interruption import closed_at_the_end, completed
from bochner.data import Batch, DataSource
from bochner.features import Basis
from bochner.losses import Squared
from bochner.posterior.feature_posterior import FeatureSums, extended, require_few_features
from bochner.posterior.ridge import FitLimits
from bochner.problem import Expansion, Problem
from bochner.solvers import State
from bochner.solvers.solver import SamplingSolver, SolverTags
from bochner.stopping import OnePass, Seconds, Stop
from bochner.training.loop import INTERRUPTED, Solution, Training, run
from bochner.training.progress import Progress, Reason

BATCH_NUMBERS, BATCH_ROWS = 2**23, (256, 8_192)  # features of a batch; its fewest and most rows
ALL_SEEN = Reason("all rows were read once", converged=True)


@dataclass
class SummationState(State):
    """The basis, whose bins grow with the rows, and the sums, None before the first row."""

    basis: Basis
    sums: FeatureSums | None

    @property
    def size(self) -> int:
        """The number of functions of the basis."""
        return self.basis.end(None)

    @property
    def is_finite(self) -> bool:
        """Return True: targets are finite, and so are features; the loss is unknown."""
        return True


@dataclass
class Summation(SamplingSolver[SummationState]):
    """Adds the rows of each batch to `FeatureSums`; it evaluates no loss.

    A pass that a limit or a Ctrl-C ends leaves the sums over the rows seen so far, which give a
    posterior, too. It has no name in the registry: the noise, and so the function, is chosen from
    the sums after the pass (`FeaturePosterior`).
    """

    tags: ClassVar[SolverTags] = SolverTags(state_type=SummationState, iterates=False)

    def rows_per_batch(self, problem: Problem, state: SummationState | None = None) -> int:
        """Return the number of rows whose features fit into some memory."""
        fewest, most = BATCH_ROWS
        return max(fewest, min(BATCH_NUMBERS // max(problem.basis.size or 1, 1), most))

    def sample_rows(self, problem: Problem) -> int:
        """Return 1: the sums need no sample."""
        return 1

    def init(self, problem: Problem, sample: Batch) -> SummationState:
        """Return the state before the first row."""
        return self.resume(problem, None)

    def resume(self, problem: Problem, sums: FeatureSums | None) -> SummationState:
        """Return a state that adds further rows to a copy of earlier sums."""
        require_few_features(problem.basis.size)
        if sums is not None:  # `add` changes the matrix in place, and a later batch may be refused
            sums = replace(sums, gram=sums.gram.copy())
        return SummationState(math.nan, 0.0, [], problem.basis, sums)

    def advance(self, problem: Problem, state: SummationState, batch: Batch) -> SummationState:
        """Add the rows of a batch."""
        if len(batch) == 0:
            return state
        if state.sums is None:
            state.sums = FeatureSums.empty(state.basis.end(None), batch.targets.mean(axis=0))
        larger, Z = extended(state.basis, batch.X)
        state.sums = state.sums.on_larger_basis(larger, state.basis).add(Z, batch)
        state.basis = larger
        return state

    def end_pass(self, problem: Problem, state: SummationState) -> SummationState:
        """Return the state as it is."""
        return state

    def expansion(self, problem: Problem, state: SummationState) -> Expansion:
        """Return the prior mean, 0: the posterior mean depends on a noise not yet chosen."""
        weights = np.zeros((state.size, problem.outputs))
        return Expansion(state.basis, weights, np.zeros(problem.outputs))

    def on_new_rows(self, problem: Problem, state: SummationState) -> SummationState:
        """Return a state that adds other rows to the same sums."""
        return self.resume(replace(problem, basis=state.basis), state.sums)


@dataclass(frozen=True, eq=False)
class EarlierRows:
    """The sums over the rows of earlier calls, and the passes, batches and rows of these calls."""

    sums: FeatureSums
    passes: int
    steps: int
    rows: int


def sum_features(
    basis: Basis,
    source: DataSource,
    seed: int,
    limits: FitLimits,
    earlier: EarlierRows | None = None,
) -> tuple[Basis, FeatureSums]:
    """Read the rows once and return the basis, with all its bins, and the sums over the rows."""
    solver, outputs = Summation(), source.sample(1).targets.shape[1]
    problem = Problem(basis, Squared(), 0.0, outputs, False, source.n_rows, seed)
    training, number = None, 0
    if earlier is not None:
        number = earlier.passes
        training = Training(
            solver.resume(problem, earlier.sums),
            solver.rows_per_batch(problem),
            number,
            step=earlier.steps,
            rows=earlier.rows,
        )
    stop: Stop = OnePass(number)
    if limits.max_seconds is not None:
        stop = stop | Seconds(limits.max_seconds)
    solution = run(
        solver,
        problem,
        source,
        stop=stop,
        callbacks=limits.callbacks,
        training=training,
        used=limits.used,
    )
    limits.record(_last_progress(solution, source, seed))
    state = solution.training.state
    assert isinstance(state, SummationState)
    if state.sums is None:  # there was no time for a batch
        rows = next(iter(source.batches(BATCH_ROWS[0], seed)), None)
        if rows is None:
            raise ValueError("A Gaussian process needs at least one row; got none.")
        with completed():
            state = solver.advance(problem, state, rows)
    assert state.sums is not None  # of one batch at least
    return state.basis, state.sums


def _last_progress(solution: Solution, source: DataSource, seed: int) -> Progress:
    """Return the last progress; a time limit met in the last batch has left no row out."""
    training, end = solution.training, solution.progress
    if solution.reason is INTERRUPTED:
        return end
    if not solution.reason.converged:
        batches = source.batches(training.batch_size, seed, training.pass_, training.position)
        with closed_at_the_end(batches):
            if next(batches, None) is not None:
                return end
    return replace(end, reason=ALL_SEEN)
