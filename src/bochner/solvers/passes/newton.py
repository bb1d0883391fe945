"""Newton: a smooth loss by Newton steps, each solved by conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import log2, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import row_hash
from bochner.data import Batch
from bochner.losses import Smooth
from bochner.problem import Problem
from bochner.solvers.passes.linear_system import (
    ConjugateDirections,
    SystemSolver,
    SystemState,
    add_projected,
    constant_weights,
    embedded_weights,
    evaluated,
    needs_diagonal,
    preconditioner,
)
from bochner.solvers.solver import SolverTags, ridge_of

WHOLE, SHORTER = (1.0,), tuple(0.5**i for i in range(7))  # lengths of a line search
EPS = float(np.finfo(np.float64).eps)
ARMIJO = 1e-4  # the least decrease, as a share of that predicted by the slope
ROUNDING = 1e-12  # of the objective; smaller differences are rounding
DAMPING = 1e-4  # of the largest curvature
SMALLEST_SHARE = 1e-3  # of an output in the curvature, which is an estimate
FLATTEST = 1e-3  # the least mean curvature of a factor, relative to the bound
MOST_STEPS = 50  # of conjugate gradients in one model
BEYOND = 1.8  # times the step to the minimum of a model above the loss, which still decreases
COARSEST = 0.5  # relative residual of a model's solution
COARSEST_ABOVE = 0.2  # for a model above the loss: coarser steps decrease too little


@dataclass
class Trial:
    """A pass of the line search at weights + length * direction.

    `totals` sums the loss at every length. At the first, 1, `slopes` sums the gradient, and
    `squares` and `curvature` the parts of the Hessian's diagonal. `slope` is the derivative of the
    objective along the direction, which is None in the first pass, at the weights themselves.
    """

    direction: NDArray[Any] | None
    slope: float
    lengths: tuple[float, ...]
    slopes: NDArray[Any]
    squares: NDArray[np.float64]
    curvature: NDArray[np.float64]
    totals: NDArray[np.float64]
    total_weight: float = 0.0


@dataclass
class Descent:
    """Passes that solve H d = -gradient up to the relative residual `accuracy`.

    The unknowns of all outputs are one column of the system, because the Hessian may couple them.
    `curvature` and `diagonal` define its preconditioner; `gain` is the decrease of the quadratic
    model.
    """

    system: ConjugateDirections
    accuracy: float
    curvature: float
    diagonal: NDArray[Any] | None
    gain: float = 0.0
    total_weight: float = 0.0


@dataclass
class NewtonState(SystemState):
    """The best weights so far, and the phase.

    `values` are f at the rows for these weights, `steps` the change by the direction of a trial.
    `objective` is infinite, and `first_norm` (of the gradient) 0, before they are computed.
    """

    values: NDArray[np.float64]
    steps: NDArray[np.float64]
    phase: Trial | Descent
    objective: float = math.inf
    first_norm: float = 0.0


def initial_state(problem: Problem, weights: NDArray[Any]) -> NewtonState:
    """Return the state before the first pass."""
    values = np.zeros((problem.rows or 0, problem.outputs))
    phase = trial(weights, None)
    return NewtonState(0.0, 0.0, [], problem.basis, weights, values, values.copy(), phase)


def trial(
    weights: NDArray[Any],
    direction: NDArray[Any] | None,
    slope: float = 0.0,
    lengths: tuple[float, ...] = WHOLE,
) -> Trial:
    """Return a trial before its first row."""
    size, outputs = len(weights) - 1, weights.shape[1]
    slopes, totals = np.zeros_like(weights), np.zeros(len(lengths))
    return Trial(direction, slope, lengths, slopes, np.zeros(size), np.zeros(outputs), totals)


def make_room(state: NewtonState, batch: Batch) -> None:
    """Extend the arrays of the rows to the largest row number."""
    rows, outputs = state.values.shape
    needed = int(batch.index.max(initial=-1)) + 1
    if needed > rows:
        more = np.zeros((max(needed - rows, rows), outputs))
        state.values = np.concatenate([state.values, more])
        state.steps = np.concatenate([state.steps, more])


def add_trial(problem: Problem, state: NewtonState, trial: Trial, batch: Batch) -> None:
    """Add a batch's losses, gradient and curvature."""
    loss, weight, y = smooth(problem), batch.weights, batch.targets
    direction = state.weights if trial.direction is None else trial.direction
    before, steps = state.values[batch.index], evaluated(problem, batch.X, direction)
    state.steps[batch.index] = steps
    trial.total_weight += float(weight.sum())
    for i, length in enumerate(trial.lengths):
        trial.totals[i] += np.sum(weight * loss.value(y, before + length * steps))
    f = before + steps
    add_projected(problem, batch.X, loss.gradient(y, f) * weight[:, None], trial.slopes)
    second = curvatures(problem, batch, f) * weight[:, None]
    trial.curvature += second.sum(axis=0)
    if needs_diagonal(problem.basis):
        problem.basis.squares(batch.X, second.mean(axis=1), trial.squares)


