"""run(): the only training loop."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from bochner.callbacks import Callback
from bochner.compute.blas import single_blas
from bochner.compute.interruption import (
    abandonable,
    after,
    closed_at_the_end,
    completed,
    interruptible,
)
from bochner.compute.memory import memory_budget
from bochner.data import Batch, DataSource
from bochner.features import SAMPLE_ROWS, EncodedData, EncodedRows
from bochner.problem import Expansion, Problem
from bochner.records import Validated, require_sound
from bochner.solvers import PredictionCache, SamplingSolver, Solver, State
from bochner.stopping import Stop
from bochner.training.progress import Evaluation, Progress, Reason

# A part of a run that is expected to take less time (in seconds) is completed if a copy of the
# state would take more than this share of its time.
SHORT, CHEAP = 0.1, 0.02
SHARE_OF_START = 0.3  # of the time that is left, for a solver's start
# An evaluation costs about as much as a step: only columns that have changed are evaluated.
STEPS_BETWEEN_EVALUATIONS = 4
END_OF_STREAM = Reason("the stream ended", converged=True)
INTERRUPTED = Reason("it was interrupted", converged=False)
FAILED = Reason("an error ended it", converged=False)


@dataclass
class Training(Validated):
    """Everything that a fit needs to continue: checkpoints and `partial_fit` store this record.

    `pass_` and `position` are the numbers of the next pass and batch, `batch_size` the rows (or
    groups) of a batch, `last_pass` the number of the pass that learns the held-out rows, and
    `smaller_losses` the best held-out losses of the smaller bases if the basis grows.
    `prediction_cache` holds predictions for held-out rows. `rows_dropped` is True once the state
    holds nothing for single rows any more, and `unevaluated` while an evaluation of held-out rows
    that was abandoned has to be repeated.
    """

    state: State
    batch_size: int
    pass_: int = 0
    position: int = 0
    step: int = 0
    rows: int = 0
    prediction_cache: PredictionCache | None = None
    evaluations: tuple[Evaluation, ...] = ()
    smaller_losses: tuple[float, ...] = ()
    last_pass: int | None = None
    rows_dropped: bool = False
    unevaluated: bool = False

    def validate(self) -> None:
        """Check that the counts are counts."""
        counts = (self.batch_size - 1, self.pass_, self.position, self.step, self.rows)
        require_sound(min(counts) >= 0, "its counts are out of range")

    @property
    def best_loss(self) -> float:
        """The lowest mean loss on held-out rows so far, infinite before the first evaluation."""
        return min((evaluation.loss for evaluation in self.evaluations), default=np.inf)


@dataclass(frozen=True)
class Solution:
    """The result of a run."""

    expansion: Expansion
    training: Training
    reason: Reason
    progress: Progress


@dataclass
class TrainingRun:
    """One call of `run`: its arguments, the training record and the start time.

    A part of it (a batch, the end of a pass, an evaluation) is abandoned if the time is up or
    Ctrl-C was pressed and it does not end soon; then the training record is that before the part.
    `took` are the seconds that the last part of each kind took.
    """

    solver: Solver[Any]
    problem: Problem
    source: DataSource | EncodedData
    stop: Stop
    callbacks: tuple[Callback, ...]
    held_out: Batch | None
    training: Training
    began: float
    interrupted: threading.Event = field(default_factory=threading.Event)
    took: dict[str, float] = field(default_factory=dict)

    def loop(self) -> Solution:
        """Run passes until a stopping rule, the end of a stream or a Ctrl-C ends the fit."""
        with interruptible() as self.interrupted, self._notify_on_error():
            reason = self._evaluate_and_notify() if self.training.unevaluated else None
            reason = reason or self.stop(replace(self._progress(), seconds=0.0))
            while reason is None:
                reason = self._run_pass()
            # The caller must learn of a Ctrl-C in the last batch, too.
            reason = INTERRUPTED if self.interrupted.is_set() else reason
            with completed():
                expansion = best_expansion(self.solver, self.problem, self.training.state)
        progress = replace(self._progress(), reason=reason)
        self._notify(progress)
        return Solution(expansion, self.training, reason, progress)

    def _run_pass(self) -> Reason | None:
        training, began = self.training, self.training.position
        batches = self._batches()
        with closed_at_the_end(batches):
            while True:
                batch, reason = self._read(batches)
                if batch is None:
                    break
                reason = self._advance(batch) or self._reason()
                if reason is not None:
                    return reason
        if reason is not None:
            return reason
        if training.position == began == 0:
            return END_OF_STREAM
        return self._end_pass()

    def _read(self, batches: Iterator[Batch]) -> tuple[Batch | None, Reason | None]:
        """Return the next batch, None at the end; or the reason if reading was abandoned."""
        found: list[Batch] = []

        def read() -> None:
            found.extend(islice(batches, 1))

        if self.source.once:  # what was read of a stream would be lost
            with completed():
                read()
            reason = None
        else:
            reason = self._attempt("read", read)
        return (found[0] if found else None), reason

    def _advance(self, batch: Batch) -> Reason | None:
        training = self.training
        reason = self._change_state("advance", self.solver.advance, batch)
        if reason is not None:
            return reason
        training.rows += self._rows_in(batch)
        training.position += 1
        training.step += 1
        self._refuse_infinities()
        if self.solver.tags.evaluates == "steps" and training.step % STEPS_BETWEEN_EVALUATIONS == 0:
            return self._evaluate_and_notify()
        self._notify(self._progress())
        return None

    def _end_pass(self) -> Reason | None:
        training, known = self.training, len(self.training.state.pass_losses)
        reason = self._change_state("end_pass", self.solver.end_pass)
        if reason is not None:
            return reason
        training.pass_, training.position = training.pass_ + 1, 0
        self._refuse_infinities()
        if self.solver.tags.evaluates == "passes" and len(training.state.pass_losses) > known:
            reason = self._evaluate_and_notify()
        else:
            self._notify(self._progress())
        return reason or (END_OF_STREAM if self.source.once else self.stop(self._progress()))

    def _evaluate_and_notify(self) -> Reason | None:
        """Evaluate the held-out rows, then call the callbacks about the batch or pass."""
        reason = self._evaluate_held_out()
        if reason is None:
            self._notify(self._progress())
        return reason

    def _change_state(self, name: str, part: Callable[..., State], *given: Any) -> Reason | None:
        """Let the solver change the state; if that is abandoned, the state is as before."""
        training = self.training
        before = self._snapshot(name, *given)

        def change() -> None:
            # After small products BLAS threads would keep spinning on the cores the tiles need.
            with single_blas():
                training.state = part(self.problem, training.state, *given)

        if before is None:
            with completed():
                self._timed(name, change)
            return None
        if (reason := self._attempt(name, change)) is not None:
            training.state = before()
        return reason

    def _snapshot(self, name: str, batch: Batch | None = None) -> Callable[[], State] | None:
        """Return a snapshot of the state if the part may be long, or is much longer than that."""
        expected, copying = self.took.get(name, math.inf), self.took.get("copy", 0.0)
        if expected < SHORT and copying > CHEAP * expected:
            return None
        began = time.perf_counter()
        snapshot = self.training.state.snapshot(batch)
        self.took["copy"] = time.perf_counter() - began
        return snapshot

    def _attempt(self, name: str, part: Callable[[], None]) -> Reason | None:
        """Do a part of the run; return the reason if it was abandoned."""
        late = after(self.began + self.stop.most_seconds)
        with abandonable(lambda: self.interrupted.is_set() or late()) as attempt:
            self._timed(name, part)
        return self._reason() if attempt.abandoned else None

    def _timed(self, name: str, part: Callable[[], None]) -> None:
        began = time.perf_counter()
        part()
        self.took[name] = time.perf_counter() - began

    def _reason(self) -> Reason | None:
        """Return the reason to end the run now."""
        return INTERRUPTED if self.interrupted.is_set() else self.stop(self._progress())

    def _evaluate_held_out(self) -> Reason | None:
        """Evaluate the held-out rows; if that is abandoned, a continued fit repeats it."""
        held_out, training = self.held_out, self.training
        if held_out is None or held_out.y is None:
            return None
        cache = training.prediction_cache or PredictionCache()
        before = cache.copied()
        training.prediction_cache, training.unevaluated = cache, True
        reason = self._attempt("evaluate", partial(self._evaluate, held_out))
        if reason is not None:
            training.prediction_cache = before
        return reason

    def _evaluate(self, held_out: Batch) -> None:
        training = self.training
        assert training.prediction_cache is not None  # the caller has set it
        assert held_out.y is not None  # and checked
        f = self.solver.predictions(
            self.problem, training.state, held_out, training.prediction_cache
        )
        losses = self.problem.loss.value(held_out.y, f)
        mean = float(np.average(losses, weights=held_out.weight))
        if self.solver.tags.keeps_best and all(mean < one.loss for one in training.evaluations):
            best = self.solver.expansion(self.problem, training.state)
            copies = np.array(best.weights, np.float64), np.array(best.intercept, np.float64)
            training.state.best = copies
        training.evaluations += (Evaluation(training.step, training.rows, mean),)
        training.unevaluated = False

    def _refuse_infinities(self) -> None:
        if self.training.state.is_finite:
            return
        raise FloatingPointError(
            f"The weights became infinite at step {self.training.step}: the steps are too long for "
            "this problem. Choose a larger alpha, scaled columns (scale='standard'), or shorter "
            "steps, which are a parameter of the solver."
        )

    def _progress(self) -> Progress:
        training = self.training
        return Progress(
            pass_=training.pass_,
            position=training.position,
            batches=self._n_batches(),
            step=training.step,
            rows=training.rows,
            seconds=time.perf_counter() - self.began,
            loss=self._loss(),
            pass_losses=tuple(training.state.pass_losses),
            size=training.state.size,
            optimality=training.state.optimality,
            solved=self.solver.solved(training.state),
            evaluations=training.evaluations,
            expansion=partial(best_expansion, self.solver, self.problem, training.state),
            training=training,
        )

    def _loss(self) -> float:
        """Return the loss, NaN while the solver has only collected rows."""
        state = self.training.state
        return state.loss if state.pass_losses or state.moved else math.nan

    def _batches(self) -> Iterator[Batch]:
        source, training, seed = self.source, self.training, self.problem.seed
        if isinstance(source, EncodedData):
            return source.batches(seed, training.pass_, training.position)
        return source.batches(training.batch_size, seed, training.pass_, training.position)

    def _n_batches(self) -> int | None:
        if isinstance(self.source, EncodedData):
            return self.source.n_batches
        rows = self.source.n_rows
        return None if rows is None else -(-rows // self.training.batch_size)

    def _rows_in(self, batch: Batch) -> int:
        if isinstance(self.source, EncodedData):
            return self.source.rows_in(batch, self.training.position)
        return len(batch)

    def _notify(self, progress: Progress) -> None:
        for callback in self.callbacks:
            callback(progress)

    @contextmanager
    def _notify_on_error(self) -> Iterator[None]:
        """Call every callback if the run fails, so that it can release its resources."""
        try:
            yield
        except BaseException:
            progress = replace(self._progress(), reason=FAILED)
            for callback in self.callbacks:
                with suppress(Exception):  # the first error is the one to raise
                    callback(progress)
            raise


def run(
    solver: Solver[Any],
    problem: Problem,
    source: DataSource | EncodedData,
    *,
    stop: Stop,
    callbacks: Iterable[Callback] = (),
    held_out: Batch | None = None,
    training: Training | None = None,
    used: float = 0.0,
    memory: int | None = None,
) -> Solution:
    """Train batch by batch and pass by pass until `stop` ends the run.

    Parameters
    ----------
    solver, problem, source
        What fits the weights, what is minimised, and the rows.
    stop : Stop
        When to end. A Ctrl-C ends the run after the current batch, with a usable solution.
    callbacks : iterable of callables
        Called with the progress after every batch, after every pass and at the end, also if the
        run fails.
    held_out : Batch or None
        Rows to evaluate every few steps or after each pass, for the rule `NoImprovement`.
    training : Training or None
        The record of an earlier run, to continue it.
    used : float
        Seconds that the fit took before this run.
    memory : int or None
        Bytes that the codes of rows may take, if `run` encodes them; None is half of the free
        memory.
    """
    began = time.perf_counter() - used
    solver.check(problem)
    access = solver.tags.access
    if access != "shuffled" and not isinstance(source, EncodedData):
        rows = source.n_rows if problem.rows is None else problem.rows
        memory = memory_budget() if memory is None else memory
        basis = solver.prepare_basis(replace(problem, rows=rows), memory)
        until, size = began + stop.most_seconds, solver.rows_per_batch(problem)
        source = EncodedRows(source, basis, size, memory, until=until)
        problem = replace(problem, basis=source.basis)
    if access == "groups" and isinstance(source, EncodedRows):
        size = solver.tags.groups_per_batch if training is None else training.batch_size
        source = source.groups(size)
    if training is None:
        training = initial_training(solver, problem, source, began + stop.most_seconds)
    return TrainingRun(
        solver, problem, source, stop, tuple(callbacks), held_out, training, began
    ).loop()


def initial_training(
    solver: Solver[Any],
    problem: Problem,
    source: DataSource | EncodedData,
    until: float = math.inf,
) -> Training:
    """Return the record before the first batch.

    A solver whose start takes too much of the time until `until` is replaced by one that starts
    faster, if there is one.
    """
    while isinstance(solver, SamplingSolver) and (faster := solver.faster(problem)) is not None:
        now = time.perf_counter()
        with abandonable(after(now + SHARE_OF_START * max(until - now, 0.0))):
            return _started(solver, problem, source)
        solver = faster
    return _started(solver, problem, source)


def _started(solver: Solver[Any], problem: Problem, source: DataSource | EncodedData) -> Training:
    rows = solver.sample_rows(problem) if isinstance(solver, SamplingSolver) else SAMPLE_ROWS
    sample = source.sample(rows, problem.seed)
    with single_blas():
        state = solver.init(problem, sample)
    return Training(state, batch_size(solver, problem, state))


def best_expansion(solver: Solver[Any], problem: Problem, state: State) -> Expansion:
    """Return the best function on held-out rows where it is kept, else the present one."""
    if state.best is None:
        return solver.expansion(problem, state)
    return Expansion(problem.basis, *state.best)


def batch_size(solver: Solver[Any], problem: Problem, state: State) -> int:
    """Return the number of rows, or groups, of a batch."""
    if solver.tags.access == "groups":
        return solver.tags.groups_per_batch
    return solver.rows_per_batch(problem, state)
