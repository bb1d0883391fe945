"""Ranges: parameters that are numbers are checked here, with sentences."""

from __future__ import annotations

import secrets
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bochner.compute.memory import memory_budget


def require_number(name: str, value: Any, *, positive: bool, optional: bool = False) -> None:
    """Refuse anything but a finite number that is positive, or at least 0."""
    if value is None and optional:
        return
    valid = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if not valid or value < 0 or (positive and value == 0):
        kind = "a positive number" if positive else "a number from 0 on"
        raise ValueError(f"{name} must be {'None or ' * optional}{kind}; got {value!r}.")


def require_count(name: str, value: Any, *, optional: bool = False) -> None:
    """Refuse anything but a whole number from 1 on."""
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be {'None or ' * optional}a whole number from 1 on; got {value!r}."
        )


def require_one_of(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse anything but the choices."""
    if not any(value is choice or (type(value) is str and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def require_jobs(value: Any) -> None:
    """Refuse anything but None, -1 and numbers of threads."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (whole and (value == -1 or value >= 1)):
        raise ValueError(
            "n_jobs must be a positive number of threads, or None or -1 for all cores; got "
            f"{value!r}."
        )


def require_memory(value: Any) -> None:
    """Refuse what is neither None, nor a number of bytes, nor a text such as "2GB"."""
    number = isinstance(value, Real) and isfinite(value)
    memory_budget(value if value is None or isinstance(value, str) or number else repr(value))


def require_callables(name: str, value: Any) -> None:
    """Refuse anything but None and a list of callables."""
    valid = value is None or (isinstance(value, list | tuple) and all(map(callable, value)))
    if not valid:
        raise ValueError(
            f"{name} must be None or a list of functions of the progress; got {value!r}."
        )


def seed_of(random_state: Any) -> int:
    """Return an integer itself, one draw of a generator, and fresh entropy for None."""
    if random_state is None or random_state is np.random:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    check_random_state(random_state)  # refuses what is no seed
    return int(random_state)
