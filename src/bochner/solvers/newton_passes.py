"""What a pass of Newton's method adds up, and what is made of it at the end."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import row_hash
from bochner.data import Batch
from bochner.losses import Smooth
from bochner.problem import Problem
from bochner.solvers.conjugate_directions import ConjugateDirections
from bochner.solvers.conjugate_gradient import add_projected, evaluated
from bochner.solvers.metric import metric, wants_diagonal
from bochner.solvers.newton_state import WHOLE, Descent, NewtonState, Trial, trial

ARMIJO = 1e-4  # the share of the decrease promised by the slope that a step must bring
ROUNDING = 1e-12  # of the objective; smaller differences say nothing
SHORTER = tuple(0.5**i for i in range(7))
DAMPING = 1e-4  # of the largest curvature
SMALLEST_SHARE = 1e-3  # of an output in the curvature, which is an estimate
FLATTEST = 1e-3  # mean curvature that a factor is made for, relative to the bound


def add_trial(problem: Problem, state: NewtonState, trial: Trial, batch: Batch) -> None:
    """Add a batch's losses, gradient and curvature."""
    loss, weight, y = smooth(problem), weights_of(batch), targets_of(batch)
    direction = state.weights if trial.direction is None else trial.direction
    before, steps = state.values[batch.index], evaluated(problem, batch.X, direction)
    state.steps[batch.index] = steps
    trial.mass += float(weight.sum())
    for i, length in enumerate(trial.lengths):
        trial.totals[i] += np.sum(weight * loss.value(y, before + length * steps))
    f = before + steps
    add_projected(problem, batch.X, loss.gradient(y, f) * weight[:, None], trial.slopes)
    bends = curvatures(problem, batch, f) * weight[:, None]
    trial.curvature += bends.sum(axis=0)
    if wants_diagonal(problem.basis):
        problem.basis.squares(batch.X, bends.mean(axis=1), trial.squares)


def add_product(problem: Problem, state: NewtonState, descent: Descent, batch: Batch) -> None:
    """Add a batch's part of the Hessian's product with the direction of the system."""
    weight, system, shape = weights_of(batch), descent.system, state.weights.shape
    descent.mass += float(weight.sum())
    values = evaluated(problem, batch.X, system.direction.reshape(shape))
    bent = smooth(problem).model_product(targets_of(batch), state.values[batch.index], values)
    add_projected(problem, batch.X, bent * weight[:, None], system.product.reshape(shape))


def curvatures(problem: Problem, batch: Batch, f: NDArray[Any]) -> NDArray[Any]:
    """Return the diagonal of each row's Hessian, exact where outputs are not coupled.

    Otherwise s * (H s) for random signs s, which is right on average, and whose mean over the
    outputs is never negative (Bekas, Kokiopoulou and Saad 2007, An estimator for the diagonal of
    a matrix, section 2): one product whatever the number of outputs.
    """
    numbers = batch.index[:, None] * problem.outputs + np.arange(problem.outputs)
    signs = np.where(row_hash(problem.seed, numbers) & np.uint64(1), 1.0, -1.0)
    return signs * smooth(problem).model_product(targets_of(batch), f, signs)


def longest(problem: Problem, state: NewtonState, trial: Trial) -> float | None:
    """Return the longest length with a sufficient decrease (Armijo 1966), or None."""
    for length, total in zip(trial.lengths, trial.totals, strict=True):
        bound = state.objective + ARMIJO * length * trial.slope + ROUNDING * abs(state.objective)
        if objective(problem, state, trial, length, total) <= bound:
            return length
    return None


def objective(
    problem: Problem, state: NewtonState, trial: Trial, length: float, total: float
) -> float:
    """Return mean loss + alpha/2 |w + length d|^2 without rounding w + length d."""
    w, d = state.weights[:-1], trial.direction
    norm = dot(w, w)
    if d is not None:
        norm += length * (2 * dot(w, d[:-1]) + length * dot(d[:-1], d[:-1]))
    return float(total / trial.mass + 0.5 * problem.alpha * norm)


