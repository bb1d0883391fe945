"""Penalty: what weights cost, by their absolute values and by their squares."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARES = {"l1": 1.0, "l2": 0.0}


@dataclass(frozen=True)
class Penalty:
    """The elastic net: l1 |w|_1 + l2/2 |w|^2 (Zou and Hastie 2005, section 2).

    Parameters
    ----------
    l1, l2 : float
        Factors from 0 on.

    Examples
    --------
    >>> Penalty.of("l1", 0.5)
    Penalty(l1=0.5, l2=0.0)
    >>> Penalty.of(0.5, 2.0).value(np.array([[3.0], [-1.0]]))
    9.0
    """

    l1: float
    l2: float

    @classmethod
    def of(cls, given: Any, alpha: float) -> Penalty:
        """Return alpha times "l1", "l2", or a mixture with this share of L1."""
        share = share_of_l1(given)
        return cls(alpha * share, alpha * (1.0 - share))

    def value(self, weights: NDArray[np.float64]) -> float:
        """Return what all weights cost."""
        return float(self.each(weights).sum())

    def each(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each weight costs."""
        return self.l1 * np.abs(weights) + 0.5 * self.l2 * weights * weights


def share_of_l1(given: Any) -> float:
    """Return how much of a penalty is L1, between 0 and 1."""
    if isinstance(given, str) and given in SHARES:
        return SHARES[given]
    if isinstance(given, Real) and not isinstance(given, bool) and 0.0 <= float(given) <= 1.0:
        return float(given)
    raise ValueError(
        "penalty must be 'l1', 'l2', or the share of L1 in a mixture, a number between 0 and 1; "
        f"got {given!r}."
    )
