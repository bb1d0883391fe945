"""Progress: where a fit stands, for stopping rules and callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from sys import float_info
from typing import Any

from bochner.problem import Expansion


@dataclass(frozen=True)
class Reason:
    """Why a fit ended, and whether that means that it is done."""

    text: str
    converged: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Evaluation:
    """The mean loss on the held-out rows when so many steps were done."""

    step: int
    rows: int
    loss: float


@dataclass(frozen=True)
class Progress:
    """What a fit has done so far.

    Attributes
    ----------
    pass_, position : int
        Completed passes, and completed batches of the pass under way.
    batches : int or None
        Batches in a pass, where the number of rows is known.
    step, rows : int
        Batches and rows since the fit began.
    seconds : float
        Time since this run began.
    loss : float
        Mean training loss of the last batch, before its step.
    pass_losses : tuple of float
        Mean training loss of every pass that has ended, each batch's before its step.
    size : int
        Functions of the basis in use.
    optimality : float
        How far the weights are from the minimum, relative; infinite if the solver cannot tell.
    solved : bool
        Whether that is as close as the solver was asked to come.
    evaluations : tuple of Evaluation
        The mean losses on held-out rows so far.
    reason : Reason or None
        Set in the last progress of a run.
    expansion : callable or None
        Called before the next batch, it makes the function that has been learned so far.
    training : Training or None
        All that the fit needs to go on from here, until the next batch.
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
        """Return the same without what is for the time before the next batch."""
        return replace(self, expansion=None, training=None)

    @property
    def held_out_loss(self) -> float | None:
        """The mean loss at the last look at the held-out rows."""
        return self.evaluations[-1].loss if self.evaluations else None

    @property
    def fall(self) -> float:
        """How much of its first value the mean training loss lost in the last pass."""
        if len(self.pass_losses) < 2:
            return math.inf
        first, (before, last) = self.pass_losses[0], self.pass_losses[-2:]
        return (before - last) / max(abs(first), float_info.min)

    @property
    def passes(self) -> float:
        """Passes, the one under way as a fraction where its length is known."""
        return self.pass_ + (self.position / self.batches if self.batches else 0.0)
