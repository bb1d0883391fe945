"""The state of a doubly stochastic fit, and what a step does to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.features import Basis, RandomBasis
from bochner.losses import Offset
from bochner.problem import Problem
from bochner.solvers.averaged_weights import AveragedWeights
from bochner.solvers.ledger import Ledger, evaluate
from bochner.solvers.look import Look, Residuals
from bochner.solvers.opening import curvature
from bochner.solvers.solver import Memo, State
from bochner.solvers.step_rules import Move

LATEST_ROWS, ENOUGH_ROWS = 4_096, 1_024  # that a threshold is taken from


@dataclass
class DoublyStochasticState(State):
    """Blocks of columns with their weights, the intercept, and what is known of the rows.

    `blocks` are ranges of columns; in the last one there may have been nothing to learn
    (`refused`). `top` is the largest eigenvalue of a block's Phi'Phi / n on the sample. For a loss
    with an offset there are the `latest` rows and their weights, some thousands. `frequencies` are
    those that have been refined, by unit.
    """

    weights: AveragedWeights
    intercept: NDArray[np.float64]
    intercept_lag: NDArray[np.float64]
    ledger: Ledger
    top: float
    step: int = 0
    refused: bool = False
    blocks: list[tuple[int, int]] = field(default_factory=list)
    pass_loss: float = 0.0
    pass_rows: float = 0.0
    latest: tuple[Any, NDArray[np.float64]] | None = None
    frequencies: dict[int, NDArray[Any]] = field(default_factory=dict)


def safe_step(problem: Problem, state: DoublyStochasticState) -> float:
    """Return 1 / (curvature * top eigenvalue), the eigenvalue doubled if there is an intercept."""
    return 1.0 / (curvature(problem.loss) * state.top * (1 + problem.intercept))


def settle(
    problem: Problem,
    state: DoublyStochasticState,
    code: Any,
    values: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> None:
    """Set the intercept to the best one for the batch, if the loss knows it.

    Few rows are no sample: those before them are asked as well.
    """
    loss = problem.loss
    if not isinstance(loss, Offset):
        return
    state.latest = _pooled(state.latest, code, np.ones(len(values)) if weight is None else weight)
    if len(values) < ENOUGH_ROWS:
        code, weight = state.latest
        values = state.weights.scale * evaluate(problem.basis, code, state.weights.v)
    move_intercept(state, loss.offset(values, weight) - state.intercept)


def _pooled(
    before: tuple[Any, NDArray[np.float64]] | None, code: Any, weight: NDArray[np.float64]
) -> tuple[Any, NDArray[np.float64]]:
    """Return the latest rows, these the last of them."""
    if before is None or len(weight) >= LATEST_ROWS:
        return code, weight
    joined = sp.vstack([before[0], code], "csr") if sp.issparse(code) else None
    joined = np.concatenate([before[0], code]) if joined is None else joined
    return joined[-LATEST_ROWS:], np.concatenate([before[1], weight])[-LATEST_ROWS:]


def offset_of_mean(
    problem: Problem, loss: Offset, state: DoublyStochasticState, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the offset that is best for the mean of the iterates on the latest rows.

    It is not the mean of the offsets: where many rows lie close to a threshold, iterates that
    differ by little have quantiles that differ by much.
    """
    if state.latest is None:
        return state.intercept
    code, weight = state.latest
    return loss.offset(evaluate(problem.basis, code, weights), weight)


def move_intercept(state: DoublyStochasticState, change: NDArray[np.float64]) -> None:
    """Add to the intercept, and note the iterates that were without it."""
    state.intercept_lag = state.intercept_lag + state.weights.total * change
    state.intercept = state.intercept + change


def look_through(
    state: DoublyStochasticState,
    residuals: Residuals,
    code: Any,
    number: int | None,
    start: int,
    stop: int,
) -> Look:
    """Look at a batch through the columns start, ..., stop - 1."""
    basis = cast(RandomBasis, residuals.problem.basis)
    gain = basis.gain(stop - start)
    weights = np.zeros((stop - start, residuals.problem.outputs))
    old = state.weights.current(start, stop)
    weights[: len(old)] = old / gain
    columns = basis.columns(code, start, stop)
    blocks = (basis.size or max(stop, state.weights.columns)) / (stop - start)
    return Look(residuals, columns, gain, weights, start, number, blocks)


def moved(
    state: DoublyStochasticState,
    look: Look,
    code: Any,
    known: NDArray[np.float64],
    move: Move,
) -> NDArray[np.float64]:
    """Let the weights decay and the block move; return the rows' new Phi v."""
    problem = look.residuals.problem
    if state.weights.decay(max(0.0, 1.0 - move.decay * problem.alpha)):
        state.ledger.forget_until(state.step)
        known = evaluate(problem.basis, code, state.weights.v)
    block, constant = move.change[: look.width], move.change[look.width :].sum(axis=0)
    move_intercept(state, constant)
    if look.number is None:
        state.blocks.append((look.start, look.start + look.width))
    state.refused = look.number is None and not block.any()
    moved = state.weights.move(look.start, look.gain * block)
    if not block.any():
        return known
    state.ledger.record(state.step, look.start, moved, state.weights.area)
    return known + look.evaluate(block) / state.weights.scale


def caught_up(basis: Basis, state: DoublyStochasticState, memo: Memo) -> NDArray[np.float64]:
    """Return Phi v and Phi u / area side by side at the rows of a memo, and remember them there.

    Areas grow like a power of the step, beyond what float32 holds; their ratios do not.
    """
    area = state.weights.area
    if memo.values is None or memo.step < state.ledger.horizon:
        both = np.hstack([state.weights.v, state.weights.u / area])
        memo.values = evaluate(basis, memo.code, both)
    else:
        memo.values[:, state.weights.outputs :] *= memo.area / area
        for (start, _), changes in state.ledger.since(memo.step).items():
            total = sum(np.hstack([c.values, c.area / area * c.values]) for c in changes)
            memo.values += evaluate(basis, memo.code, np.asarray(total), start)
    memo.step, memo.area = state.step, area
    return memo.values


def account(
    state: DoublyStochasticState, residuals: Residuals, move: Move
) -> DoublyStochasticState:
    """Note the loss before the step, and how far the weights moved."""
    losses = residuals.problem.loss.value(residuals.y, residuals.f)
    weight = residuals.batch.weight
    rows = float(len(losses) if weight is None else weight.sum())
    total = float(losses.sum() if weight is None else losses @ weight)
    state.loss, state.moved = total / rows, float(np.linalg.norm(move.change))
    state.pass_loss += total
    state.pass_rows += rows
    return state
