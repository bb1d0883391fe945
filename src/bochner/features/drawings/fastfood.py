"""Fastfood frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.features.drawings.hadamard import HadamardDrawing, signs


@dataclass
class Fastfood(HadamardDrawing, name="fastfood"):
    """Frequencies L H G P H B, applied by fast transforms.

    H is a Hadamard matrix, B has random signs and G normal numbers on its diagonal, P is a random
    permutation, and L gives each frequency its length (Le, Sarlos and Smola 2013, Fastfood:
    approximating kernel expansions in loglinear time, where L is called S; there it has the lengths
    of the Gaussian kernel, here of any mixture of Gaussians). A row of n columns takes n log n
    operations for n frequencies, instead of n^2, and no matrix is kept. Each frequency is normal,
    but those of a block depend on each other: the variance is up to twice that of independent ones.
    `StructuredOrthogonal` has the smaller one, and takes half as long again.
    """

    stages: ClassVar[int] = 2

    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return B and G, divided by its norm, and P."""
        normal = rng.normal(n)
        # The rows of H G P H B have the length sqrt(n) |G|.
        diagonals = np.stack([signs((n,), rng), normal / np.linalg.norm(normal)])
        return diagonals, rng.permutation(n)[None]
