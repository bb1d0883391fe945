"""Calibration: probabilities from the decision function of a loss that is no likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.estimators.automatic.settings import default_loss, is_auto
from bochner.losses import Loss, Probabilistic, Quadratic
from bochner.losses.classification import softmax
from bochner.solvers import Solver

Array = NDArray[np.float64]

LEAST = 1e-3  # the least factor of scores of size 1, so that p keeps the order of f
NOISE = 1e-9  # of the scores: smaller differences between classes are rounding
MOST_STEPS = 100
LONGEST_STEP = 1e4  # for scores of size 1: far off, where p is 0 or 1, the curvature is nearly 0
MOST_NUMBERS = 500_000  # rows times classes: two factors need no more
SAMPLE = 0xCA1  # random stream
NEGLIGIBLE = 1e-14  # predicted decrease of the mean loss at which Newton stops
SUFFICIENT = 1e-4  # of the predicted decrease, for a step to be accepted (Lin, Lin and Weng)


@dataclass(frozen=True)
class Calibration:
    """Probabilities p = q^power exp(slope f) / sum over the classes, learned from held-out rows.

    q are the probabilities of the loss (the squared loss: (1 + f) / 2); for losses without them
    power = 0. Two classes have the columns -f/2 and f/2, so that p = 1 / (1 + exp(-slope f)) for
    power 0. Both numbers are at least 0, and classes have no constants: p keeps the order of f, so
    that `predict` returns the most probable class. Slope and power maximise the likelihood with
    Platt's targets: a row of a class with n rows has another label with probability 1 / (n + 2),
    which keeps the slope finite if all rows are classified correctly. Three or more classes share
    the slope, and n is the number of all rows.

    See Platt 1999, Probabilistic outputs for support vector machines, section 2.2; Lin, Lin and
    Weng 2007, A note on Platt's probabilistic outputs, for the method; Guo, Pleiss, Sun and
    Weinberger 2017, On calibration of modern neural networks, section 4.2, for the slope alone.

    Parameters
    ----------
    slope : float
        The factor of f.
    power : float
        The exponent of q.
    rows : int
        The number of held-out rows; 0 means that p = q.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Hinge
    >>> Calibration(slope=2.0, power=0.0, rows=100).probabilities(Hinge(), np.array([[0.0]]))
    array([[0.5, 0.5]])
    """

    slope: float = 0.0
    power: float = 1.0
    rows: int = 0

    @classmethod
    def learn(cls, loss: Loss, held_out: Batch, f: NDArray[Any]) -> Calibration:
        """Return the calibration of maximum likelihood, given f at held-out rows."""
        y, weight = held_out.targets, np.asarray(held_out.weights, np.float64)
        counted = _some(np.flatnonzero(weight > 0), y.shape[1])
        y, weight, f = y[counted], weight[counted], f[counted]
        targets, weight = _smoothed_targets(y, weight), weight / weight.sum()
        scores, sizes = _of_size_one(_scores(loss, f), weight)
        factors = _factors(scores, targets, weight) / sizes
        power = float(factors[1]) if len(factors) > 1 else 0.0
        return cls(float(factors[0]), power, len(y))

    def probabilities(self, loss: Loss, f: NDArray[Any]) -> NDArray[Any]:
        """Return the probability of each class, (rows, classes)."""
        if self.rows == 0:
            assert isinstance(loss, Probabilistic)  # see `gives_probabilities`
            return loss.probabilities(f)
        factors = np.array([self.slope, self.power])
        scores = _scores(loss, f)
        return softmax(_combined(factors[: len(scores)], scores)).astype(f.dtype)


UNCALIBRATED = Calibration()


def _some(rows: NDArray[np.int64], outputs: int) -> NDArray[np.int64]:
    """Return all rows, or a sample if there are more than two factors need."""
    most = MOST_NUMBERS // outputs + 1
    if len(rows) <= most:
        return rows
    return np.sort(rows[Random(0, SAMPLE).permutation(len(rows))[:most]])


def is_likelihood(loss: Loss) -> bool:
    """Whether a loss of labels is minus the logarithm of a likelihood."""
    return isinstance(loss, Probabilistic) and not isinstance(loss, Quadratic)


def _scores(loss: Loss, f: NDArray[Any]) -> Array:
    """Return f, and log q if the loss has probabilities, (1 or 2, rows, classes)."""
    f = f.astype(np.float64)
    columns = np.hstack([-f / 2, f / 2]) if f.shape[1] == 1 else f
    if not isinstance(loss, Probabilistic):
        return columns[None]
    return np.stack([columns, np.log(loss.probabilities(f))])


def _of_size_one(scores: Array, weight: Array) -> tuple[Array, Array]:
    """Return centred scores with mean square 1 over the rows, and their sizes."""
    centred = scores - scores.mean(axis=2, keepdims=True)
    sizes = np.sqrt(np.einsum("i,jik->j", weight, centred**2))
    constant = sizes <= NOISE * np.abs(scores).max(axis=(1, 2))
    sizes[constant], centred[constant] = 1.0, 0.0
    return centred / sizes[:, None, None], sizes


def _smoothed_targets(y: Array, weight: Array) -> Array:
    """Return Platt's targets, (rows, classes), for labels coded -1 and +1."""
    y = np.hstack([-y, y]) if y.shape[1] == 1 else y
    rows, classes = y.shape
    doubt = np.empty(rows)
    for group in (y.T > 0) if classes == 2 else np.ones((1, rows), bool):
        doubt[group] = 1 / (_effective_rows(weight[group]) + 2)
    others = doubt[:, None] / (classes - 1)
    return np.where(y > 0, 1 - doubt[:, None], others)


