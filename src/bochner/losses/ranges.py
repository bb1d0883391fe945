"""Ranges: what the numbers of a loss may be."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def require_positive(name: str, value: Any) -> None:
    """Refuse what is no finite number above 0."""
    if not _is_number(value) or not value > 0:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")


def require_not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number from 0 on."""
    if not _is_number(value) or not value >= 0:
        raise ValueError(f"{name} must be a number from 0 on; got {value!r}.")


def require_share(name: str, value: Any) -> None:
    """Refuse what does not lie between 0 and 1."""
    if not _is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, without them; got {value!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
