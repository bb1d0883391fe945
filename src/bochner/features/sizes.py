"""Sizes of random features: how many functions, or no end of them."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def checked_size(size: Any, atom: int) -> int | None:
    """Return a number of functions that are drawn by `atom`, None for no end of them."""
    if size is None:
        return None
    whole = isinstance(size, Integral) and not isinstance(size, bool)
    if whole and int(size) >= atom and int(size) % atom == 0:
        return int(size)
    kinds = {1: "a whole number from 1 on", 2: "an even number, since functions come in pairs"}
    kind = kinds.get(atom, f"a multiple of {atom}, which are drawn together")
    raise ValueError(f"size must be {kind}, or None for features without end; got {size!r}.")
