"""Solver: what moves the weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.data import Batch
from bochner.features import SAMPLE_ROWS, Basis, BinningDiagnostics
from bochner.losses import Loss
from bochner.problem import Expansion, Problem


@dataclass
class State:
    """What a solver carries from step to step: a plain record of arrays and numbers.

    `loss` is the mean loss of the last batch before its step, `moved` the size of the last move
    (the loop looks at both for infinities), and `pass_losses` the mean training loss of every
    pass that has ended with other weights than it began with. `optimality` says how far the
    weights are from the minimum: 1 or so at the beginning, 0 at the minimum, infinite for a solver
    that cannot tell.
    """

    loss: float
    moved: float
    pass_losses: list[float]
    optimality: float = field(default=math.inf, kw_only=True)

    @property
    def is_finite(self) -> bool:  # one override: `SummationState` evaluates no loss
        """Whether the last step left finite weights."""
        return math.isfinite(self.loss) and math.isfinite(self.moved)


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

    `walks` says what its batches are. "shuffled": rows in a new random order each pass, and every
    batch moves the weights. "rows": encoded rows in their order; the weights move at the end of a
    pass. "groups": `groups_per_batch` groups of functions (grids) at all rows. `looks` says when
    held-out rows are looked at: every few steps, or after each pass (always where the weights move
    once a pass); `learns_held_out_rows` whether they are learned in a last pass. A solver that
    does not iterate is not to be stopped early; `patience` is how many looks without gain end it.
    One that takes a ridge has the alpha of kernel ridge regression.
    """

    state_type: ClassVar[type[Any]] = State
    loss_type: ClassVar[Any] = Loss
    basis_type: ClassVar[type[Any]] = Basis
    walks: ClassVar[Literal["shuffled", "rows", "groups"]] = "shuffled"
    looks: ClassVar[Literal["steps", "passes"]] = "steps"
    learns_held_out_rows: ClassVar[bool] = False
    iterates: ClassVar[bool] = True
    patience: ClassVar[int] = 5
    takes_ridge: ClassVar[bool] = False
    groups_per_batch: ClassVar[int] = 1

    def check(self, problem: Problem) -> None:
        """Refuse a problem that this solver cannot solve."""
        parts = (problem.loss, self.loss_type), (problem.basis.plain, self.basis_type)
        for part, needed in parts:
            if not isinstance(part, needed):
                raise ValueError(
                    f"{type(self).__name__} needs a {needed.__name__}; got "
                    f"{type(part).__name__}. Choose another solver or another "
                    f"{'loss' if isinstance(part, Loss) else 'feature map'}."
                )

    def prepared(self, problem: Problem, memory: int) -> Basis:
        """Return the basis to work with, which spans the same functions.

        By default it keeps its columns, if they fit into `memory` bytes, for solvers that walk
        through codes.
        """
        if self.walks == "shuffled":
            return problem.basis
        return problem.basis.tabulated(problem.rows, memory)

    def home(self, rows: int | None) -> Any:
        """Return the features, a name or a component, that the solver is made for."""
        return "fourier"

    @abstractmethod
    def rows_per_batch(self, problem: Problem) -> int:
        """How many rows a batch should have."""

    def rows_per_step(self, problem: Problem, state: S) -> int:
        """How many rows a batch has once the state is known."""
        return self.rows_per_batch(problem)

    def sample_rows(self, problem: Problem) -> int:
        """How many rows to see before the first step."""
        return SAMPLE_ROWS

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

    def on_best(self, problem: Problem, state: S) -> S:
        """Be told that no function so far did better on held-out rows than the present one."""
        return state

    def at_best(self, problem: Problem, state: S) -> S:
        """Return the state with the function that did best, for a solver that keeps it."""
        return state

    def regularization(self, rows: int | None) -> float:
        """Return the alpha to take for so many rows (None: nobody knows) if none is given."""
        return 1e-7

    def continued(
        self, problem: Problem, expansion: Expansion, rows_in_bins: NDArray[Any]
    ) -> S | None:
        """Return a state that goes on from a function on bins found otherwise, if it can."""
        return None

    def diagnostics(self, state: S) -> BinningDiagnostics | None:
        """Return how finely the grids cut the rows met, if the state has met bins by itself."""
        return None

    def solved(self, state: S) -> bool:
        """Whether the weights are as close to the minimum as this solver was asked to come."""
        return False

    def memo(self, problem: Problem, rows: Batch) -> Memo:
        """Return rows that will be looked at again and again."""
        return Memo(problem.basis.encode(rows.X))

    def predictions(self, problem: Problem, state: S, memo: Memo) -> NDArray[Any]:
        """Evaluate the function at the rows of a memo."""
        return self.expansion(problem, state).evaluate(memo.code)


def require_count(name: str, given: Any, least: int) -> None:
    """Refuse anything but "auto" and a whole number that is large enough."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if given != "auto" and not (whole and int(given) >= least):
        raise ValueError(f"{name} must be 'auto' or a whole number from {least} on; got {given!r}.")


def require_share(name: str, given: Any, most: float = 1.0) -> None:
    """Refuse anything but a positive number that is not too large."""
    if not isinstance(given, Real) or isinstance(given, bool) or not 0 < float(given) <= most:
        raise ValueError(f"{name} must be a number above 0 and at most {most:g}; got {given!r}.")
