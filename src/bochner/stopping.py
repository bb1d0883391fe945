"""Stopping rules: functions of the progress, combined with |."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from bochner.training.progress import Progress, Reason

FEWEST_STEPS = 32
MOST_PASSES = 1_000  # where no limit is given and no rule ends the fit


__all__ = [
    "Either",
    "NoImprovement",
    "OnePass",
    "Passes",
    "RowLimit",
    "Seconds",
    "Solved",
    "Steps",
    "Stop",
    "Tolerance",
    "stopping_rule",
]


class Stop(ABC):
    """A rule that ends a fit; `a | b` ends it when either rule does.

    A rule has no state: it depends on the progress alone, so that a resumed fit stops where an
    uninterrupted one does.

    Examples
    --------
    >>> rule = Passes(10) | Seconds(60) | NoImprovement(patience=3)
    >>> print(rule(Progress(10, 0, batches=4, step=40, rows=400, seconds=5.0, loss=0.1)))
    10 passes were done (max_passes)
    """

    @abstractmethod
    def __call__(self, progress: Progress) -> Reason | None:
        """Return the reason to stop now, or None to continue."""

    @property
    def most_seconds(self) -> float:
        """The seconds after which a batch is abandoned; infinite without a limit."""
        return math.inf

    def __or__(self, other: Stop) -> Stop:
        return Either(self, other)


@dataclass(frozen=True)
class Either(Stop):
    """Stop when one of two rules does."""

    first: Stop
    second: Stop

    def __call__(self, progress: Progress) -> Reason | None:
        """Return the first reason."""
        return self.first(progress) or self.second(progress)

    @property
    def most_seconds(self) -> float:
        """The lower of both limits."""
        return min(self.first.most_seconds, self.second.most_seconds)


@dataclass(frozen=True)
class Passes(Stop):
    """Stop after a number of passes over the data, those of earlier runs included."""

    most: int

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the passes are done."""
        if progress.pass_ < self.most:
            return None
        return Reason(f"{self.most} passes were done (max_passes)", converged=False)


@dataclass(frozen=True)
class OnePass(Stop):
    """Stop when the pass with this number is done, as converged."""

    number: int = 0

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the pass is done."""
        if progress.pass_ <= self.number:
            return None
        return Reason("all rows were read once", converged=True)


@dataclass(frozen=True)
class Steps(Stop):
    """Stop at the end of the pass in which a number of steps is reached, as converged."""

    enough: int

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the steps are done and all rows have been seen equally often."""
        if progress.step < self.enough or progress.position != 0:
            return None
        return Reason(f"{progress.step} steps were done", converged=True)


@dataclass(frozen=True)
class RowLimit(Stop):
    """Stop after a number of rows, those of earlier runs included."""

    most: int

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the rows have been seen."""
        if progress.rows < self.most:
            return None
        return Reason(f"{progress.rows:,} rows were seen", converged=False)


@dataclass(frozen=True)
class Seconds(Stop):
    """Stop after some time, at the end of the current batch; a long batch is abandoned."""

    most: float

    @property
    def most_seconds(self) -> float:
        """The limit."""
        return self.most

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the time is up."""
        if progress.seconds < self.most:
            return None
        return Reason(f"{self.most:g} seconds were up (max_seconds)", converged=False)


@dataclass(frozen=True)
class Tolerance(Stop):
    """Stop when the mean training loss has not improved in the last `patience` passes.

    An improvement is more than the fraction `tol` of the first pass's loss. Steps are random: where
    a pass has few batches, the rule compares as many passes as have 32 steps.
    """

    tol: float
    patience: int = 3

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the training loss no longer improves."""
        losses = progress.pass_losses
        last = max(self.patience, -(-FEWEST_STEPS // (progress.batches or FEWEST_STEPS)))
        if progress.position != 0 or len(losses) <= last:
            return None
        gain = min(losses[:-last]) - min(losses[-last:])
        if gain > self.tol * abs(losses[0]):
            return None
        return Reason(
            f"the training loss gained at most {self.tol:g} of its first value in the last "
            f"{last} passes (tol)",
            converged=True,
        )


@dataclass(frozen=True)
class NoImprovement(Stop):
    """Stop when the last `patience` held-out evaluations brought no improvement.

    An improvement is lower than the best loss before by more than the fraction `tol` of it, and by
    more than a millionth of the first loss, so that a fit whose loss goes to zero ends, too.
    """

    patience: int = 5
    tol: float = 0.02

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the held-out loss has stopped falling."""
        losses = [evaluation.loss for evaluation in progress.evaluations]
        if len(losses) <= self.patience:
            return None
        before = min(losses[: -self.patience])
        if before - min(losses[-self.patience :]) > self.tol * abs(before) + 1e-6 * abs(losses[0]):
            return None
        return Reason("the loss on held-out rows stopped falling", converged=True)


@dataclass(frozen=True)
class Solved(Stop):
    """Stop when the weights are within the solver's tolerance of the minimum."""

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the solver's tolerance is met."""
        if not progress.solved or progress.position != 0:
            return None
        return Reason(
            f"the minimum was reached (optimality residual {progress.optimality:.2g})",
            converged=True,
        )


def stopping_rule(
    converged: Stop | None, max_passes: int | None = None, max_seconds: float | None = None
) -> Stop:
    """Return a rule: the minimum is reached, `converged` holds, or a limit is met.

    The limits come last, so that a fit that converges in its last pass has converged. Without
    `max_passes` a fit ends after 1,000 passes.
    """
    rule: Stop = Solved() if converged is None else Solved() | converged
    rule = rule | Passes(MOST_PASSES if max_passes is None else max_passes)
    return rule if max_seconds is None else rule | Seconds(max_seconds)
