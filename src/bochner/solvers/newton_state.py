"""What Newton's method carries: the weights, the values at the rows, and the phase it is in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.features import Basis
from bochner.problem import Problem
from bochner.solvers.conjugate_directions import ConjugateDirections
from bochner.solvers.solver import State

WHOLE = (1.0,)


@dataclass
class Trial:
    """A pass that looks at weights + length * direction: how good is it, and where next?

    `totals` sums the loss at every length. At the first, 1, `slopes` collects the gradient, and
    `squares` and `curvature` what the Hessian's diagonal is made of. `slope` is the derivative of
    the objective along the direction, which is None in the first pass: that is at the weights.
    """

    direction: NDArray[Any] | None
    slope: float
    lengths: tuple[float, ...]
    slopes: NDArray[Any]
    squares: NDArray[np.float64]
    curvature: NDArray[np.float64]
    totals: NDArray[np.float64]
    mass: float = 0.0


@dataclass
class Descent:
    """Passes that solve H d = -gradient up to the relative residual `accuracy`.

    The unknowns of all outputs are one column of the system, because the Hessian may couple them.
    `curvature` and `diagonal` are what its metric is made of, and `gain` is how much the quadratic
    model has fallen.
    """

    system: ConjugateDirections
    accuracy: float
    curvature: float
    diagonal: NDArray[Any] | None
    gain: float = 0.0
    mass: float = 0.0


@dataclass
class NewtonState(State):
    """The best weights so far, the intercept as their last row, and the phase.

    `values` are f at the rows for these weights, `steps` what the direction of a trial adds to
    them. `objective` is infinite, and `first_norm` (of the gradient) 0, until they are known.
    """

    basis: Basis
    weights: NDArray[Any]
    values: NDArray[np.float64]
    steps: NDArray[np.float64]
    phase: Trial | Descent
    objective: float = math.inf
    first_norm: float = 0.0


def opened(problem: Problem, weights: NDArray[Any]) -> NewtonState:
    """Return the state before the first pass."""
    shape = (problem.rows or 0, problem.outputs)
    return NewtonState(
        loss=0.0,
        moved=0.0,
        pass_losses=[],
        basis=problem.basis,
        weights=weights,
        values=np.zeros(shape),
        steps=np.zeros(shape),
        phase=trial(weights, None),
    )


def trial(
    weights: NDArray[Any],
    direction: NDArray[Any] | None,
    slope: float = 0.0,
    lengths: tuple[float, ...] = WHOLE,
) -> Trial:
    """Return a trial of which no row has been seen."""
    size, outputs = len(weights) - 1, weights.shape[1]
    slopes, totals = np.zeros_like(weights), np.zeros(len(lengths))
    return Trial(direction, slope, lengths, slopes, np.zeros(size), np.zeros(outputs), totals)


def make_room(state: NewtonState, batch: Batch) -> None:
    """Lengthen the arrays of the rows where a row's number is beyond them."""
    rows, outputs = state.values.shape
    needed = int(batch.index.max(initial=-1)) + 1
    if needed > rows:
        more = np.zeros((max(needed - rows, rows), outputs))
        state.values = np.concatenate([state.values, more])
        state.steps = np.concatenate([state.steps, more])
