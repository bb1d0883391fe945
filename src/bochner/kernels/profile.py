"""Profile: a radial kernel that is one function of the distance in bandwidths."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bochner.kernels.against import Against
from bochner.kernels.distances import Distances
from bochner.kernels.radial import Radial
from bochner.kernels.rows import Array, Rows


class Profile(Radial):
    """A kernel k(a, b) = profile(factor * distance(a, b)), its `metric` being the distance."""

    metric: ClassVar[type[Distances]]

    @property
    @abstractmethod
    def factor(self) -> float:
        """What distances are multiplied by before the profile sees them."""

    @abstractmethod
    def profile(self, z: Array) -> None:
        """Replace each multiplied distance by the value of the kernel."""

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the profile of the distances."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.against(B).fill(A, 0, B.shape[0], out)
        return out

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the distances prepared."""
        return ProfileAgainst(self, self.metric(B))


@dataclass(frozen=True, eq=False)
class ProfileAgainst(Against):
    """The profile of prepared distances."""

    kernel: Profile
    distances: Distances

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write distances and replace them by values."""
        self.distances.fill(A, start, stop, self.kernel.factor, out)
        self.kernel.profile(out)
