"""Changes: what a round of trials may do to some columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.tuning.groups import Groups

Change = dict[int, tuple[float, int]]  # a new power and a new place for some columns


def steps(
    step: float, groups: Groups, powers: NDArray[np.float64], places: NDArray[np.int64]
) -> list[Change]:
    """Return for each group a step to either side."""
    ways = [(group, way) for group in groups for way in (step, -step)]
    return [{int(j): (powers[j] + way, int(places[j])) for j in group} for group, way in ways]


def joint(changes: Sequence[Change]) -> Change:
    """Return several changes as one."""
    return {j: new for change in changes for j, new in change.items()}


def sizes(count: int) -> list[int]:
    """Return how many of the best changes to take together: one, a quarter, half or all."""
    return sorted({1, max(1, count // 4), max(1, count // 2), count})
