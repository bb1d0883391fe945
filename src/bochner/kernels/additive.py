"""Additive: sums over the columns of a kernel of two numbers, and the spectrum of that kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term, pairwise_sums
from bochner.compute.random.counter_based import Random
from bochner.kernels.against import Against
from bochner.kernels.histogram import Histogram
from bochner.kernels.rows import Array, Rows, checked_rows, dense


class Additive(Histogram):
    """An additive homogeneous kernel, k(a, b) = sum_j t(a_j, b_j) with t(c x, c y) = c t(x, y).

    t(x, y) = sqrt(x y) K(log(x / y)), and the signature K is the characteristic function of a
    spectrum: K(z) = E cos(omega z), K(0) = 1 (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Figure 1). So k(a, a) is the sum of the entries. `distance`
    is x + y - 2 t(x, y).
    """

    distance: ClassVar[Term]

    @abstractmethod
    def signature(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K(z) at z = log(x / y)."""

    @abstractmethod
    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the frequencies |omega| below which these shares of the spectrum lie."""

    def check(self) -> None:
        """Do nothing: there are no parameters."""

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        return replace(self)  # type: ignore[type-var]

    def squared_distances(self, B: Rows) -> Sums:
        """Return k(., .) + k(b, b) - 2 k(., b) for the rows b of `B`, by its own formula."""
        return Sums.of(self.distance, B)

    def diagonal(self, A: Rows) -> Array:
        """Return the sum of each row's entries."""
        A = checked_rows(A)
        return np.asarray(A.sum(axis=1)).reshape(-1).astype(A.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Sums(Against):
    """Sums over columns of t(a_j, b_j) against rows that stay."""

    term: Term
    transposed: Array

    @classmethod
    def of(cls, term: Term, B: Rows) -> Sums:
        """Prepare the rows `B`."""
        return cls(term, _loose(dense(B).T))

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the sums."""
        pairwise_sums(self.term, _loose(dense(A)), self.transposed, start, out)


def _loose(X: Array) -> Array:
    """Return the array as compiled loops take it: in order, and not read-only."""
    return np.require(X, requirements=["C", "W"])
