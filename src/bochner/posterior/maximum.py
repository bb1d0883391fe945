"""Maximum: the amplitude, the noise and the scales of the greatest likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bochner.posterior.exact_likelihood import ExactLikelihood

AMPLITUDES, NOISES = (1e-3, 1e4), (1e-6, 1e1)  # in variances of the targets
SCALES = 1e3  # times the first guess, or a part of it
FIRST_SCALES = (0.25, 0.5, 1.0, 2.0)  # of the common guess, of which the best is begun with
FIRST_NOISES = (0.03, 0.3)
FEW_ROWS = 400  # that suffice to choose a beginning
STEPS = 60
TOLERANCE = 1e-4  # of the logarithm of the likelihood, a row


@dataclass(frozen=True, eq=False)
class Hyper:
    """An amplitude, a noise, and scales by which columns are divided."""

    amplitude: float
    noise: float
    scales: NDArray[np.float64]

    @property
    def logarithms(self) -> NDArray[np.float64]:
        """All of them, in this order."""
        return np.log([self.amplitude, self.noise, *self.scales])


def maximum(likelihood: ExactLikelihood, guess: Hyper, free: NDArray[np.bool_]) -> Hyper:
    """Return the hyperparameters at the top of the likelihood near the best of some guesses.

    `free` says which of amplitude, noise and scales may move; one more entry, the last, whether
    all scales may move together only. By L-BFGS within bounds on the logarithms (Zhu, Byrd, Lu
    and Nocedal 1997, Algorithm 778: L-BFGS-B).
    """
    separate, together = free[:-1], bool(free[-1])
    if not (separate.any() or together):
        return guess
    begin = _begun(likelihood, guess, separate, together)
    moves = _moves(separate, together)
    origin = begin.logarithms

    def height(t: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        point = np.exp(origin + moves @ t)
        value, slopes = likelihood.slopes(point[0], point[1], point[2:])
        return -value, -(slopes @ moves)

    bounds = _bounds(origin, moves)
    tolerance = {"maxiter": STEPS, "ftol": TOLERANCE * _per_row(likelihood, begin)}
    found = minimize(
        height, np.zeros(moves.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B",
        options=tolerance,
    )  # fmt: skip
    point = np.exp(origin + moves @ found.x)
    return Hyper(float(point[0]), float(point[1]), point[2:])


def _begun(
    likelihood: ExactLikelihood, guess: Hyper, free: NDArray[np.bool_], together: bool
) -> Hyper:
    """Return the best of some guesses on few rows."""
    few = likelihood.some(slice(None, None, -(-len(likelihood.X) // FEW_ROWS)))
    moving = together or bool(free[2:].any())
    noises = FIRST_NOISES if free[1] else (guess.noise,)
    found = [
        replace(guess, noise=noise, scales=guess.scales * factor)
        for factor in (FIRST_SCALES if moving else (1.0,))
        for noise in noises
    ]
    return max(found, key=lambda hyper: few(hyper.amplitude, hyper.noise, hyper.scales))


def _moves(free: NDArray[np.bool_], together: bool) -> NDArray[np.float64]:
    """Return the directions, as columns, in which the logarithms may move."""
    moves = np.eye(len(free))[:, free]
    if together:
        common = np.zeros((len(free), 1))
        common[2:] = 1.0
        moves = np.hstack([moves, common])
    return moves


def _bounds(origin: NDArray[np.float64], moves: NDArray[np.float64]) -> list[tuple[float, float]]:
    low, high = origin - np.log(SCALES), origin + np.log(SCALES)
    low[:2], high[:2] = np.log([AMPLITUDES, NOISES]).T
    places = moves.argmax(axis=0)
    away = zip(low[places] - origin[places], high[places] - origin[places], strict=True)
    return [(min(float(a), 0.0), max(float(b), 0.0)) for a, b in away]


def _per_row(likelihood: ExactLikelihood, begin: Hyper) -> float:
    """Return what scipy's relative tolerance has to be multiplied by to be one a row."""
    value = abs(likelihood(begin.amplitude, begin.noise, begin.scales))
    return likelihood.y.size / max(value, float(likelihood.y.size))
