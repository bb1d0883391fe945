"""Checks of arguments: each raises a ValueError that says what is needed and what was given."""

from __future__ import annotations

import secrets
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bochner.compute.memory import memory_budget

FINITE = "a finite positive number"


def require(valid: bool, name: str, value: Any, kind: str) -> None:
    """Raise unless `valid`; the message names the parameter, the kind needed and the value."""
    if not valid:
        raise ValueError(f"{name} must be {kind}; got {value!r}.")


def require_count(
    name: str,
    value: Any,
    least: int = 1,
    most: int | None = None,
    *,
    also: tuple[Any, ...] = (),
    even: bool = False,
) -> None:
    """Require an integer from `least` to `most`, or one of the values in `also`."""
    valid = is_integer(value) and value >= least and (most is None or value <= most)
    until = "on" if most is None else f"to {most}"
    kind = f"{_listed(also)}{'an even' if even else 'a whole'} number from {least} {until}"
    require(_is_one_of(value, also) or (valid and not (even and value % 2)), name, value, kind)


def require_positive(
    name: str, value: Any, kind: str = "a positive number", *, also: tuple[Any, ...] = ()
) -> None:
    """Require a finite number above 0, or one of the values in `also`."""
    valid = _is_one_of(value, also) or (is_number(value) and value > 0)
    require(valid, name, value, f"{_listed(also)}{kind}")


def require_not_negative(name: str, value: Any, kind: str = "a number from 0 on") -> None:
    """Require a finite number of at least 0."""
    require(is_number(value) and value >= 0, name, value, kind)


def require_fraction(name: str, value: Any) -> None:
    """Require a number strictly between 0 and 1."""
    valid = is_number(value) and 0 < value < 1
    require(valid, name, value, "a number between 0 and 1, both excluded")


def require_at_most(name: str, value: Any, most: float) -> None:
    """Require a positive number of at most `most`."""
    valid = is_number(value) and 0 < value <= most
    require(valid, name, value, f"a number above 0 and at most {most:g}")


def require_one_of(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Require one of the choices."""
    require(_is_one_of(value, choices), name, value, f"one of {', '.join(map(repr, choices))}")


def require_callables(name: str, value: Any) -> None:
    """Require None or a list of callables."""
    valid = value is None or (isinstance(value, list | tuple) and all(map(callable, value)))
    require(valid, name, value, "None or a list of functions of the progress")


def require_jobs(value: Any) -> None:
    """Require a number of threads, or None or -1 for all cores."""
    valid = value is None or (is_integer(value) and (value == -1 or value >= 1))
    kind = "a positive number of threads, or None or -1 for all cores"
    require(valid, "n_jobs", value, kind)


def require_memory(value: Any) -> None:
    """Require None, a number of bytes, or a text such as "2GB"."""
    number = isinstance(value, Real) and isfinite(value)
    memory_budget(value if value is None or isinstance(value, str) or number else repr(value))


def require_batch_size(size: int) -> None:
    """Require batches of at least one row."""
    require(size >= 1, "The size of a batch", size, "at least one row")


def seed_of(random_state: Any) -> int:
    """Return an integer itself, one draw of a generator, or fresh entropy for None."""
    if random_state is None or random_state is np.random:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    check_random_state(random_state)  # raises unless it is a seed
    return int(random_state)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, which True and False are not here."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, which True and False are not here."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    if isinstance(value, str):
        return value in choices
    return any(value is choice for choice in choices)


def _listed(also: tuple[Any, ...]) -> str:
    return "".join(f"{choice!r} or " for choice in also)
