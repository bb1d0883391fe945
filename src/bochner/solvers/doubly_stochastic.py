"""DoublyStochastic: stochastic in the rows and in the functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import RandomBasis
from bochner.losses import Offset
from bochner.problem import Expansion, Problem
from bochner.solvers.averaged_weights import AveragedWeights
from bochner.solvers.coordinates import Checked, Choice, Coordinates, Situation, Uniform
from bochner.solvers.doubly_stochastic_state import (
    DoublyStochasticState,
    account,
    caught_up,
    look_through,
    moved,
    offset_of_mean,
    safe_step,
    settle,
)
from bochner.solvers.ledger import Ledger
from bochner.solvers.look import Look, Residuals
from bochner.solvers.opening import best_constant, top_eigenvalue
from bochner.solvers.refinement import Refinement, frequencies_of, on_refined, require_refinement
from bochner.solvers.solver import Memo, Solver
from bochner.solvers.step_rules import Move, Pace, StepRule

BATCH_ROWS = 16_384
BLOCK_COLUMNS = 1024
ROWS_A_COLUMN = 8  # in an automatic batch: enough to tell a block's signal from its noise
MOST_FEATURES = 65_536
COORDINATES = 0xC002D  # keeps these draws apart from those of the basis and of the order


@dataclass
class DoublyStochastic(Solver[DoublyStochasticState], name="dsg"):
    r"""Doubly stochastic gradients: each step takes a batch of rows and a block of functions.

    For f = sum over blocks of phi_b(.)'w_b and a batch of n rows with loss gradients g, a step
    chooses a block b and moves its weights by the step rule: plainly, w_b -= gamma Phi_b'g / n, all
    weights decaying by w <- (1 - gamma alpha) w. Phi_b is scaled so that the block alone
    approximates the kernel, which makes the step an unbiased one on the function (Dai et al.
    2014, Algorithms 1 and 2; in line 6 of Algorithm 1 gamma_j should be gamma_i). Predictions
    come from the mean of the iterates, the late ones weighted more.

    Parameters
    ----------
    step : str or StepRule
        "preconditioned" (a Newton step on the block) or "plain" (Algorithm 1).
    coordinates : str or Coordinates
        "new" (DSG), "uniform" (UDSG) or "checked" (CDSG).
    batch_size : int or "auto"
        Rows of a batch; "auto" means 16,384, or all rows if there are fewer.
    feature_block : int or "auto"
        Columns of a block, even; "auto" means 1,024, and at most an eighth of the batch's rows.
    max_features : int, "auto" or None
        Columns after which old blocks are revisited instead of drawing new ones; "auto" means
        65,536, None no limit. A finite feature map sets a limit of its own.
    averaging : float or None
        Iterate t has importance t^averaging in the mean; 0 is the plain mean of the paper,
        None takes the last iterate.
    refinement : Refinement or None
        Gradient steps on the frequencies of each new block of Fourier features, which a model then
        stores; None leaves them as they were drawn.
    """

    state_type: ClassVar[type[Any]] = DoublyStochasticState
    basis_type: ClassVar[type[Any]] = RandomBasis

    step: StepRule | str = "preconditioned"
    coordinates: Coordinates | str = "new"
    batch_size: int | str = "auto"
    feature_block: int | str = "auto"
    max_features: int | str | None = "auto"
    averaging: float | None = 8.0
    refinement: Refinement | None = None

    def check(self, problem: Problem) -> None:
        """Refuse values out of range, and a basis that is not drawn from seeds."""
        super().check(problem)
        StepRule.resolve(self.step).check()
        Coordinates.resolve(self.coordinates).check()
        _check_count("batch_size", self.batch_size, least=1)
        _check_count("feature_block", self.feature_block, least=2, even=True)
        if self.max_features is not None:
            _check_count("max_features", self.max_features, least=2, even=True)
        if self.averaging is not None and not self.averaging >= 0:
            raise ValueError(f"averaging must be None or at least 0; got {self.averaging!r}.")
        if self.refinement is not None:
            require_refinement(self.refinement).check(problem)

    def rows_per_batch(self, problem: Problem) -> int:
        """Return the batch size; small sets are one batch."""
        most = BATCH_ROWS if self.batch_size == "auto" else int(self.batch_size)
        return most if problem.rows is None else min(most, problem.rows)

    def init(self, problem: Problem, sample: Batch) -> DoublyStochasticState:
        """Return the constant that fits the sample best, with no block yet."""
        batch = sample[:: -(-len(sample) // self.rows_per_batch(problem))]
        width = min(self._width(len(batch)), self._most_columns(problem))
        return DoublyStochasticState(
            loss=0.0,
            moved=0.0,
            pass_losses=[],
            weights=AveragedWeights(problem.outputs),
            intercept=best_constant(problem, sample),
            intercept_lag=np.zeros(problem.outputs),
            ledger=Ledger.empty(problem.rows or 0, problem.outputs),
            top=top_eigenvalue(cast(RandomBasis, problem.basis), batch, width),
        )

    def advance(
        self, problem: Problem, state: DoublyStochasticState, batch: Batch
    ) -> DoublyStochasticState:
        """Return the state after one block has moved by what the batch says."""
        if batch.weight is not None and not batch.weight.any():
            return state
        problem = on_refined(problem, state.frequencies)
        code = problem.basis.encode(batch.X)
        known = state.ledger.predict(problem.basis, code, batch.index, state.weights.v)
        values = state.weights.scale * known
        settle(problem, state, code, values, batch.weight)
        residuals = Residuals(problem, batch, values + state.intercept)
        rule, safe = StepRule.resolve(self.step), safe_step(problem, state)
        length = rule.length(state.step, safe)
        choice = self._choose(state, residuals, code, length)
        decide = partial(rule.move, pace=Pace(choice.stretch * length, state.top))
        look, move = self._refined(state, choice.look, decide(choice.look), code, decide)
        state.step += 1
        known = moved(state, look, code, known, move)
        state.ledger.note(batch.index, known, state.step)
        state.weights.include(float(state.step) ** (self.averaging or 0.0))
        return account(state, residuals, move)

    def end_pass(self, problem: Problem, state: DoublyStochasticState) -> DoublyStochasticState:
        """Close the pass's mean loss; changes that all rows have seen are forgotten."""
        if state.pass_rows > 0:
            state.pass_losses.append(state.pass_loss / state.pass_rows)
        state.pass_loss = state.pass_rows = 0.0
        state.ledger.forget()
        return state

    def expansion(self, problem: Problem, state: DoublyStochasticState) -> Expansion:
        """Return the mean of the iterates, or the last one if there is no averaging."""
        problem = on_refined(problem, state.frequencies)
        weights, intercept = state.weights.current(), state.intercept
        if self.averaging is not None and state.step > 0:
            weights = state.weights.mean()
            intercept = intercept - state.intercept_lag / state.weights.total
        if isinstance(problem.loss, Offset):
            intercept = offset_of_mean(problem, problem.loss, state, weights)
        return Expansion(problem.basis, weights, intercept)

    def on_new_rows(self, problem: Problem, state: DoublyStochasticState) -> DoublyStochasticState:
        """Forget what was known of the old rows."""
        state.ledger = Ledger.empty(problem.rows or 0, problem.outputs)
        state.ledger.forget_until(state.step)
        state.pass_loss = state.pass_rows = 0.0
        return state

    def size(self, state: DoublyStochasticState) -> int:
        """Return the number of columns that have a weight."""
        return state.weights.columns

    def predictions(
        self, problem: Problem, state: DoublyStochasticState, memo: Memo
    ) -> NDArray[Any]:
        """Bring Phi v and Phi u / area up to date, and combine them as the weights are."""
        sums = caught_up(on_refined(problem, state.frequencies).basis, state, memo)
        outputs, weights = problem.outputs, state.weights
        values, lag = sums[:, :outputs], sums[:, outputs:]
        if self.averaging is None:
            return weights.scale * values + state.intercept
        mean = (weights.area / weights.total) * (values - lag)
        return mean + state.intercept - state.intercept_lag / weights.total

    def _refined(
        self,
        state: DoublyStochasticState,
        look: Look,
        move: Move,
        code: Any,
        decide: Callable[[Look], Move],
    ) -> tuple[Look, Move]:
        """Return a new block with its frequencies refined, if they are to be, and its move."""
        if self.refinement is None or look.number is not None or not move.change.any():
            return look, move
        look, move = self.refinement.refined(look, move, code, decide)
        state.frequencies = frequencies_of(look.residuals.problem)
        return look, move

    def _choose(
        self, state: DoublyStochasticState, residuals: Residuals, code: Any, length: float
    ) -> Choice:
        look = partial(look_through, state, residuals, code)
        situation = Situation(
            step=state.step,
            blocks=len(state.blocks),
            refused=state.refused,
            length=length,
            rng=Random(residuals.problem.seed, COORDINATES, state.step),
            look=lambda number: look(number, *state.blocks[number]),
            fresh=lambda: self._fresh(state, residuals, look),
        )
        return Coordinates.resolve(self.coordinates).choose(situation)

    def _fresh(
        self, state: DoublyStochasticState, residuals: Residuals, look: Callable[..., Look]
    ) -> Look | None:
        """Look through the next block; the last may be narrower, or there may be no room."""
        columns = state.weights.columns
        room = self._most_columns(residuals.problem) - columns
        width = min(self._width(residuals.rows), room)
        return look(None, columns, columns + width) if width >= 2 else None

    def _width(self, rows: int) -> int:
        if self.feature_block != "auto":
            return int(self.feature_block)
        return max(2, min(BLOCK_COLUMNS, rows // ROWS_A_COLUMN) // 2 * 2)

    def _most_columns(self, problem: Problem) -> int:
        most = MOST_FEATURES if self.max_features == "auto" else self.max_features
        limits = [int(limit) for limit in (most, problem.basis.size) if limit is not None]
        return min(limits, default=int(np.iinfo(np.int64).max))


Solver.register("udsg", lambda: DoublyStochastic(coordinates=Uniform()))
Solver.register("cdsg", lambda: DoublyStochastic(coordinates=Checked()))


def _check_count(name: str, value: Any, least: int, even: bool = False) -> None:
    if value == "auto":
        return
    valid = isinstance(value, Integral) and int(value) >= least
    if not valid or (even and int(value) % 2):
        kind = "an even number" if even else "a number"
        raise ValueError(f"{name} must be 'auto' or {kind} from {least} on; got {value!r}.")
