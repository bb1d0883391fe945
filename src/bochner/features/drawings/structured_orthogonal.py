"""Structured orthogonal frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.features.drawings.hadamard import HadamardDrawing, signs


@dataclass
class StructuredOrthogonal(HadamardDrawing, name="structured_orthogonal"):
    """Frequencies L H D_3 H D_2 H D_1, orthogonal ones that are applied by fast transforms.

    H is a Hadamard matrix and the D have random signs on their diagonals, so that H D_3 H D_2 H D_1
    has orthogonal rows, which for many columns are nearly uniform (Yu, Suresh, Choromanski,
    Holtmann-Rice and Kumar 2016, Orthogonal random features, section 4). There all lengths are
    sqrt(n); here L has the lengths of the kernel's own law, which is what few columns need.
    """

    stages: ClassVar[int] = 3

    def block(self, n: int, rng: Random) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return D_1, D_2 / sqrt(n), D_3 / sqrt(n); nothing is permuted."""
        diagonals = signs((3, n), rng)
        diagonals[1:] /= np.sqrt(n)  # H^3 has the length n^(3/2), and it is to be sqrt(n)
        return diagonals, np.tile(np.arange(n), (2, 1))
