"""Refinement: gradient steps on the frequencies of a new block of waves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.component import Component
from bochner.compute.linear_algebra.products import product, transposed_product
from bochner.features import FourierBasis
from bochner.features.dense_basis import cuts
from bochner.features.drawings import MatrixDrawing
from bochner.problem import Problem
from bochner.solvers.doubly_stochastic.block_view import BlockView
from bochner.solvers.doubly_stochastic.step_rules import Move
from bochner.validation import require_count, require_positive

SHORTER = 0.25  # factor on the rate after a step that did not help

Frequencies = dict[int, NDArray[Any]]  # by the number of their unit, as a FourierBasis has them


@dataclass
class Refinement(Component, family="refinement"):
    r"""Gradient steps on the frequencies of each new block, before its weights are kept.

    The papers' back-propagation trick (Dai et al. 2014, Scalable kernel methods via doubly
    stochastic gradients, conclusion). A block of waves adds sum_j (u_j cos t_j + v_j sin t_j) to f,
    with t_j = 2 pi omega_j'x, so the batch's loss has the derivative

        d loss / d omega_j = 2 pi / n sum_i x_i <g_i, v_j cos t_ij - u_j sin t_ij>,

    g_i being the loss gradient at the function with the block in it. A step moves against it by
    `rate` times the root mean square of the block's frequencies; the block's weights are then found
    anew by the step rule. Derivative and weights are those of every other row of the batch, and the
    other rows validate: a step that does not lower their objective is not taken, and the next one
    is a quarter as long. (Without validation, refinement overfits noisy targets.) The final weights
    come from all rows.

    Only a new block is refined, and only in the step that draws it. Its frequencies are fixed from
    then on, so that predictions of the rows and the mean of the iterates remain valid. A step takes
    about as long as the step on a new block does. The frequencies of refined blocks can no longer
    be drawn from the seed: a model stores them, half a number for each function and column.

    Parameters
    ----------
    steps : int
        Gradient steps for each new block.
    rate : float
        The length of the first step, in mean frequencies.
    """

    steps: int = 2
    rate: float = 0.2

    def check(self, problem: Problem) -> None:
        """Raise ValueError for values out of range, and for features other than waves."""
        require_count("steps of Refinement", self.steps)
        require_positive("rate of Refinement", self.rate)
        basis = problem.basis.for_prediction
        if not isinstance(basis, FourierBasis):
            raise ValueError(
                "Refinement needs Fourier features, whose frequencies it moves; got a "
                f"{type(basis).__name__}. Give features='fourier', or refinement=None."
            )
        if not isinstance(basis.drawing, MatrixDrawing):
            raise ValueError(
                "Refinement needs frequencies that move one by one; got those of "
                f"{basis.drawing!r}. Give features='fourier', 'orthogonal' or "
                "'quasi_monte_carlo', or refinement=None."
            )

    def refined(
        self, view: BlockView, move: Move, code: Any, decide: Callable[[BlockView], Move]
    ) -> tuple[BlockView, Move]:
        """Return the block with better frequencies, in a problem that has them, and its move."""
        if not _both_halves_count(view):
            return view, move
        best, rate = view, self.rate
        change = decide(_half(view, 0))
        least = objective(_half(view, 1), change)
        direction = _direction(_half(view, 0), change, code[0::2])
        for _ in range(self.steps):
            if direction is None:
                break
            trial = _view_in(view, _stepped(best, -rate * direction), code)
            change = decide(_half(trial, 0))
            value = objective(_half(trial, 1), change)
            if not value < least:
                rate *= SHORTER
                continue
            best, least = trial, value
            direction = _direction(_half(trial, 0), change, code[0::2])
        return (view, move) if best is view else (best, decide(best))


def objective(view: BlockView, move: Move) -> float:
    """Return the batch's loss after a move, and the penalty on the block."""
    residuals = view.residuals
    losses = residuals.problem.loss.value(residuals.y, residuals.f + view.evaluate(move.change))
    weights = view.weights + move.change[: view.width]
    penalty = 0.5 * view.blocks * residuals.problem.alpha * float(np.sum(weights**2))
    return float(np.average(losses, weights=residuals.batch.weight)) + penalty