def _effective_rows(weight: Array) -> float:
    """Return (sum w)^2 / sum w^2 (Kish 1965, Survey Sampling), for weights of any scale."""
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) > 0 else 0.0


def _factors(scores: Array, targets: Array, weight: Array) -> Array:
    """Return the non-negative factors, not all 0, with the least loss.

    The loss is convex: if its minimum has a negative factor, the constrained one is on an edge.
    """
    free = _newton(scores, targets, weight)
    if (free >= 0).all() and free.max() >= LEAST:
        return free
    edges = [
        np.maximum(_newton(one[None], targets, weight), LEAST) * unit
        for one, unit in zip(scores, np.eye(len(scores)), strict=True)
    ]
    return min(edges, key=lambda factors: _loss(factors, scores, targets, weight))


def _newton(scores: Array, targets: Array, weight: Array) -> Array:
    """Return the factors with the least loss, by Newton steps with backtracking."""
    factors = np.zeros(len(scores))
    for _ in range(MOST_STEPS):
        gradient, hessian = _derivatives(factors, scores, targets, weight)
        step = -np.linalg.solve(hessian, gradient)
        step *= LONGEST_STEP / max(float(np.abs(step).max()), LONGEST_STEP)
        bound = _loss(factors, scores, targets, weight)
        while (fall := -float(gradient @ step)) > NEGLIGIBLE:
            if _loss(factors + step, scores, targets, weight) <= bound - SUFFICIENT * fall:
                break
            step = step / 2
        else:
            break
        factors = factors + step
    return factors


def _combined(factors: Array, scores: Array) -> Array:
    return np.asarray(np.einsum("j,jik->ik", factors, scores))


def _loss(factors: Array, scores: Array, targets: Array, weight: Array) -> float:
    """Return the mean of log(sum exp z) - targets'z, z the combined scores."""
    z = _combined(factors, scores)
    z -= z.max(axis=1, keepdims=True)
    rows = np.log(np.exp(z).sum(axis=1)) - np.einsum("ik,ik->i", targets, z)
    return float((weight * rows).sum())


def _derivatives(
    factors: Array, scores: Array, targets: Array, weight: Array
) -> tuple[Array, Array]:
    """Return the gradient and the Hessian, with a tiny ridge for collinear scores."""
    p = softmax(_combined(factors, scores))
    centred = scores - np.einsum("ik,jik->ji", p, scores)[:, :, None]
    gradient = np.einsum("i,ik,jik->j", weight, p - targets, scores)
    hessian = np.einsum("i,ik,jik,lik->jl", weight, p, centred, centred)
    ridge = 1e-10 * np.trace(hessian) + np.finfo(np.float64).tiny
    return gradient, hessian + ridge * np.eye(len(factors))


def gives_probabilities(estimator: Any) -> bool:
    """Whether a classifier has probabilities, or has them after a fit."""
    fitted = vars(estimator)
    if "calibration_" in fitted and fitted["calibration_"].rows > 0:
        return True
    loss = fitted.get("loss_", estimator.loss)
    if is_auto(loss):
        loss = _expected_loss(estimator.solver)
    if isinstance(loss, str) and loss in Loss.registry:
        loss = Loss.resolve(loss)
    if isinstance(loss, Probabilistic):
        return True
    raise AttributeError(
        f"The loss {loss!r} has probabilities only after a fit with held-out rows, by which they "
        "are calibrated. Use loss='softmax', 'logistic' or 'squared', or early_stopping=True."
    )


def _expected_loss(solver: Any) -> Any:
    """Return the loss that "auto" becomes; the solvers of "auto" have losses with probabilities."""
    known = isinstance(solver, Solver) or (isinstance(solver, str) and solver in Solver.registry)
    return default_loss("auto", solver) if known else "squared"