def add_product(problem: Problem, state: NewtonState, descent: Descent, batch: Batch) -> None:
    """Add a batch's part of the Hessian's product with the direction of the system."""
    weight, system, shape = batch.weights, descent.system, state.weights.shape
    descent.total_weight += float(weight.sum())
    values = evaluated(problem, batch.X, system.direction.reshape(shape))
    product = smooth(problem).model_product(batch.targets, state.values[batch.index], values)
    add_projected(problem, batch.X, product * weight[:, None], system.product.reshape(shape))


def curvatures(problem: Problem, batch: Batch, f: NDArray[Any]) -> NDArray[Any]:
    """Return the diagonal of each row's Hessian, exact where outputs are not coupled.

    Otherwise s * (H s) for random signs s, which is unbiased, and whose mean over the outputs is
    never negative (Bekas, Kokiopoulou and Saad 2007, An estimator for the diagonal of
    a matrix, section 2): one product whatever the number of outputs.
    """
    numbers = batch.index[:, None] * problem.outputs + np.arange(problem.outputs)
    signs = np.where(row_hash(problem.seed, numbers) & np.uint64(1), 1.0, -1.0)
    return signs * smooth(problem).model_product(batch.targets, f, signs)


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
    return float(total / trial.total_weight + 0.5 * problem.alpha * norm)


def shortened(state: NewtonState, failed: Trial, length: float | None) -> Trial:
    """Return the trial at a sufficient length, or of shorter ones if none is known."""
    assert failed.direction is not None  # the first trial cannot fail
    lengths = SHORTER if length is None else WHOLE
    factor = 0.5 * failed.lengths[-1] if length is None else length
    direction = failed.direction * failed.direction.dtype.type(factor)
    return trial(state.weights, direction, failed.slope * factor, lengths)


def accept(problem: Problem, state: NewtonState, trial: Trial) -> None:
    """Move to the weights of the trial."""
    state.objective = objective(problem, state, trial, 1.0, trial.totals[0])
    state.values += state.steps
    if trial.direction is not None:
        state.weights += trial.direction
    state.loss = float(trial.totals[0] / trial.total_weight)
    state.pass_losses.append(state.loss)


def newton_descent(problem: Problem, state: NewtonState, trial: Trial) -> Descent:
    """Return the system H d = -gradient at the weights that the trial has moved to."""
    residual = trial.slopes
    residual /= -trial.total_weight
    residual[:-1] -= residual.dtype.type(problem.alpha) * state.weights[:-1]
    diagonal = hessian_diagonal(problem, trial) if needs_diagonal(problem.basis) else None
    curvature = mean_curvature(problem, trial)
    system = ConjugateDirections.begin(
        np.zeros((residual.size, 1), residual.dtype),
        residual.reshape(-1, 1),
        preconditioner(problem, curvature, diagonal),
        problem.alpha,
    )
    return Descent(system, 0.0, curvature, diagonal)


def hessian_diagonal(problem: Problem, trial: Trial) -> NDArray[Any]:
    """Return an estimate of the diagonal of H.

    The entry of function j and output k is squares_j times the output's share of the curvature,
    which is exact if all rows have the same curvature.
    """
    diagonal, dtype = np.empty_like(trial.slopes), trial.slopes.dtype
    mean = trial.curvature.mean()
    share = np.maximum(trial.curvature / mean, SMALLEST_SHARE) if mean > 0 else np.ones(1)
    diagonal[:-1] = trial.squares[:, None] / trial.total_weight
    diagonal[-1] = mean / trial.total_weight
    diagonal *= share.astype(dtype)
    diagonal[:-1] += dtype.type(problem.alpha)
    diagonal[-1] += damping(problem)
    return diagonal.ravel()


def mean_curvature(problem: Problem, trial: Trial) -> float:
    """Return the mean curvature, rounded to the bound times a power of 2.

    So a factor of the Hessian is computed again only after a large change.
    """
    bound = smooth(problem).curvature_bound
    share = float(trial.curvature.mean() / trial.total_weight) / bound
    return bound * 2.0 ** round(log2(min(1.0, max(FLATTEST, share))))


def descend(problem: Problem, descent: Descent) -> None:
    """Take a step of conjugate gradients, all rows having been seen."""
    system, total_weight, outputs = descent.system, descent.total_weight, problem.outputs
    dtype = system.product.dtype
    ridge = np.full((outputs, 1), damping(problem), dtype)
    ridge[:-1] -= dtype.type(system.ridge)  # which the system adds to all unknowns but the last
    system.product[-outputs:] += dtype.type(total_weight) * ridge * system.direction[-outputs:]
    M = preconditioner(problem, descent.curvature, descent.diagonal)
    descent.gain += float(system.step(1.0 / total_weight, M).sum())
    descent.total_weight = 0.0


