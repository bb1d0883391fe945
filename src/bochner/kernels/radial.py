"""Radial: a kernel of the norm of a difference measured in bandwidths."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import ShiftInvariant
from bochner.kernels.measured import Measured
from bochner.kernels.rows import Array, Rows, centred, mean


class Radial(Measured, ShiftInvariant):
    """A kernel of |a - b| / bandwidth in a norm of its own, 1 at 0.

    A bandwidth "auto" is left to a machine that has targets and can try some on held-out rows.
    """

    rules: ClassVar[tuple[str, ...]] = ("median", "auto")

    @abstractmethod
    def distances(self, A: Rows, B: Rows) -> Array:
        """Return the distances in the norm of this kernel, of few rows centred or sparse."""

    @property
    def variance(self) -> float:
        """The value at 0, which is 1."""
        return 1.0

    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return the distances."""
        centre = mean(A)
        return self.distances(centred(A, centre), centred(B, centre))

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "auto":
            raise ValueError(
                f"{self!r} leaves its bandwidth to held-out rows. That is for a machine with "
                "targets, KernelClassifier for one, of which it is the whole kernel. Give a "
                'number, or "median".'
            )
        return super().resolved(X, rng)
