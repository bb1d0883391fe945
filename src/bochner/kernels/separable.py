"""Separable: kernels that are products over the columns, and the grids that belong to them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import Kernel


class Separable(Kernel):
    """A kernel k(a, b) = variance * prod_j k_j(|a_j - b_j|) with convex k_j, k_j(0) = 1.

    A column cut into intervals of width `pitch` at a random place leaves a_j and b_j together with
    probability max(0, 1 - |a_j - b_j| / pitch). If the pitch has the density pitch * k_j''(pitch),
    that probability is k_j on average (Rahimi and Recht 2007, Random features for large-scale
    kernel machines, section 4).
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The value at 0: k(a, a) of every row."""

    @property
    def has_pitches(self) -> bool:
        """Whether there is a law of pitches: one made of other kernels has it if they have."""
        return True

    @abstractmethod
    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the pitches of `size` grids, shape (n_columns, size)."""


def is_separable(kernel: Any) -> TypeGuard[Separable]:
    """Whether a kernel has a law of pitches."""
    return isinstance(kernel, Separable) and kernel.has_pitches


def separable(kernel: Any) -> Separable:
    """Return the kernel, or refuse one that has no law of pitches."""
    if is_separable(kernel):
        return kernel
    raise ValueError(
        "Random binning needs a kernel that is a product over the columns with a law of pitches: "
        "'laplacian', or sums, multiples and column scales (Stretched) of such kernels; got "
        f"{kernel!r}."
    )
