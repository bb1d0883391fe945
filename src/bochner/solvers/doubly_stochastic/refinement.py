"""Refinement: gradient steps on the frequencies of a new block of waves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi
from numbers import Integral, Real
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
from bochner.solvers.doubly_stochastic.block_view import Look
from bochner.solvers.doubly_stochastic.step_rules import Move

SHORTER = 0.25  # what is left of the rate after a step that did not help

Frequencies = dict[int, NDArray[Any]]  # by the number of their unit, as a FourierBasis has them


@dataclass
class Refinement(Component, family="refinement"):
    r"""Gradient steps on the frequencies of each new block, before its weights are kept.

    The papers' back-propagation trick (Dai et al. 2014, Scalable kernel methods via doubly
    stochastic gradients, conclusion). A block of waves adds sum_j (u_j cos t_j + v_j sin t_j) to f,
    with t_j = 2 pi omega_j'x, so the batch's loss has the derivative

        d loss / d omega_j = 2 pi / n sum_i x_i <g_i, v_j cos t_ij - u_j sin t_ij>,

    g_i being the loss gradient at the function with the block in it. A step goes against it by
    `rate` times the root mean square of the block's frequencies; the block's weights are then found
    anew by the step rule. Derivative and weights are those of every other row of the batch, and the
    rows between judge: a step that does not lower their objective is not taken, and the next one
    is a quarter as long. (Without judges noisy targets are learned by heart.) In the end all rows
    together say the weights.

    Only a new block is refined, and only in the step that draws it. From then on its frequencies
    stay, so what is known of the rows and the mean of the iterates keep their meaning. A step takes
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
        """Refuse values out of range, and functions that are no waves."""
        if not isinstance(self.steps, Integral) or self.steps < 1:
            raise ValueError(f"steps of Refinement must be 1 or more; got {self.steps!r}.")
        if not isinstance(self.rate, Real) or not 0 < self.rate < np.inf:
            raise ValueError(f"rate of Refinement must be a positive number; got {self.rate!r}.")
        basis = problem.basis.for_prediction
        if not isinstance(basis, FourierBasis):
            raise ValueError(
                "Refinement moves the frequencies of Fourier features; got a "
                f"{type(basis).__name__}. Give features='fourier', or "
                "refinement=None."
            )
        if not isinstance(basis.drawing, MatrixDrawing):
            raise ValueError(
                "Refinement moves frequencies one by one, which those of "
                f"{basis.drawing!r} cannot. Give features='fourier', 'orthogonal' or "
                "'quasi_monte_carlo', or refinement=None."
            )

    def refined(
        self, look: Look, move: Move, code: Any, decide: Callable[[Look], Move]
    ) -> tuple[Look, Move]:
        """Return the block with better frequencies, in a problem that has them, and its move."""
        if not _both_halves_count(look):
            return look, move
        best, rate = look, self.rate
        change = decide(_half(look, 0))
        least = objective(_half(look, 1), change)
        direction = _direction(_half(look, 0), change, code[0::2])
        for _ in range(self.steps):
            if direction is None:
                break
            trial = _seen(look, _stepped(best, -rate * direction), code)
            change = decide(_half(trial, 0))
            value = objective(_half(trial, 1), change)
            if not value < least:
                rate *= SHORTER
                continue
            best, least = trial, value
            direction = _direction(_half(trial, 0), change, code[0::2])
        return (look, move) if best is look else (best, decide(best))


def require_refinement(given: Any) -> Refinement:
    """Return the refinement, or refuse what is none."""
    if isinstance(given, Refinement):
        return given
    raise ValueError(f"refinement must be None or Refinement(steps, rate); got {given!r}.")


def objective(look: Look, move: Move) -> float:
    """Return the batch's loss after a move, and the penalty on the block."""
    residuals = look.residuals
    losses = residuals.problem.loss.value(residuals.y, residuals.f + look.evaluate(move.change))
    weights = look.weights + move.change[: look.width]
    penalty = 0.5 * look.blocks * residuals.problem.alpha * float(np.sum(weights**2))
    return float(np.average(losses, weights=residuals.batch.weight)) + penalty


