"""NormalMixture: a kernel that is a mean of Gaussian kernels of random bandwidths."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import euclidean
from bochner.kernels.profile import Profile
from bochner.kernels.rows import Array, Rows


class NormalMixture(Profile):
    """A kernel k(a, b) = E exp(-scale^2 |a - b|^2 / 2) with a random `scale`.

    Its frequencies are standard normal vectors times the scale: their directions are uniform, and
    the law of the scale does not depend on the number of columns. A function of |a - b| that is a
    kernel for any number of columns is of this form (Schoenberg 1938, Metric spaces and completely
    monotone functions, Theorem 2).
    """

    @abstractmethod
    def scales(self, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw scales, shape (size,)."""

    def distances(self, A: Rows, B: Rows) -> Array:
        """Return |a - b|."""
        return euclidean(A, B)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw normal vectors times scales."""
        normal = rng.normal((n_columns, size))
        return normal * self.scales(size, rng)
