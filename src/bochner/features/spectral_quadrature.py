"""Few frequencies and weights that stand for the spectrum of an additive kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bochner.compute.blas import single_blas
from bochner.kernels.additive import Additive

ROWS = 64  # of the sample, between all of which the kernel is to be right
STEPS = np.geomspace(0.4, 6.0, 24)  # times 1 / sqrt(frequencies); wide spectra want long ones
MANY = 24  # pairs, from which on fewer steps are tried, since each takes longer

# What few rows leave open, all entries being alike for instance, the signature decides, where
# z = log(x / y) has the spread that it has between entries of an exponential distribution.
PRIOR, REACH, KNOTS = 0.01, 16.0, 160


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
    numbers, found = np.arange(pairs + 1), []
    with single_blas():  # the same bits for any number of threads
        for step in factors / np.sqrt(pairs + 1):
            weights, error = _least_squares(kernel, rows, step * numbers)
            found.append((error, Quadrature(step * numbers, weights)))
    return min(found, key=lambda each: each[0])[1]


def _least_squares(
    kernel: Additive, rows: NDArray[np.float64], frequencies: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return the weights and the error that they leave."""
    values, target = np.zeros((0, len(frequencies))), kernel(rows).reshape(-1)
    size = float(np.linalg.norm(target))
    if size > 0:
        values = np.stack([_waves(rows, omega).reshape(-1) for omega in frequencies], axis=1) / size
    z = np.linspace(0, REACH, KNOTS)
    mass = PRIOR * np.cosh(z / 2) ** -2 / np.sqrt(KNOTS)
    prior = np.cos(np.outer(z, frequencies)) * mass[:, None]
    wanted = np.concatenate([target / size if size > 0 else target[:0], kernel.signature(z) * mass])
    Q, R = np.linalg.qr(np.concatenate([values, prior]))
    weights = nnls(R, wanted @ Q, maxiter=100 * len(R))[0]
    return weights, float(np.linalg.norm(np.concatenate([values, prior]) @ weights - wanted))


def _waves(rows: NDArray[np.float64], omega: float) -> NDArray[np.float64]:
    """Return sum_j sqrt(x_j y_j) cos(omega log(x_j / y_j)) between all rows."""
    roots, phases = np.sqrt(rows), omega * np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    cosines, sines = roots * np.cos(phases), roots * np.sin(phases)
    return np.asarray(cosines @ cosines.T + sines @ sines.T)