def on_refined(problem: Problem, frequencies: Frequencies) -> Problem:
    """Return the problem on waves of which some have frequencies of their own."""
    if not frequencies:
        return problem
    basis = cast(FourierBasis, problem.basis)
    return replace(problem, basis=basis.with_given(frequencies))


def frequencies_of(problem: Problem) -> Frequencies:
    """Return the frequencies that are not drawn."""
    return cast(FourierBasis, problem.basis).given


def _direction(look: Look, move: Move, code: Any) -> NDArray[np.float64] | None:
    """Return the derivative by the frequencies, of the size of these; None where it is 0."""
    residuals, dtype = look.residuals, look.columns.dtype
    f = residuals.f + look.evaluate(move.change)
    slopes = np.asarray(residuals.problem.loss.gradient(residuals.y, f), np.float64)
    if residuals.weight is not None:
        slopes = slopes * residuals.weight[:, None]
    weights = (look.weights + move.change[: look.width]).astype(dtype)
    slopes = slopes.astype(dtype)
    bent = look.columns[:, 0::2] * product(slopes, weights[1::2].T)
    bent -= look.columns[:, 1::2] * product(slopes, weights[0::2].T)
    bent *= 2 * pi * look.gain / residuals.rows
    derivative = _transposed(code, bent.astype(dtype))
    size = float(np.sqrt(np.mean(derivative**2)))
    if not (0 < size < np.inf):
        return None
    omega = _frequencies(look)
    return derivative * (float(np.sqrt(np.mean(omega**2))) / size)


def _half(look: Look, first: int) -> Look:
    """Return the look at every other row."""
    residuals, rows = look.residuals, slice(first, None, 2)
    half = replace(residuals, batch=residuals.batch[rows], f=residuals.f[rows])
    return replace(look, residuals=half, columns=np.ascontiguousarray(look.columns[rows]))


def _both_halves_count(look: Look) -> bool:
    """Whether there are rows of some weight in both halves."""
    weight = look.residuals.batch.weight
    if weight is None:
        return look.residuals.rows > 1
    return bool(weight[0::2].any() and weight[1::2].any())


def _transposed(code: Any, values: NDArray[Any]) -> NDArray[np.float64]:
    if sp.issparse(code):
        return np.asarray(code.T @ values, np.float64)
    return transposed_product(code, values)


def _frequencies(look: Look) -> NDArray[np.float64]:
    """Return the frequencies of a block, (n_columns, pairs), in turns."""
    basis = cast(FourierBasis, look.residuals.problem.basis)
    parts = [
        basis.parameters(number)[:, place : place + width] for number, place, width in _parts(look)
    ]
    return np.concatenate(parts, axis=1).astype(np.float64)


def _stepped(look: Look, step: NDArray[np.float64]) -> Problem:
    """Return the problem with the frequencies of a block moved by a step."""
    problem = look.residuals.problem
    basis, first = cast(FourierBasis, problem.basis), 0
    given = dict(basis.given)
    for number, place, width in _parts(look):
        unit = basis.parameters(number).copy()
        unit[:, place : place + width] += step[:, first : first + width]
        given[number], first = unit, first + width
    return replace(problem, basis=basis.with_given(given))


def _seen(look: Look, problem: Problem, code: Any) -> Look:
    """Return the look through a block with other frequencies."""
    basis = cast(FourierBasis, problem.basis)
    columns = basis.columns(code, look.start, look.start + look.width)
    return replace(look, residuals=replace(look.residuals, problem=problem), columns=columns)


def _parts(look: Look) -> list[tuple[int, int, int]]:
    """Return unit, place in it and number of the pairs of a block that are of one unit."""
    pairs = cast(FourierBasis, look.residuals.problem.basis).pairs
    ends = cuts(look.start // 2, (look.start + look.width) // 2, pairs)
    return [(*divmod(begin, pairs), end - begin) for begin, end in ends]