def on_refined(problem: Problem, frequencies: Frequencies) -> Problem:
    """Return the problem with the refined frequencies in its basis."""
    if not frequencies:
        return problem
    basis = cast(FourierBasis, problem.basis)
    return replace(problem, basis=basis.with_given(frequencies))


def frequencies_of(problem: Problem) -> Frequencies:
    """Return the refined frequencies."""
    return cast(FourierBasis, problem.basis).given


def _direction(view: BlockView, move: Move, code: Any) -> NDArray[np.float64] | None:
    """Return the derivative by the frequencies, scaled to their size; None where it is 0."""
    residuals, dtype = view.residuals, view.columns.dtype
    f = residuals.f + view.evaluate(move.change)
    slopes = np.asarray(residuals.problem.loss.gradient(residuals.y, f), np.float64)
    if residuals.weight is not None:
        slopes = slopes * residuals.weight[:, None]
    weights = (view.weights + move.change[: view.width]).astype(dtype)
    slopes = slopes.astype(dtype)
    phases = view.columns[:, 0::2] * product(slopes, weights[1::2].T)
    phases -= view.columns[:, 1::2] * product(slopes, weights[0::2].T)
    phases *= 2 * pi * view.gain / residuals.rows
    derivative = _transposed(code, phases.astype(dtype))
    size = float(np.sqrt(np.mean(derivative**2)))
    if not (0 < size < np.inf):
        return None
    omega = _frequencies(view)
    return derivative * (float(np.sqrt(np.mean(omega**2))) / size)


def _half(view: BlockView, first: int) -> BlockView:
    """Return the view of every other row."""
    residuals, rows = view.residuals, slice(first, None, 2)
    half = replace(residuals, batch=residuals.batch[rows], f=residuals.f[rows])
    return replace(view, residuals=half, columns=np.ascontiguousarray(view.columns[rows]))


def _both_halves_count(view: BlockView) -> bool:
    """Whether there are rows of some weight in both halves."""
    weight = view.residuals.batch.weight
    if weight is None:
        return view.residuals.rows > 1
    return bool(weight[0::2].any() and weight[1::2].any())


def _transposed(code: Any, values: NDArray[Any]) -> NDArray[np.float64]:
    if sp.issparse(code):
        return np.asarray(code.T @ values, np.float64)
    return transposed_product(code, values)


def _frequencies(view: BlockView) -> NDArray[np.float64]:
    """Return the frequencies of a block, (n_columns, pairs), in turns."""
    basis = cast(FourierBasis, view.residuals.problem.basis)
    parts = [
        basis.parameters(number)[:, place : place + width] for number, place, width in _parts(view)
    ]
    return np.concatenate(parts, axis=1).astype(np.float64)


def _stepped(view: BlockView, step: NDArray[np.float64]) -> Problem:
    """Return the problem with the frequencies of a block moved by a step."""
    problem = view.residuals.problem
    basis, first = cast(FourierBasis, problem.basis), 0
    given = dict(basis.given)
    for number, place, width in _parts(view):
        unit = basis.parameters(number).copy()
        unit[:, place : place + width] += step[:, first : first + width]
        given[number], first = unit, first + width
    return replace(problem, basis=basis.with_given(given))


def _view_in(view: BlockView, problem: Problem, code: Any) -> BlockView:
    """Return the view of the same block in a problem with other frequencies."""
    basis = cast(FourierBasis, problem.basis)
    columns = basis.columns(code, view.start, view.start + view.width)
    return replace(view, residuals=replace(view.residuals, problem=problem), columns=columns)


def _parts(view: BlockView) -> list[tuple[int, int, int]]:
    """Return unit, place in it and number of the pairs of a block that are of one unit."""
    pairs = cast(FourierBasis, view.residuals.problem.basis).pairs
    ends = cuts(view.start // 2, (view.start + view.width) // 2, pairs)
    return [(*divmod(begin, pairs), end - begin) for begin, end in ends]
