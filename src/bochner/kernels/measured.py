"""Measured: a kernel of a length measured in bandwidths, and the median rule for that bandwidth."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import Kernel, positive
from bochner.kernels.rows import Array, Rows, checked_rows

MEDIAN_ROWS = 1000


class Measured(Kernel):
    """A kernel of a length of two rows divided by a bandwidth.

    The bandwidth is a number, or "median": `multiplier` times the median of the positive lengths
    among at most 1,000 rows of the sample, and `multiplier` itself where there is none. A bandwidth
    given as a number is taken as it is: the multiplier is for the median only. `rules` are the
    words that may stand for a number.
    """

    bandwidth: float | str
    multiplier: float
    rules: ClassVar[tuple[str, ...]] = ("median",)

    @abstractmethod
    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return what the bandwidth divides, of few rows."""

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        name, rules = type(self).__name__, "".join(f' or "{rule}"' for rule in self.rules)
        if not (isinstance(self.bandwidth, str) and self.bandwidth in self.rules):
            positive(self.bandwidth, f"The bandwidth of {name}", rules)
        positive(self.multiplier, f"The multiplier of {name}")

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy whose bandwidth is a number."""
        self.check()
        if not isinstance(self.bandwidth, str):
            return replace(self)  # type: ignore[type-var]
        return replace(self, bandwidth=self.multiplier * self._median(X, rng))  # type: ignore[type-var]

    def _median(self, X: Rows, rng: Random) -> float:
        X = checked_rows(X)
        self.require(X)
        some = _some(X, rng).astype(np.float64)
        lengths = self.lengths(some, some)[np.triu_indices(some.shape[0], 1)]
        lengths = lengths[lengths > 0]
        return float(np.median(lengths)) if len(lengths) else 1.0

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
