"""Independent frequencies."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.compute.random.counter_based import Random
from bochner.features.drawings.drawing import MatrixDrawing
from bochner.kernels import ShiftInvariant


@dataclass
class Plain(MatrixDrawing, name="plain"):
    """Independent frequencies, for every shift-invariant kernel.

    Rahimi and Recht 2007, Random features for large-scale kernel machines, Algorithm 1.
    """

    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return the random numbers as they are."""
        return rng