def shortened(state: NewtonState, failed: Trial, length: float | None) -> Trial:
    """Return the trial at a length that will do, or, if none is known, of shorter ones."""
    assert failed.direction is not None  # the first trial cannot fail
    lengths = SHORTER if length is None else WHOLE
    factor = 0.5 * failed.lengths[-1] if length is None else length
    direction = failed.direction * failed.direction.dtype.type(factor)
    return trial(state.weights, direction, failed.slope * factor, lengths)


def accept(problem: Problem, state: NewtonState, trial: Trial) -> None:
    """Move to where the trial was."""
    state.objective = objective(problem, state, trial, 1.0, trial.totals[0])
    state.values += state.steps
    if trial.direction is not None:
        state.weights += trial.direction
    state.loss = float(trial.totals[0] / trial.mass)
    state.pass_losses.append(state.loss)


def newton_descent(problem: Problem, state: NewtonState, trial: Trial) -> Descent:
    """Return the system H d = -gradient at the weights that the trial has moved to."""
    residual = trial.slopes
    residual /= -trial.mass
    residual[:-1] -= residual.dtype.type(problem.alpha) * state.weights[:-1]
    diagonal = hessian_diagonal(problem, trial) if wants_diagonal(problem.basis) else None
    curvature = mean_curvature(problem, trial)
    system = ConjugateDirections.begin(
        np.zeros((residual.size, 1), residual.dtype),
        residual.reshape(-1, 1),
        metric(problem, curvature, diagonal),
        problem.alpha,
    )
    return Descent(system, 0.0, curvature, diagonal)


def hessian_diagonal(problem: Problem, trial: Trial) -> NDArray[Any]:
    """Return about the diagonal of H.

    That of function j and output k is taken as squares_j times the output's share of the
    curvature, which is exact where all rows are curved alike.
    """
    diagonal, dtype = np.empty_like(trial.slopes), trial.slopes.dtype
    mean = trial.curvature.mean()
    share = np.maximum(trial.curvature / mean, SMALLEST_SHARE) if mean > 0 else np.ones(1)
    diagonal[:-1] = trial.squares[:, None] / trial.mass
    diagonal[-1] = mean / trial.mass
    diagonal *= share.astype(dtype)
    diagonal[:-1] += dtype.type(problem.alpha)
    diagonal[-1] += damping(problem)
    return diagonal.ravel()


def mean_curvature(problem: Problem, trial: Trial) -> float:
    """Return the bound of the curvature times the power of 2 that comes next to its mean.

    A factor of the Hessian is made anew only when the curvature has changed that much.
    """
    bound = smooth(problem).curvature_bound
    share = float(trial.curvature.mean() / trial.mass) / bound
    return bound * 2.0 ** round(log2(min(1.0, max(FLATTEST, share))))


def descend(problem: Problem, descent: Descent) -> None:
    """Take a step of conjugate gradients, all rows having been seen."""
    system, mass, outputs = descent.system, descent.mass, problem.outputs
    dtype = system.product.dtype
    ridge = np.full((outputs, 1), damping(problem), dtype)
    ridge[:-1] -= dtype.type(system.ridge)  # which the system adds to all unknowns but the last
    system.product[-outputs:] += dtype.type(mass) * ridge * system.direction[-outputs:]
    found = metric(problem, descent.curvature, descent.diagonal)
    descent.gain += float(system.step(1.0 / mass, found).sum())
    descent.mass = 0.0


def damping(problem: Problem) -> float:
    """Return what stands in for the penalty of the intercept in the quadratic model.

    Where all rows are far on one side a logistic loss is flat, and nothing else would hold the
    intercept. The minimum is not moved by it: the gradient is exact.
    """
    return DAMPING * smooth(problem).curvature_bound


def smooth(problem: Problem) -> Smooth:
    """Return the loss; a solver has checked that it is smooth."""
    assert isinstance(problem.loss, Smooth)
    return problem.loss


def weights_of(batch: Batch) -> NDArray[np.float64]:
    """Return the weights of the rows."""
    return np.ones(len(batch)) if batch.weight is None else batch.weight


def targets_of(batch: Batch) -> NDArray[Any]:
    """Return the targets of the rows, which a loss needs."""
    assert batch.y is not None
    return batch.y


def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the sum of products in float64."""
    return float(np.einsum("ij,ij->", a, b, dtype=np.float64))
