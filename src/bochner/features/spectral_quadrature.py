"""Few frequencies and weights that stand for the spectrum of an additive kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bochner.compute.blas import single_blas
from bochner.kernels.histogram import Additive

ROWS = 64  # of the sample, between all of which the kernel is to be right
STEPS = np.geomspace(0.4, 6.0, 24)  # times 1 / sqrt(frequencies); wide spectra want long ones
MANY = 24  # pairs, from which on fewer steps are tried, since each takes longer
MOST = 64  # pairs: more help no smooth signature, whose error is that of rounding by then
ROUNDING = 1e-14  # an error that no other step can better

# What few rows leave open, all entries being alike for instance, the signature decides, where
# z = log(x / y) has the spread that it has between entries of an exponential distribution.
PRIOR, KNOTS = 0.01, 160
Z = np.linspace(0, 16.0, KNOTS)


class Quadrature(NamedTuple):
    """Frequencies 0, step, 2 step, ..., and the share of the spectrum that each stands for."""

    frequencies: NDArray[np.float64]
    weights: NDArray[np.float64]


def quadrature(kernel: Additive, rows: NDArray[np.float64], pairs: int) -> Quadrature:
    """Return frequencies j step, j = 0, ..., pairs, and weights w_j >= 0 that suit these rows.

    sum_j w_j cos(j step z) is to be K(z). Vedaldi and Zisserman (2012, section 4.2) take w_j from
    the density at j step, which is a sum by rectangles. Here the weights are those of least squares
    for the kernel's values between the rows, and the step is the best of some; weights from 0 on
    keep the approximate kernel positive.
    """
    factors = STEPS[:: 1 if pairs < MANY else 3] if pairs else STEPS[:1]
    numbers, wanted = np.arange(pairs + 1.0), Wanted.of(kernel, rows)
    best, least = Quadrature(numbers, np.zeros(pairs + 1)), np.inf
    with single_blas():  # the same bits for any number of threads
        for step in factors / np.sqrt(pairs + 1):
            weights, error = wanted.weights(step * numbers)
            if error < least:
                best, least = Quadrature(step * numbers, weights), error
            if error < ROUNDING:
                break
    return best


@dataclass(frozen=True, eq=False)
class Wanted:
    """The values that waves are to have: between rows, and a little at the knots of a prior."""

    roots: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    size: float
    mass: NDArray[np.float64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, kernel: Additive, rows: NDArray[np.float64]) -> Wanted:
        """Take them from the kernel; rows of zeros alone are left to the prior."""
        K, mass = kernel(rows).reshape(-1), PRIOR * np.cosh(Z / 2) ** -2 / np.sqrt(KNOTS)
        size = float(np.linalg.norm(K))
        values = np.concatenate([K / (size or 1.0), kernel.signature(Z) * mass])
        logarithms = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
        return cls(np.sqrt(rows), logarithms, size or 1.0, mass, values)

    def weights(self, frequencies: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the weights of least squares for these frequencies and the error they leave."""
        waves = np.stack([self.wave(omega) for omega in frequencies], axis=1)
        Q, R = np.linalg.qr(waves)
        weights = _non_negative(R, self.values @ Q)
        return weights, float(np.linalg.norm(waves @ weights - self.values))

    def wave(self, omega: float) -> NDArray[np.float64]:
        """Return sum_j sqrt(x_j y_j) cos(omega log(x_j / y_j)) between rows, and cos(omega z)."""
        phases = omega * self.logarithms
        cosines, sines = self.roots * np.cos(phases), self.roots * np.sin(phases)
        between = (cosines @ cosines.T + sines @ sines.T).reshape(-1) / self.size
        return np.concatenate([between, np.cos(omega * Z) * self.mass])


def _non_negative(R: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return least squares weights from 0 on; those of the lower half if all do not converge."""
    try:
        return np.asarray(nnls(R, target, maxiter=100 * len(R))[0])
    except RuntimeError:  # frequencies lie so close that rounding decides which are of use
        half = R.shape[1] // 2
        return np.append(_non_negative(R[:, :half], target), np.zeros(R.shape[1] - half))
