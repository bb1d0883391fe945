"""The intersection kernel."""

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
class Intersection(Additive, name="intersection"):
    """The intersection of histograms, k(a, b) = sum_j min(a_j, b_j).

    Its signature is exp(-|z| / 2), and its spectrum is Cauchy with scale 1/2, of the density
    2 / (pi (1 + 4 omega^2)) (Vedaldi and Zisserman 2012, Efficient additive kernels via explicit
    feature maps, Figure 1).

    Examples
    --------
    >>> Intersection()([[0.5, 0.5]], [[0.5, 0.5], [0.8, 0.2]]).round(4)
    array([[1. , 0.7]])
    """

    distance: ClassVar[Term] = Term.ABSOLUTE

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the rows of B side by side."""
        return Sums.of(Term.MINIMUM, B)

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp(-|z| / 2)."""
        return np.asarray(np.exp(-np.abs(z) / 2))

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tan(pi u / 2) / 2."""
        return np.asarray(np.tan(np.pi / 2 * shares) / 2)
