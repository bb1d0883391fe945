"""run(): the only training loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bochner.callbacks import Callback
from bochner.compute.blas import single_blas
from bochner.compute.memory import memory_budget
from bochner.data import Batch, DataSource
from bochner.features import Encoded, Groups
from bochner.problem import Expansion, Problem
from bochner.solvers import Memo, Solver, State
from bochner.stopping import Stop
from bochner.training.interruption import closed_at_the_end, interruptible
from bochner.training.progress import Evaluation, Progress, Reason

# A look at the held-out rows costs about as much as a step (only changed columns are evaluated).
STEPS_BETWEEN_LOOKS = 4
END_OF_STREAM = Reason("the stream ended", converged=True)
INTERRUPTED = Reason("it was interrupted", converged=False)
FAILED = Reason("an error ended it", converged=False)


@dataclass
class Training:
    """Everything that a fit needs to go on: checkpoint, resume and `partial_fit` are this record.

    `pass_` and `position` say which batch comes next, `batch_size` how the passes are cut,
    `last_pass` the pass in which held-out rows are learned once the others have been,
    `levels` the held-out losses that smaller bases ended with where the basis grows, and
    `forgotten` that what was known of the rows has been dropped.
    """

    state: State
    batch_size: int
    pass_: int = 0
    position: int = 0
    step: int = 0
    rows: int = 0
    memo: Memo | None = None
    evaluations: tuple[Evaluation, ...] = ()
    levels: tuple[float, ...] = ()
    last_pass: int | None = None
    forgotten: bool = False


@dataclass(frozen=True)
class Solution:
    """What a run ends with."""

    expansion: Expansion
    training: Training
    reason: Reason
    progress: Progress


@dataclass
class Run:
    """One call of `run`: the parts that meet in the loop, and its clock."""

    solver: Solver[Any]
    problem: Problem
    source: DataSource
    stop: Stop
    callbacks: tuple[Callback, ...]
    held_out: Batch | None
    training: Training
    began: float

    def loop(self) -> Solution:
        """Walk through the data until a rule, the end of a stream or the user says stop."""
        with interruptible() as interrupted, self._last_word_on_error():
            reason = self.stop(replace(self._progress(), seconds=0.0))
            while reason is None:
                reason = self._walk_pass(interrupted)
            # A Ctrl-C in the last batch must not be lost: the caller has to hear of it.
            reason = INTERRUPTED if interrupted.is_set() else reason
            expansion = self.solver.expansion(self.problem, self.training.state)
        progress = replace(self._progress(), reason=reason)
        self._tell(progress)
        return Solution(expansion, self.training, reason, progress)

    def _walk_pass(self, interrupted: threading.Event) -> Reason | None:
        training, began = self.training, self.training.position
        batches = self.source.batches(
            training.batch_size, self.problem.seed, training.pass_, training.position
        )
        with closed_at_the_end(batches):
            for batch in batches:
                self._take(batch)
                reason = INTERRUPTED if interrupted.is_set() else self.stop(self._progress())
                if reason is not None:
                    return reason
        if training.position == began == 0:
            return END_OF_STREAM
        return self._end_pass()

    def _take(self, batch: Batch) -> None:
        training = self.training
        # BLAS would keep its threads spinning after a norm of a few thousand numbers, on the cores
        # that the tiles need.
        with single_blas():
            training.state = self.solver.advance(self.problem, training.state, batch)
        training.position += 1
        training.step += 1
        training.rows += len(batch)
        self._refuse_infinities()
        if self.solver.looks == "steps" and training.step % STEPS_BETWEEN_LOOKS == 0:
            self._look()
        self._tell(self._progress())

    def _end_pass(self) -> Reason | None:
        training, known = self.training, len(self.training.state.pass_losses)
        with single_blas():
            training.state = self.solver.end_pass(self.problem, training.state)
        training.pass_, training.position = training.pass_ + 1, 0
        self._refuse_infinities()
        if self.solver.looks == "passes" and len(training.state.pass_losses) > known:
            self._look()
        self._tell(self._progress())
        return END_OF_STREAM if self.source.once else self.stop(self._progress())

    def _look(self) -> None:
        held_out = self.held_out
        if held_out is None or held_out.y is None:
            return
        training = self.training
        if training.memo is None:
            training.memo = self.solver.memo(self.problem, held_out)
        elif training.memo.code is None:  # it is not in files, since it can be made again
            training.memo.code = self.solver.memo(self.problem, held_out).code
        f = self.solver.predictions(self.problem, training.state, training.memo)
        losses = self.problem.loss.value(held_out.y, f)
        mean = float(np.average(losses, weights=held_out.weight))
        if all(mean < evaluation.loss for evaluation in training.evaluations):
            training.state = self.solver.on_best(self.problem, training.state)
        training.evaluations += (Evaluation(training.step, training.rows, mean),)

    def _refuse_infinities(self) -> None:
        if self.training.state.is_finite:
            return
        raise FloatingPointError(
            f"The weights became infinite at step {self.training.step}: the steps are too long for "
            "this problem. Choose a smaller step (solvers.Plain(theta=...), EigenPro(step=...)), a "
            "larger alpha or scaled columns (scale='standard')."
        )

    def _progress(self) -> Progress:
        training, rows = self.training, self.source.n_rows
        return Progress(
            pass_=training.pass_,
            position=training.position,
            batches=None if rows is None else -(-rows // training.batch_size),
            step=training.step,
            rows=training.rows,
            seconds=time.perf_counter() - self.began,
            loss=training.state.loss,
            pass_losses=tuple(training.state.pass_losses),
            size=self.solver.size(training.state),
            optimality=training.state.optimality,
            solved=self.solver.solved(training.state),
            evaluations=training.evaluations,
            expansion=partial(self.solver.expansion, self.problem, training.state),
            training=training,
        )

    def _tell(self, progress: Progress) -> None:
        for callback in self.callbacks:
            callback(progress)

    @contextmanager
    def _last_word_on_error(self) -> Iterator[None]:
        """Tell every callback that a run failed, so that it can close what it has opened."""
        try:
            yield
        except BaseException:
            progress = replace(self._progress(), reason=FAILED)
            for callback in self.callbacks:
                with suppress(Exception):  # the first error is the one to be heard
                    callback(progress)
            raise


def run(
    solver: Solver[Any],
    problem: Problem,
    source: DataSource,
    *,
    stop: Stop,
    callbacks: Iterable[Callback] = (),
    held_out: Batch | None = None,
    training: Training | None = None,
    used: float = 0.0,
) -> Solution:
    """Train: batch by batch, pass by pass, until `stop` says so.

    Parameters
    ----------
    solver, problem, source
        What moves the weights, what is minimised, and the rows.
    stop : Stop
        When to end. A Ctrl-C ends the run after the batch under way, with a usable solution.
    callbacks : iterable of callables
        Told the progress after every batch, after every pass and at the end, also of a run that
        fails.
    held_out : Batch or None
        Rows to look at every few steps, for the rule `NoImprovement`.
    training : Training or None
        An earlier run's record, to go on from there.
    used : float
        Seconds that the fit has taken before this run.
    """
    began = time.perf_counter() - used
    solver.check(problem)
    if solver.walks != "shuffled" and not isinstance(source, Encoded | Groups):
        rows = source.n_rows if problem.rows is None else problem.rows
        basis = solver.prepared(replace(problem, rows=rows), memory_budget())
        source = Encoded(source, basis, solver.rows_per_batch(problem))
        problem = replace(problem, basis=source.basis)
    if solver.walks == "groups" and isinstance(source, Encoded):
        source = source.groups()
    training = begun(solver, problem, source) if training is None else training
    return Run(solver, problem, source, stop, tuple(callbacks), held_out, training, began).loop()


def begun(solver: Solver[Any], problem: Problem, source: DataSource) -> Training:
    """Return the record of a fit that has yet to take its first batch."""
    sample = source.sample(solver.sample_rows(problem), problem.seed)
    with single_blas():
        state = solver.init(problem, sample)
    return Training(state, batch_size(solver, problem, state))


def batch_size(solver: Solver[Any], problem: Problem, state: State) -> int:
    """Return how many rows, or groups, a batch has."""
    if solver.walks == "groups":
        return solver.groups_per_batch
    return solver.rows_per_step(problem, state)
