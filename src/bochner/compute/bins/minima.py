"""Minimisers of quadratics with an elastic net penalty, one for each bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.segments import TILE_BINS, Table, each_bins
from bochner.compute.compiled import compiled

# Over-relaxation: below 2 a quadratic still decreases, and correlated blocks need half the passes
# (Young 1954, Iterative methods for solving partial difference equations).
RELAXATION = 1.5


@dataclass(frozen=True)
class Minimum:
    """New weights of bins, and the increase of each bin's penalty.

    `change` is the total change of g d + h d^2 / 2, and `steepest` the largest |g|.
    """

    weights: Table
    penalty_rise: NDArray[np.float64]
    change: float
    steepest: float

    @property
    def fall(self) -> float:
        """The decrease of quadratic plus penalty."""
        return -self.change - float(self.penalty_rise.sum())


def minimize_bins(sums: Table, weights: Table, l1: float, l2: float) -> Minimum:
    """Return for each bin the v that minimises g d + h d^2 / 2 + l1 |v| + l2 / 2 v^2, d = v - w.

    A weight that keeps its sign is over-relaxed by the factor `RELAXATION`. `sums` holds g and then
    h of each output.
    """
    target, penalty_rise = np.empty_like(weights), np.zeros(len(weights))
    changes = np.zeros((max(1, -(-len(weights) // TILE_BINS)), 2))

    def minimize(top: int, bottom: int) -> None:
        part, change = slice(top, bottom), changes[top // TILE_BINS]
        _minimize(sums[part], weights[part], l1, l2, target[part], penalty_rise[part], change)

    each_bins(minimize, len(weights))
    return Minimum(target, penalty_rise, float(changes[:, 0].sum()), float(changes[:, 1].max()))


@compiled(
    "void(float64[:, ::1], float64[:, ::1], float64, float64, float64[:, ::1], float64[::1], "
    "float64[::1])"
)
def _minimize(sums, weights, l1, l2, target, penalty_rise, changes):  # type: ignore[no-untyped-def]
    outputs = weights.shape[1]
    for b in range(weights.shape[0]):
        for k in range(outputs):
            g, h, w = sums[b, k], sums[b, outputs + k], weights[b, k]
            pull, stiffness, v = h * w - g, h + l2, 0.0
            if stiffness > 0 and abs(pull) > l1:
                v = (pull - l1 if pull > 0 else pull + l1) / stiffness
                further = w + RELAXATION * (v - w)
                if w * v > 0 and further * v > 0:
                    v = further
            d = v - w
            changes[0] += (g + 0.5 * h * d) * d
            changes[1] = max(changes[1], abs(g))
            penalty_rise[b] += l1 * (abs(v) - abs(w)) + 0.5 * l2 * (v * v - w * w)
            target[b, k] = v
