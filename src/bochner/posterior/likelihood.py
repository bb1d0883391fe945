"""The marginal likelihood of a Gaussian process, its gradient, and its maximum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from bochner.compute.blas import single_blas
from bochner.compute.interruption import abandonable, after
from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve
from bochner.data import DataSource
from bochner.kernels import Gaussian, Kernel, ShiftInvariant

STEP = 1e-4  # of log(scale), for finite differences
JITTER = 1e-10
SCALES = 1e3  # largest factor between a scale and its first guess
AMPLITUDES, NOISES = (1e-3, 1e4), (1e-6, 1e1)  # bounds, in variances of the targets
FIRST_SCALES = (0.25, 0.5, 1.0, 2.0)  # factors of the first guess; the best starts the search
FIRST_NOISES = (0.03, 0.3)
FEW_ROWS = 400  # to choose the starting point
STEPS = 60
TOLERANCE = 1e-4  # of the log likelihood per row


@dataclass(frozen=True, eq=False)
class ExactLikelihood:
    r"""log N(y; 0, amplitude K + noise W^-1) of a few rows, K = kernel(X / scales).

    With C the covariance and a = C^-1 y the derivative along a parameter t is
    1/2 tr((a a' - C^-1) dC/dt) (Rasmussen and Williams 2006, Gaussian processes for machine
    learning, Eq. 5.8 and 5.9), summed over outputs.

    Parameters
    ----------
    kernel : ShiftInvariant
        A kernel whose bandwidth is a number.
    X, y, weight : arrays
        Rows, targets (rows, outputs) and weights (rows,), which divide the noise.
    """

    kernel: ShiftInvariant
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __call__(self, amplitude: float, noise: float, scales: NDArray[np.float64]) -> float:
        """Return the log likelihood."""
        return self._solve(amplitude * self._matrix(self.X / scales), noise)[0]

    def with_gradient(
        self, amplitude: float, noise: float, scales: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient in the logarithms of amplitude, noise and scales."""
        rows = self.X / scales
        K = amplitude * self._matrix(rows)
        value, lower, a = self._solve(K.copy(), noise)
        inverse = solve(lower, np.eye(len(K)))
        T = a @ a.T - self.y.shape[1] * inverse
        of_noise = noise * float(T.diagonal() @ (1 / self.weight))
        T *= amplitude / 2
        along = self._along_scales(T, K / amplitude, rows)
        of_amplitude = float(np.vdot(T, K)) / amplitude
        return value, np.array([of_amplitude, of_noise / 2, *along])

    def subset(self, rows: Any) -> ExactLikelihood:
        """Return the likelihood of some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows])

    def _matrix(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.kernel.matrix(rows, rows), np.float64)

    def _solve(
        self, C: NDArray[np.float64], noise: float
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the value, the factor and C^-1 y; C is given without noise and overwritten."""
        np.einsum("ii->i", C)[:] += noise / self.weight
        lower = jittered_cholesky(C, JITTER)[0]
        a = solve(lower, self.y)
        determinant = 2 * float(np.log(lower.diagonal()).sum())
        fixed = len(C) * np.log(2 * np.pi) + determinant
        return -0.5 * (self.y.shape[1] * fixed + float(np.vdot(self.y, a))), lower, a

    def _along_scales(
        self, T: NDArray[np.float64], K: NDArray[np.float64], rows: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return sum T dK/dlog(scale) for each column."""
        if isinstance(self.kernel, Gaussian):
            # dK_ij = K_ij (x_i - x_j)^2 / bandwidth^2; the sum needs no matrix for each column.
            M = T * K
            squares = 2 * (M.sum(axis=1) @ np.square(rows) - np.einsum("ij,ij->j", rows, M @ rows))
            return np.asarray(squares / float(self.kernel.bandwidth) ** 2)
        out, above = np.empty(rows.shape[1]), rows.copy()
        for j in range(len(out)):
            above[:, j] = rows[:, j] * np.exp(-STEP)
            below = rows.copy()
            below[:, j] = rows[:, j] * np.exp(STEP)
            out[j] = np.vdot(T, self._matrix(above) - self._matrix(below)) / (2 * STEP)
            above[:, j] = rows[:, j]
        return out


def row_likelihood(
    kernel: Kernel, source: DataSource, noises: NDArray[np.float64], most_rows: int
) -> tuple[float, int]:
    """Return the sum over outputs of log N(y; 0, K + noise W^-1), and the number of rows.

    Rows of weight 0 are left out. More than `most_rows` are refused: the time is their cube.
    """
    require_few_rows(source.n_rows, most_rows)
    rows = next(iter(source.batches(most_rows)))
    rows = rows[rows.weights > 0]
    X = np.asarray(rows.X.toarray() if sp.issparse(rows.X) else rows.X, np.float64)
    total, unscaled = 0.0, np.ones(X.shape[1])
    with single_blas():
        for noise in set(noises.tolist()):
            y = np.ascontiguousarray(rows.targets[:, noises == noise])
            total += ExactLikelihood(kernel, X, y, rows.weights)(1.0, noise, unscaled)  # type: ignore[arg-type]
    return total, len(X)


def require_few_rows(rows: int | None, most: int) -> None:
    """Refuse rows whose kernel matrix would take too long."""
    if rows is None or rows > most:
        raise ValueError(
            f"The likelihood of rows takes the cube of their number in time, for up to "
            f"likelihood_rows={most:,} rows; got {'a stream' if rows is None else f'{rows:,}'}. "
            "Raise likelihood_rows, or give variance='features'."
        )


@dataclass(frozen=True, eq=False)
class ProcessHyperparameters:
    """An amplitude, a noise variance, and scales by which columns are divided."""

    amplitude: float
    noise: float
    scales: NDArray[np.float64]

    @property
    def logarithms(self) -> NDArray[np.float64]:
        """The logarithms of amplitude, noise and scales, in this order."""
        return np.log([self.amplitude, self.noise, *self.scales])


def maximize_likelihood(
    likelihood: ExactLikelihood,
    guess: ProcessHyperparameters,
    free: NDArray[np.bool_],
    until: float = inf,
) -> ProcessHyperparameters:
    """Return the hyperparameters of a local maximum, from the best of several starting points.

    `free` says which of amplitude, noise and scales may change; its last entry, whether all scales
    change by one common factor. By L-BFGS within bounds on the logarithms (Zhu, Byrd, Lu and
    Nocedal 1997, Algorithm 778: L-BFGS-B). After the time `until` the best so far are returned.
    """
    separate, together = free[:-1], bool(free[-1])
    if not (separate.any() or together):
        return guess
    start, moves = guess, _directions(separate, together)
    with abandonable(after(until)):
        start = _best_start(likelihood, guess, separate, together)
    origin = start.logarithms
    best, least = np.zeros(moves.shape[1]), inf

    def objective(t: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        nonlocal best, least
        point = np.exp(origin + moves @ t)
        value, gradient = likelihood.with_gradient(point[0], point[1], point[2:])
        if -value < least:
            best, least = t.copy(), -value
        return -value, -(gradient @ moves)

    bounds = _bounds(origin, moves)
    with abandonable(after(until)):
        tolerance = {"maxiter": STEPS, "ftol": TOLERANCE * _per_row(likelihood, start)}
        best = minimize(
            objective, np.zeros(moves.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B",
            options=tolerance,
        ).x  # fmt: skip
    point = np.exp(origin + moves @ best)
    return ProcessHyperparameters(float(point[0]), float(point[1]), point[2:])


def _best_start(
    likelihood: ExactLikelihood,
    guess: ProcessHyperparameters,
    free: NDArray[np.bool_],
    together: bool,
) -> ProcessHyperparameters:
    """Return the best of several starting points, on few rows."""
    few = likelihood.subset(slice(None, None, -(-len(likelihood.X) // FEW_ROWS)))
    moving = together or bool(free[2:].any())
    noises = FIRST_NOISES if free[1] else (guess.noise,)
    found = [
        replace(guess, noise=noise, scales=guess.scales * factor)
        for factor in (FIRST_SCALES if moving else (1.0,))
        for noise in noises
    ]
    return max(found, key=lambda hyper: few(hyper.amplitude, hyper.noise, hyper.scales))


def _directions(free: NDArray[np.bool_], together: bool) -> NDArray[np.float64]:
    """Return the directions, as columns, in which the logarithms may change."""
    moves = np.eye(len(free))[:, free]
    if together:
        common = np.zeros((len(free), 1))
        common[2:] = 1.0
        moves = np.hstack([moves, common])
    return moves


def _bounds(origin: NDArray[np.float64], moves: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the bounds of the change along each direction."""
    low, high = origin - np.log(SCALES), origin + np.log(SCALES)
    low[:2], high[:2] = np.log([AMPLITUDES, NOISES]).T
    places = moves.argmax(axis=0)
    away = zip(low[places] - origin[places], high[places] - origin[places], strict=True)
    return [(min(float(a), 0.0), max(float(b), 0.0)) for a, b in away]


def _per_row(likelihood: ExactLikelihood, start: ProcessHyperparameters) -> float:
    """Return the factor from a tolerance per row to scipy's relative tolerance."""
    value = abs(likelihood(start.amplitude, start.noise, start.scales))
    return likelihood.y.size / max(value, float(likelihood.y.size))
