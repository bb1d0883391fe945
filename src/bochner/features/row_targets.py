"""Targets and weights of encoded rows, in as little memory as they take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Put parts together, and let them go."""
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return whole


def alike(y: Any, weight: NDArray[np.float64]) -> tuple[Any, NDArray[Any]]:
    """Return targets and weights for compiled loops, in single precision if both are exact."""
    exact = all(part is None or short(part).dtype == np.float32 for part in (y, weight))
    dtype = np.float32 if exact else np.float64
    y = None if y is None else np.require(y, dtype, ["C", "W"])
    return y, np.require(weight, dtype, ["C", "W"])


def short(y: Any) -> Any:
    """Return targets in single precision where that is exact: labels are."""
    if y is None:
        return None
    single = y.astype(np.float32)
    return single if np.array_equal(single, y) else y
