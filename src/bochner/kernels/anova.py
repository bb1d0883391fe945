"""The ANOVA kernel: a Laplacian kernel of random subsets of the columns, on average."""

from __future__ import annotations

from dataclasses import dataclass
from math import ldexp

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import subset_products
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import manhattan
from bochner.kernels.histogram import for_loops
from bochner.kernels.kernel import Separable
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.radial import MULTIPLIER, Radial, unusual_exponent
from bochner.kernels.rows import Array, Rows, dense, times_power_of_two
from bochner.validation import is_number


@dataclass
class Anova(Radial, Separable, name="anova"):
    """The ANOVA kernel, k(a, b) = prod_j (1 - share + share exp(-|a_j - b_j| / bandwidth)).

    It is the mean of exp(-sum_{j in S} |a_j - b_j| / bandwidth) over random subsets S of the
    columns, which have each column with probability `share`: a smaller share gives interactions of
    many columns less weight (Stitson, Gammerman, Vapnik, Vovk, Watkins and Weston 1999, Support
    vector regression with ANOVA decomposition kernels, where the factors are 1 + k_j). With
    share = 1 it is the Laplacian kernel.

    Its frequencies are those of the Laplacian kernel, each 0 with probability 1 - share. In random
    binning a grid ignores the columns that are not in its subset.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The distance along one column at which its factor is 1 - share + share exp(-1); "median"
        takes it from the data, "auto" from held-out rows of a fit.
    share : float
        The expected share of the columns in a subset, above 0 and at most 1.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

    Examples
    --------
    >>> Anova(bandwidth=2.0, share=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, -1.0]]).round(4)
    array([[1.    , 0.6452]])
    """

    bandwidth: float | str = "median"
    share: float = 0.7
    multiplier: float = MULTIPLIER

    def check(self) -> None:
        """Raise a ValueError unless all parameters can be used."""
        super().check()
        if not (is_number(self.share) and 0 < self.share <= 1):
            raise ValueError(
                "The share of columns of Anova must be a number above 0 and at most 1; got "
                f"{self.share!r}. At 1 it is the Laplacian kernel."
            )

    def distances(self, A: Rows, B: Rows) -> Array:
        """Return |a - b|_1."""
        return manhattan(A, B)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B."""
        exponent = unusual_exponent(self._number())
        rows = times_power_of_two(B, -exponent)
        slope = ldexp(1 / self._number(), exponent)
        return PreparedAnova((self.share, slope), exponent, for_loops(dense(rows).T))

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Cauchy frequencies, or 0 for columns that are not in the subset."""
        drawn = rng.cauchy((n_columns, size)) / self._number()
        return np.where(rng.uniform((n_columns, size)) < self.share, drawn, 0.0)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw Gamma(2, bandwidth) pitches, infinite for columns that are not in the subset."""
        drawn = rng.gamma(2, (n_columns, size)) * self._number()
        return np.where(rng.uniform((n_columns, size)) < self.share, drawn, np.inf)


@dataclass(frozen=True, eq=False)
class PreparedAnova(PreparedKernel):
    """The ANOVA kernel of rows with fixed rows, both divided by 2^exponent."""

    factors: tuple[float, float]
    exponent: int
    transposed: Array

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the products over the columns."""
        rows = for_loops(dense(times_power_of_two(A, -self.exponent)))
        subset_products(self.factors, rows, self.transposed, start, out)
