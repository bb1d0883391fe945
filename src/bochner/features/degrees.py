"""Degrees: a law by which random functions get the degree of a term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.features.random_functions import UNIT


@dataclass(frozen=True, eq=False)
class Degrees:
    """Probabilities of the degrees 0, 1, 2, ...

    A unit has its share of every degree, up to one function, at random places (systematic
    sampling: Madow and Madow 1944, On the theory of systematic sampling). The degree of a single
    function has the law, and units differ less than with independent degrees.
    """

    probabilities: NDArray[np.float64]

    def draw(self, rng: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the degrees of a unit, falling, and the place of each among its functions."""
        ends = np.cumsum(self.probabilities)
        marks = (np.arange(UNIT) + rng.uniform(1)) / UNIT
        rising = np.searchsorted(ends / ends[-1], marks, side="right")
        return rising[::-1].astype(np.int64), rng.permutation(UNIT)

    @property
    def mean(self) -> float:
        """The mean degree."""
        return float(self.probabilities @ np.arange(len(self.probabilities)))
