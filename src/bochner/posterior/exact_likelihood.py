"""ExactLikelihood: the density of targets under a Gaussian process, and its slopes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve
from bochner.kernels import Gaussian, ShiftInvariant

STEP = 1e-4  # of the logarithm of a scale
JITTER = 1e-10


@dataclass(frozen=True, eq=False)
class ExactLikelihood:
    r"""log N(y; 0, amplitude K + noise W^-1) of few rows, K = kernel(X / scales).

    With C the covariance and a = C^-1 y the slope along a parameter t is
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
        """Return the logarithm of the density."""
        return self._solved(amplitude * self._matrix(self.X / scales), noise)[0]

    def slopes(
        self, amplitude: float, noise: float, scales: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its slopes along the logarithms of amplitude, noise and scales."""
        rows = self.X / scales
        K = amplitude * self._matrix(rows)
        value, lower, a = self._solved(K.copy(), noise)
        inverse = solve(lower, np.eye(len(K)))
        T = a @ a.T - self.y.shape[1] * inverse
        of_noise = noise * float(T.diagonal() @ (1 / self.weight))
        T *= amplitude / 2
        along = self._along_scales(T, K / amplitude, rows)
        of_amplitude = float(np.vdot(T, K)) / amplitude
        return value, np.array([of_amplitude, of_noise / 2, *along])

    def some(self, rows: Any) -> ExactLikelihood:
        """Return the same on some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows])

    def _matrix(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.kernel.matrix(rows, rows), np.float64)

    def _solved(
        self, C: NDArray[np.float64], noise: float
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the value, the factor and C^-1 y; C comes without noise and is written over."""
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
            # dK_ij = K_ij (x_i - x_j)^2 / bandwidth^2, whose sum needs no array for each column.
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
