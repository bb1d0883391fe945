"""The Jensen-Shannon kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term
from bochner.kernels.additive import Additive, Sums
from bochner.kernels.against import Against
from bochner.kernels.rows import Rows

HIGHEST, KNOTS = 12.0, 16_385  # of the tabulated spectrum: 1e-18 of it lies beyond


@dataclass
class JensenShannon(Additive, name="jensen_shannon"):
    """The Jensen-Shannon kernel, from the mean of two relative entropies.

    k(a, b) = sum_j a_j / 2 log2((a_j + b_j) / a_j) + b_j / 2 log2((a_j + b_j) / b_j), which is
    (|a|_1 + |b|_1) / 2 minus the Jensen-Shannon divergence in bits. Its signature is
    e^(z/2) / 2 log2(1 + e^-z) + e^(-z/2) / 2 log2(1 + e^z), and its spectrum has the density
    2 / (log(4) cosh(pi omega) (1 + 4 omega^2)) (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Figure 1).

    Examples
    --------
    >>> JensenShannon()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6887]])
    """

    distance: ClassVar[Term] = Term.DIVERGENCE

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side."""
        return Sums.of(Term.ENTROPY, B)

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return e^(z/2) / 2 log2(1 + e^-z) + e^(-z/2) / 2 log2(1 + e^z)."""
        z = np.abs(z)
        fall = np.exp(-z / 2)
        near = np.log1p(fall**2)  # log(1 + e^-z), which e^(z/2) multiplies
        return np.asarray((near / fall + fall * (z + near)) / (2 * np.log(2)))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a table of the distribution says, between whose knots it is a line."""
        return np.interp(shares, *_distribution())


@cache
def _distribution() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shares and frequencies; squared knots lie closer where the density is high."""
    omega = HIGHEST * np.linspace(0, 1, KNOTS) ** 2
    density = 1 / (np.cosh(np.pi * omega) * (1 + 4 * omega**2))
    pieces = np.diff(omega) * (density[1:] + density[:-1]) / 2
    shares = np.concatenate([[0.0], np.cumsum(pieces)])
    return shares / shares[-1], omega
