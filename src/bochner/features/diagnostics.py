"""BinningDiagnostics: how finely grids cut the rows, and what that promises."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features.binning_basis import BinningBasis


@dataclass(frozen=True)
class BinningDiagnostics:
    """What Wu, Yen et al. 2016 look at in random binning features.

    Parameters
    ----------
    bins, grids : int
        D, the number of columns, and R, the number of grids.
    kappa : float
        The mean over the grids of 1 / (largest share of rows in one bin), Definition 1 and
        Eq. (10): the larger, the faster the convergence, O(1 / (kappa R)).

    Examples
    --------
    >>> diagnostics = BinningDiagnostics(bins=1_001, grids=11, kappa=20.0)
    >>> diagnostics.bins_per_grid, diagnostics.speedup(threads=11)
    (91.0, 10.0)
    """

    bins: int
    grids: int
    kappa: float

    @classmethod
    def of(cls, basis: BinningBasis, counts: NDArray[Any]) -> BinningDiagnostics:
        """Return those of a basis, given how many rows lie in each of its bins."""
        grids = [counts[a:b] for a, b in pairwise(basis.starts) if a < b]
        kappas = [float(rows.sum(dtype=np.float64) / max(rows.max(), 1)) for rows in grids]
        return cls(basis.size, len(basis.grids), float(np.mean(kappas)) if kappas else 0.0)

    @property
    def bins_per_grid(self) -> float:
        """D / R."""
        return self.bins / self.grids

    @property
    def collision_probability(self) -> float:
        """The mean share of rows in a bin, Eq. (9): every row has one bin in each grid, so R/D."""
        return self.grids / max(self.bins, 1)

    def speedup(self, threads: int) -> float:
        """Return the speed-up of parallel coordinate descent that Eq. (29) promises."""
        if self.bins < 2:
            return 1.0
        return threads / (1 + (self.grids - 1) * (threads - 1) / (self.bins - 1))
