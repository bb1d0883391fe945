"""Solver: what moves the weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.data import Batch
from bochner.features import Basis
from bochner.losses import Loss
from bochner.problem import Expansion, Problem


@dataclass
class State:
    """What a solver carries from step to step: a plain record of arrays and numbers.

    `loss` is the mean loss of the last batch before its step, `moved` the size of the last move
    (the loop looks at both for infinities), and `pass_losses` the mean training loss of every
    pass that has ended.
    """

    loss: float
    moved: float
    pass_losses: list[float]


@dataclass
class Memo:
    """Rows that are looked at again and again (held-out rows), and what is known of them.

    `code` is their encoding; a solver may keep in `values` what lets it bring the predictions up
    to date without starting from nothing, and in `step` and `area` how far they are.
    """

    code: Any
    step: int = -1
    area: float = 0.0
    values: NDArray[np.float64] | None = None


S = TypeVar("S", bound=State)


class Solver(Component, ABC, Generic[S], family="solver"):
    """A record of hyperparameters with `init`, `advance` and `end_pass` over an explicit state.

    `loss_type` and `basis_type` say what it needs; `check` refuses anything else with a sentence.
    A solver never sees a source, a clock, a callback or a screen.
    """

    loss_type: ClassVar[type[Any]] = Loss
    basis_type: ClassVar[type[Any]] = Basis

    def check(self, problem: Problem) -> None:
        """Refuse a problem that this solver cannot solve."""
        for part, needed in ((problem.loss, self.loss_type), (problem.basis, self.basis_type)):
            if not isinstance(part, needed):
                raise ValueError(
                    f"{type(self).__name__} needs a {needed.__name__}; got "
                    f"{type(part).__name__}. Choose another solver or another "
                    f"{'loss' if isinstance(part, Loss) else 'feature map'}."
                )

    @abstractmethod
    def rows_per_batch(self, problem: Problem) -> int:
        """How many rows a batch should have."""

    @abstractmethod
    def init(self, problem: Problem, sample: Batch) -> S:
        """Return the state before the first step; `sample` stands for the data."""

    @abstractmethod
    def advance(self, problem: Problem, state: S, batch: Batch) -> S:
        """Return the state after a batch; the given state may be used up."""

    @abstractmethod
    def end_pass(self, problem: Problem, state: S) -> S:
        """Return the state after a pass."""

    @abstractmethod
    def expansion(self, problem: Problem, state: S) -> Expansion:
        """Return the function that the state stands for."""

    @abstractmethod
    def on_new_rows(self, problem: Problem, state: S) -> S:
        """Return the state for going on with other rows: what it knew of the old ones is void."""

    @abstractmethod
    def size(self, state: S) -> int:
        """How many functions of the basis are in use."""

    def predictions(self, problem: Problem, state: S, memo: Memo) -> NDArray[Any]:
        """Evaluate the function at the rows of a memo."""
        return self.expansion(problem, state).evaluate(memo.code)
