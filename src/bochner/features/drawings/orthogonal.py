"""Orthogonal frequencies."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.compute.linear_algebra.hadamard import power_of_two
from bochner.compute.random.counter_based import Random
from bochner.compute.random.stratified import OrthogonalRandom
from bochner.features.drawings.drawing import PAIRS, MatrixDrawing
from bochner.kernels import NormalMixture, ShiftInvariant

LARGEST = 1024  # frequencies of a unit
FEW_COLUMNS = 3


@dataclass
class Orthogonal(MatrixDrawing, name="orthogonal"):
    """Frequencies of orthogonal directions, as many at a time as there are columns.

    omega_j = l_j q_j with orthonormal q_j, independent of the lengths l_j. Each is drawn from the
    spectral measure, but phi(x)'phi(y) has a smaller variance than with independent frequencies, by
    most if there are at least as many of them as columns (Yu, Suresh, Choromanski, Holtmann-Rice
    and Kumar 2016, Orthogonal random features). Of more than 1,024 columns 1,024 at a time are
    orthogonal. Random scales of a kernel are stratified, which the paper does not have.

    The kernel must be a mixture of Gaussians, as all kernels of the Euclidean distance are here, or
    be made of such kernels by sums, products, scales and maps; each part of it is then orthogonal
    by itself.
    """

    def pairs(self, n_columns: int) -> int:
        """Return the next power of two from the number of columns on, within bounds."""
        return min(LARGEST, max(PAIRS, power_of_two(n_columns)))

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether all kernels that it is made of are mixtures of Gaussians, or draw as these do."""
        if parts := [part for part in vars(kernel).values() if isinstance(part, ShiftInvariant)]:
            return all(map(self.takes, parts))
        return isinstance(kernel, NormalMixture) or self._draws(kernel)

    def _draws(self, kernel: ShiftInvariant) -> bool:
        try:
            self.check(kernel, FEW_COLUMNS)
        except ValueError:
            return False
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Draw one frequency: other kernels are refused there."""
        kernel.frequencies(n_columns, 1, self.numbers(kernel, 1, Random(0)))

    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return numbers whose normal vectors are orthogonal."""
        return OrthogonalRandom(rng, kernel)
