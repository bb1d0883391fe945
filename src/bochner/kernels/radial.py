"""Radial: a kernel of a distance measured in bandwidths, and the median rule for that bandwidth."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Self

import numpy as np

from bochner.compute.random import Random
from bochner.kernels.kernel import ShiftInvariant, positive
from bochner.kernels.rows import Array, Rows, centred, checked_rows, mean

MEDIAN_ROWS = 1000


class Radial(ShiftInvariant):
    """A kernel of |a - b| / bandwidth in a norm of its own, 1 at 0.

    The bandwidth is a number, or "median": `multiplier` times the median of the non-zero
    distances among at most 1,000 rows of the sample, and `multiplier` itself where all rows are
    equal. A bandwidth given as a number is taken as it is: the multiplier is for the median only.
    "auto" leaves it to a machine that has targets and can try some on held-out rows.
    """

    bandwidth: float | str
    multiplier: float

    @abstractmethod
    def distances(self, A: Rows, B: Rows) -> Array:
        """Return the distances in the norm of this kernel, of few rows centred or sparse."""

    @property
    def variance(self) -> float:
        """The value at 0, which is 1."""
        return 1.0

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        name = type(self).__name__
        if not (isinstance(self.bandwidth, str) and self.bandwidth in ("median", "auto")):
            positive(self.bandwidth, f"The bandwidth of {name}", ', "median" or "auto"')
        positive(self.multiplier, f"The multiplier of {name}")

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        self.check()
        if not isinstance(self.bandwidth, str):
            return replace(self)  # type: ignore[type-var]
        if self.bandwidth == "auto":
            raise ValueError(
                f"{self!r} leaves its bandwidth to held-out rows. That is for a machine with "
                "targets, KernelClassifier for one, of which it is the whole kernel. Give a "
                'number, or "median".'
            )
        return replace(self, bandwidth=self.multiplier * self._median(X, rng))  # type: ignore[type-var]

    def _median(self, X: Rows, rng: Random) -> float:
        sample = _some(checked_rows(X), rng).astype(np.float64)
        sample = centred(sample, mean(sample))
        distances = self.distances(sample, sample)[np.triu_indices(sample.shape[0], 1)]
        distances = distances[distances > 0]
        return float(np.median(distances)) if len(distances) else 1.0

    def _number(self) -> float:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{self!r} needs a bandwidth that is a number before it can be evaluated; got "
                f"{self.bandwidth!r}. Give a number, or take kernel.resolved(X, rng), which "
                "measures the median on the rows X."
            )
        return float(self.bandwidth)


def _some(X: Rows, rng: Random) -> Rows:
    """Return at most `MEDIAN_ROWS` of the rows, drawn without replacement."""
    if X.shape[0] <= MEDIAN_ROWS:
        return X
    return X[np.sort(rng.permutation(X.shape[0])[:MEDIAN_ROWS])]
