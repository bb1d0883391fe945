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


def whole_draws(size: Any, atom: int) -> int | None:
    """Return the functions of as many draws as a size has room for, None for no end of them."""
    most = checked_size(size, 1)
    if most is None or most >= atom:
        return None if most is None else most // atom * atom
    raise ValueError(
        f"These features are drawn {atom} at a time, so size must be at least {atom}; got {size!r}."
    )