def damping(problem: Problem) -> float:
    """Return the penalty of the intercept in the quadratic model, which the objective lacks.

    A logistic loss is flat where all rows are far on one side, and nothing else would bound the
    intercept. The minimum does not change: the gradient is exact.
    """
    return DAMPING * smooth(problem).curvature_bound


def smooth(problem: Problem) -> Smooth:
    """Return the loss, whose type `check` has tested."""
    assert isinstance(problem.loss, Smooth)
    return problem.loss


def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the sum of products in float64."""
    return float(np.einsum("ij,ij->", a, b, dtype=np.float64))


@dataclass
class Newton(SystemSolver[NewtonState], name="newton"):
    r"""Newton's method with directions from conjugate gradients, preconditioned by the diagonal.

    H d = -g with g = Phi'W l'(f) / sum(W) + alpha w and H = Phi'W l''(f) Phi / sum(W) + alpha I, l
    the loss, W the rows' weights, and an intercept without penalty. The system is solved up to the
    relative residual min(1/2, sqrt(|g| / |first g|)), or half of what `tol` asks for if that is
    more (Eisenstat and Walker 1996, Choosing the forcing terms in an inexact Newton method,
    section 2; Kelley 1995, Iterative methods for linear and nonlinear equations, Eq. 6.20); then
    w + d is tried, and d is halved until the objective falls enough (Nocedal and Wright 2006,
    Numerical optimization, Algorithm 7.1).

    A trial takes one pass, which also computes the gradient there; every step of conjugate
    gradients takes one. Weights are in single precision, values at the rows and sums in double.

    Parameters
    ----------
    tol : float
        Ends the fit when the gradient, in the norm of the inverse diagonal of H, is at most this
        fraction of the first one.

    See Also
    --------
    ConjugateGradient : For quadratic losses.
    Nystroem : The same method on centres, with a better preconditioner.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelClassifier
    >>> from bochner.solvers import Newton
    >>> X = np.linspace(-2, 2, 500)[:, None]
    >>> y = np.abs(X[:, 0]) < 1
    >>> model = KernelClassifier(loss="logistic", solver=Newton(tol=1e-3), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=NewtonState,
        loss_type=Smooth,
        access="rows",
        evaluates="passes",
        patience=2,
        takes_ridge=True,
        features="binning",
        default_alpha=ridge_of,
    )

    tol: float = 1e-2

    def init(self, problem: Problem, sample: Batch) -> NewtonState:
        """Return the best constant."""
        return initial_state(problem, constant_weights(problem, sample))

    def advance(self, problem: Problem, state: NewtonState, batch: Batch) -> NewtonState:
        """Add the batch to the sums of the current phase."""
        if isinstance(state.phase, Trial):
            make_room(state, batch)
            add_trial(problem, state, state.phase, batch)
        else:
            add_product(problem, state, state.phase, batch)
        return state

    def end_pass(self, problem: Problem, state: NewtonState) -> NewtonState:
        """Accept or shorten a trial, or take a step of conjugate gradients."""
        if isinstance(state.phase, Trial):
            self._end_trial(problem, state, state.phase)
        else:
            self._end_product(problem, state, state.phase)
        return state

    def on_new_rows(self, problem: Problem, state: NewtonState) -> NewtonState:
        """Restart from the best weights so far."""
        return initial_state(problem, embedded_weights(problem, state))

    def _end_trial(self, problem: Problem, state: NewtonState, ended: Trial) -> None:
        length = longest(problem, state, ended)
        if ended.direction is not None and length != 1.0:
            state.phase = shortened(state, ended, length)
            return
        accept(problem, state, ended)
        descent = newton_descent(problem, state, ended)
        norm = sqrt(descent.system.energy.sum())
        # A start with a decrease below the rounding of the objective is the minimum.
        if state.first_norm == 0.0 and norm**2 > EPS * state.objective:
            state.first_norm = norm
        state.optimality = norm / state.first_norm if state.first_norm > 0 else 0.0
        descent.accuracy = self._accuracy(problem, state.optimality)
        state.phase = descent

    def _end_product(self, problem: Problem, state: NewtonState, descent: Descent) -> None:
        descend(problem, descent)
        system, state.moved = descent.system, descent.gain
        if system.relative > descent.accuracy and system.steps < MOST_STEPS:
            return
        # The residual of a conjugate gradient iterate d is orthogonal to it: -g'd = d'Hd.
        stretch = BEYOND if smooth(problem).model_is_above else 1.0
        direction = system.solution.reshape(state.weights.shape) * state.weights.dtype.type(stretch)
        state.phase = trial(state.weights, direction, slope=-2 * stretch * descent.gain)

    def _accuracy(self, problem: Problem, optimality: float) -> float:
        coarsest = COARSEST_ABOVE if smooth(problem).model_is_above else COARSEST
        enough = 0.5 * self.tol / optimality if optimality > 0 else coarsest
        return min(coarsest, max(sqrt(optimality), enough))
