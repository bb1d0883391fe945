"""Fingerprints of bins: those that were chosen to make a table slow are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIXER = np.uint64(0x9E3779B97F4A7C15)  # of `compute.bin_table`
HALF = np.uint64(32)
FEW = 1 << 13  # for which any order is quick
TOGETHER = 256  # that share a stretch of the table, on average
MOST = 1.5 * TOGETHER  # 8 deviations more: a table that is 59% full has room for 1.7 times as many


def require_spread(known: Any) -> None:
    """Refuse fingerprints that crowd in a part of their table, where each would be looked for long.

    >>> require_spread([np.arange(20_000, dtype=np.uint64) * np.uint64(0x2545F4914F6CDD1D)])
    """
    for fingerprints in known if isinstance(known, list) else ():
        sound = isinstance(fingerprints, np.ndarray) and fingerprints.dtype == np.uint64
        if sound and fingerprints.size > FEW and _crowd(fingerprints.ravel()) > MOST:
            raise ValueError("its bins are not those of any rows")


def _crowd(fingerprints: NDArray[np.uint64]) -> int:
    with np.errstate(over="ignore"):
        mixed = (fingerprints ^ (fingerprints >> HALF)) * MIXER
    stretches = np.uint64(len(fingerprints) // TOGETHER)
    return int(np.bincount((((mixed >> HALF) * stretches) >> HALF).astype(np.int64)).max())
