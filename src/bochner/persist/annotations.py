"""Annotations: whether what a record is made of has the types that its class asks for."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection
from collections.abc import Iterable as AnyIterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union

import numpy as np
from sklearn.base import BaseEstimator

from bochner.component import Component
from bochner.persist.fields import ATTRIBUTES, FIELDS

NUMBERS: dict[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}


def misfit(kind: type[Any], state: dict[str, Any]) -> str | None:
    """Return in words what of a state does not belong to a class, None if all does."""
    hints, optional = expected(kind)  # type: ignore[arg-type]
    for name in state:
        if name not in hints:
            return f"{kind.__name__} has no part {name[:80]!r}"
    for name in hints:
        if name not in state and name not in optional:
            return f"{kind.__name__} lacks its part {name!r}"
    for name, value in state.items():
        if not fits(value, hints[name]):
            return f"the part {name!r} of {kind.__name__} cannot be of type {type(value).__name__}"
    return None


@cache
def expected(kind: Any) -> tuple[dict[str, Any], Collection[str]]:
    """Return the types of the parts of a class by their names, and which of them may be missing."""
    if issubclass(kind, BaseEstimator):
        own = inspect.signature(kind).parameters
        every = {
            name for base in kind.__mro__ for name in inspect.signature(base.__init__).parameters
        }
        hints = dict.fromkeys(every - {"self", "args", "kwargs"}, Any) | ATTRIBUTES
        return hints, hints.keys() - own.keys()
    if not is_dataclass(kind):
        return FIELDS.get(kind.__name__, {}), ()
    hints = typing.get_type_hints(kind)
    hints = {one.name: hints[one.name] for one in fields(kind)}
    if issubclass(kind, Component):  # type: ignore[arg-type]
        hints = {name: _lenient(hint) for name, hint in hints.items()}
    given = {
        one.name
        for one in fields(kind)
        if one.default is not MISSING or one.default_factory is not MISSING
    }
    return hints, given


def _lenient(hint: Any) -> Any:
    """Return the type of a parameter: what users may give is for `fit` to say, not for files."""
    return hint if isinstance(hint, type) and issubclass(hint, Component) else Any


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; lists and tuples stand for each other."""
    hint = _without_alias(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint in NUMBERS:
        return isinstance(value, NUMBERS[hint]) and (hint is bool) >= isinstance(value, bool)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return not isinstance(hint, type) or isinstance(value, hint)
    return CASES[origin](value, inner) if origin in CASES else isinstance(value, origin)


def _without_alias(hint: Any) -> Any:
    """Return the type that a type alias names: NumPy 2.5 defines `NDArray` as one (PEP 695)."""
    alias = typing.get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    arguments = typing.get_args(hint)
    value = alias.__value__[arguments] if arguments else alias.__value__
    return _without_alias(value)


def _each(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, list | tuple):
        return False
    if (len(inner) == 2 and inner[1] is Ellipsis) or len(inner) == 1:
        return all(fits(part, inner[0]) for part in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _dict(value: Any, inner: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and all(
        fits(key, inner[0]) and fits(part, inner[1]) for key, part in value.items()
    )


def _array(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    (wanted,) = typing.get_args(inner[1]) or (Any,)
    base = typing.get_origin(wanted) or wanted
    return base is Any or np.issubdtype(value.dtype, _wide(base))


def _wide(kind: type[Any]) -> type[Any]:
    """Return the abstract type of numbers: compiled loops refuse those of another width."""
    for wide in (np.floating, np.integer):
        if issubclass(kind, wide):
            return wide
    return kind


def _any(value: Any, inner: tuple[Any, ...]) -> bool:
    return any(fits(value, hint) for hint in inner)


CASES: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Union: _any,
    types.UnionType: _any,
    Literal: lambda value, inner: isinstance(value, str | int | None) and value in inner,
    ClassVar: lambda value, inner: False,
    tuple: _each,
    list: _each,
    dict: _dict,
    np.ndarray: _array,
    Callable: lambda value, inner: value is None,
    AnyIterable: lambda value, inner: isinstance(value, list | tuple),
    type: lambda value, inner: False,
}
