"""The chi squared kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term
from bochner.kernels.additive import Additive, Sums
from bochner.kernels.against import Against
from bochner.kernels.rows import Rows


@dataclass
class ChiSquared(Additive, name="chi_squared"):
    """The chi squared kernel, k(a, b) = sum_j 2 a_j b_j / (a_j + b_j).

    It is (|a|_1 + |b|_1 - chi^2) / 2 with chi^2 = sum_j (a_j - b_j)^2 / (a_j + b_j). Its signature
    is 1 / cosh(z / 2), and its spectrum has the density 1 / cosh(pi omega) (Vedaldi and Zisserman
    2012, Efficient additive kernels via explicit feature maps, Figure 1).

    Examples
    --------
    >>> ChiSquared()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6667]])
    """

    distance: ClassVar[Term] = Term.CHI_SQUARED

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side."""
        return Sums.of(Term.HARMONIC, B)

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 / cosh(z / 2)."""
        return np.asarray(1 / np.cosh(z / 2))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return arsinh(tan(pi u / 2)) / pi, as the shares u are 4 / pi arctan(e^(pi w)) - 1."""
        return np.asarray(np.arcsinh(np.tan(np.pi / 2 * shares)) / np.pi)
