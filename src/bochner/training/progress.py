"""Progress: the current status of a fit, for stopping rules and callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from sys import float_info
from typing import Any

from bochner.problem import Expansion


@dataclass(frozen=True)
class Reason:
    """Why a fit ended, and whether it converged."""

    text: str
    converged: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Evaluation:
    """The mean loss on the held-out rows after a number of steps and rows."""

    step: int
    rows: int
    loss: float


@dataclass(frozen=True)
class Progress:
    """The status of a fit.

    Attributes
    ----------
    pass_, position : int
        Completed passes, and completed batches of the current pass.
    batches : int or None
        Batches in a pass, if the number of rows is known.
    step, rows : int
        Batches and rows since the fit began.
    seconds : float
        Time since this run began.
    loss : float
        Mean training loss of the last batch, before its step.
    pass_losses : tuple of float
        Mean training loss of every pass that has ended, each batch's before its step; with the
        penalty where a solver minimises both by conjugate gradients.
    size : int
        Functions of the basis in use.
    optimality : float
        Relative distance of the weights to the minimum; infinite if the solver cannot compute it.
    solved : bool
        Whether it is within the solver's tolerance.
    evaluations : tuple of Evaluation
        The mean losses on held-out rows so far.
    reason : Reason or None
        Set in the last progress of a run.
    expansion : callable or None
        Returns the function learned so far; call it before the next batch.
    training : Training or None
        All that the fit needs to continue from here; valid until the next batch.
    """

    pass_: int
    position: int
    batches: int | None
    step: int
    rows: int
    seconds: float
    loss: float
    pass_losses: tuple[float, ...] = ()
    size: int = 0
    optimality: float = math.inf
    solved: bool = False
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)
    reason: Reason | None = None
    expansion: Callable[[], Expansion] | None = field(default=None, repr=False, compare=False)
    training: Any = field(default=None, repr=False, compare=False)

    def detached(self) -> Progress:
        """Return the same without `expansion` and `training`, which the next batch changes."""
        return replace(self, expansion=None, training=None)

    @property
    def held_out_loss(self) -> float | None:
        """The mean loss of the last held-out evaluation."""
        return self.evaluations[-1].loss if self.evaluations else None

    @property
    def fall(self) -> float:
        """The decrease of the mean training loss in the last pass, relative to its first value."""
        if len(self.pass_losses) < 2:
            return math.inf
        first, (before, last) = self.pass_losses[0], self.pass_losses[-2:]
        return (before - last) / max(abs(first), float_info.min)

    @property
    def passes(self) -> float:
        """Completed passes, plus the fraction of the current one if its length is known."""
        return self.pass_ + (self.position / self.batches if self.batches else 0.0)
