"""Requirements: what hyperparameters of solvers must be, refused with a sentence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def require_count(name: str, given: Any, least: int) -> None:
    """Refuse anything but "auto" and a whole number that is large enough."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if given != "auto" and not (whole and int(given) >= least):
        raise ValueError(f"{name} must be 'auto' or a whole number from {least} on; got {given!r}.")


def require_share(name: str, given: Any, most: float = 1.0) -> None:
    """Refuse anything but a positive number that is not too large."""
    if not isinstance(given, Real) or isinstance(given, bool) or not 0 < float(given) <= most:
        raise ValueError(f"{name} must be a number above 0 and at most {most:g}; got {given!r}.")
