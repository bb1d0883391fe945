"""StratifiedRandom: random numbers of which every stretch of their law gets its share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random import Random, Shape, gamma_quantiles


class StratifiedRandom(Random):
    """A stream in which n uniform numbers lie in n equal intervals, one in each, in random order.

    Each of them is uniform by itself, and sums over them vary less; those of two calls are
    independent in their order (McKay, Beckman and Conover 1979, A comparison of three methods for
    selecting values of input variables in the analysis of output from a computer code: Latin
    hypercube sampling). Exponential, Cauchy and Gamma numbers are made of them by inverse
    distribution functions; normal ones are independent.

    Parameters
    ----------
    rng : Random
        The stream that is used up.
    """

    def __init__(self, rng: Random) -> None:
        self.seed, self.path, self.bits = rng.seed, rng.path, rng.bits
        self.rng = rng

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers in (0, 1), one in each of as many intervals."""
        within = self.rng.uniform(shape)
        places = self.rng.permutation(within.size).reshape(within.shape)
        return np.minimum((places + within) / max(within.size, 1), 1 - 2.0**-53)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return independent normal numbers."""
        return self.rng.normal(shape)

    def gamma(self, shape_parameter: float, shape: Shape) -> NDArray[np.float64]:
        """Return Gamma(shape_parameter, scale 1) numbers."""
        return gamma_quantiles(shape_parameter, self.uniform(shape))
