"""Random states: generators of NumPy from what a file says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bochner.persist.errors import ModelFileError

GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "SFC64", "Philox")}
LENGTH = 624  # of the Mersenne twister
BUFFER = 4  # of Philox
WRONG = "A random state is not as it should be."


def random_state(state: Any) -> Any:
    """Return a RandomState; NumPy would take any position, and read there."""
    inner = state.get("state") if isinstance(state, dict) else None
    key, place = (inner.get(name) if isinstance(inner, dict) else None for name in ("key", "pos"))
    is_key = isinstance(key, np.ndarray) and key.shape == (LENGTH,) and key.dtype == np.uint32
    if not is_key or type(place) is not int or not 0 <= place <= LENGTH:
        raise ModelFileError(WRONG)
    made = np.random.RandomState(0)
    _put(made.set_state, state)
    return made


def generator(state: Any) -> Any:
    """Return a Generator of one of NumPy's bit generators."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    place = state.get("buffer_pos", 0) if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in GENERATORS:
        raise ModelFileError(WRONG)
    if type(place) is not int or not 0 <= place <= BUFFER:
        raise ModelFileError(WRONG)
    bits = GENERATORS[name](0)
    _put(lambda told: setattr(bits, "state", told), state)
    return np.random.Generator(bits)


def _put(put: Callable[[Any], None], state: Any) -> None:
    try:
        put(state)
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ModelFileError(WRONG) from None
