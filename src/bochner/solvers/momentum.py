"""Momentum: accelerated stochastic steps whose gradients are taken ahead."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Momentum:
    """w' = u - rate g, u' = w' + share (w' - w) + correction rate g, g the gradient at u.

    Without the correction these are Nesterov's steps, which need not accelerate stochastic
    gradients. With L = beta / m + (1 - 1/m) top, kappa = L / mu and the statistical condition
    number kappa_m = n / m + (m - 1) / m, the share is (s - 1) / (s + 1) and the correction
    s / (s + 1) (1 - 1 / kappa_m), s = sqrt(kappa kappa_m) (Liu and Belkin 2020, Accelerating SGD
    with momentum for over-parameterized learning, Eq. 5 and Theorem 2; AxlePro is this with the
    preconditioner of EigenPro).
    """

    share: float = 0.0
    correction: float = 0.0

    @classmethod
    def of(cls, beta: float, top: float, batch: int, rows: int) -> Momentum:
        """Return the values for a batch; mu is taken as top / n, below which no row is fitted."""
        smoothness = beta / batch + (1 - 1 / batch) * top
        condition = smoothness * rows / top
        spread = rows / batch + (batch - 1) / batch
        s = sqrt(condition * spread)
        return cls((s - 1) / (s + 1), s / (s + 1) * (1 - 1 / spread))

    def ahead(self, now: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
        """Return where the next gradient is taken, before the correction."""
        return np.asarray(now + self.share * (now - before))
