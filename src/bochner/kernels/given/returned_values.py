"""Checks of what the functions of users return."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def checked_values(
    values: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike, what: str, function: Any
) -> NDArray[Any]:
    """Return the values of a function in a dtype, or raise a ValueError if they cannot be used."""
    if values.shape != shape or values.dtype.kind not in "fiub":
        raise ValueError(
            f"{what} must return real numbers of the shape {shape}; {function!r} returned "
            f"{values.dtype} of the shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused
        values = values.astype(dtype, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} must return finite numbers; {function!r} returned NaN, infinity, or numbers "
            f"that are too large for {values.dtype}. Correct it, also for a row of zeros, or scale "
            "the columns of X."
        )
    return values
