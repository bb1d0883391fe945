"""Hellinger's kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term
from bochner.kernels.additive import Additive
from bochner.kernels.against import Against
from bochner.kernels.rows import Array, Rows, alike, dense


@dataclass
class Hellinger(Additive, name="hellinger"):
    """Hellinger's kernel, also Bhattacharyya's, k(a, b) = sum_j sqrt(a_j b_j).

    Its signature is 1, so its spectrum is all at 0: the roots of the entries are its features
    (Vedaldi and Zisserman 2012, Efficient additive kernels via explicit feature maps).

    Examples
    --------
    >>> Hellinger()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.7071]])
    """

    distance: ClassVar[Term] = Term.ROOTS

    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1."""
        return np.ones_like(z)

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 0."""
        return np.zeros_like(shares)

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the roots of B."""
        return RootProducts(_roots(B))


@dataclass(frozen=True, eq=False)
class RootProducts(Against):
    """Products of the roots of rows with rows that are roots already."""

    roots: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products."""
        out[...] = dense(_roots(alike(A, self.roots)) @ self.roots[start:stop].T)


def _roots(X: Rows) -> Rows:
    return X.sqrt() if sp.issparse(X) else np.sqrt(X)
