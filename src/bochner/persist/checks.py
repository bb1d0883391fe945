"""Checks of the records in a file: the types of their fields, and that these are consistent."""

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
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bochner.component import Component
from bochner.data.transforms.times import are_parts
from bochner.persist.registry import NEW_PARAMETERS, name_of
from bochner.records import Validated, require_sound

MOST_COLUMNS = 1 << 31
SET_BY_SCIKIT_LEARN = {"n_features_in_": int, "feature_names_in_": NDArray[Any]}
NUMBERS: dict[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}


def type_error(kind: type[Any], state: dict[str, Any]) -> str | None:
    """Return a sentence on the first field that does not belong to a class, None if all do."""
    hints, optional = expected_types(kind)  # type: ignore[arg-type]
    for name in state:
        if name not in hints:
            return f"{kind.__name__} has no field {name[:80]!r}"
    for name in hints:
        if name not in state and name not in optional:
            return f"{kind.__name__} lacks the field {name!r}"
    for name, value in state.items():
        if not has_type(value, hints[name]):
            return f"the field {name!r} of {kind.__name__} cannot be of type {type(value).__name__}"
    return None


@cache
def expected_types(kind: Any) -> tuple[dict[str, Any], Collection[str]]:
    """Return the types of the fields of a class by name, and which fields a file may lack.

    A record declares its fields as a dataclass. An estimator has the parameters of its
    constructor, which `fit` checks, and the attributes that its classes annotate.
    """
    if issubclass(kind, BaseEstimator):
        return _expected_of_estimator(kind)
    if not is_dataclass(kind):
        return {}, ()
    hints = typing.get_type_hints(kind)
    hints = {one.name: hints[one.name] for one in fields(kind)}
    if issubclass(kind, Component):  # type: ignore[arg-type]
        hints = {name: _type_of_parameter(hint) for name, hint in hints.items()}
    return hints, defaults(kind).keys()


def _expected_of_estimator(kind: Any) -> tuple[dict[str, Any], Collection[str]]:
    own = inspect.signature(kind).parameters
    parameters = {
        name for base in kind.__mro__ for name in inspect.signature(base.__init__).parameters
    }
    attributes = SET_BY_SCIKIT_LEARN | typing.get_type_hints(kind)
    hints = attributes | dict.fromkeys(parameters - {"self", "args", "kwargs"}, Any)
    return hints, hints.keys() - own.keys() | NEW_PARAMETERS


def parameters_added(kind: type[BaseEstimator]) -> dict[str, Any]:
    """Return the default values of an estimator's parameters that earlier files may lack."""
    own = inspect.signature(kind).parameters
    return {name: own[name].default for name in NEW_PARAMETERS & own.keys()}


def defaults(kind: Any) -> dict[str, Any]:
    """Return the default values of a record: files of an earlier version may lack these fields."""
    known = {}
    for one in fields(kind) if is_dataclass(kind) else ():
        if one.default is not MISSING:
            known[one.name] = one.default
        elif one.default_factory is not MISSING:
            known[one.name] = one.default_factory()
    return known


def _type_of_parameter(hint: Any) -> Any:
    """Return the type of a parameter of a component; `fit` checks all but nested components."""
    return hint if isinstance(hint, type) and issubclass(hint, Component) else Any


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; lists and tuples are interchangeable."""
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


def _is_sequence(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, list | tuple):
        return False
    if (len(inner) == 2 and inner[1] is Ellipsis) or len(inner) == 1:
        return all(has_type(part, inner[0]) for part in value)
    return len(value) == len(inner) and all(map(has_type, value, inner))


def _is_dict(value: Any, inner: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and all(
        has_type(key, inner[0]) and has_type(part, inner[1]) for key, part in value.items()
    )


def _is_array(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    (wanted,) = typing.get_args(inner[1]) or (Any,)
    base = typing.get_origin(wanted) or wanted
    return base is Any or np.issubdtype(value.dtype, _of_any_width(base))


def _of_any_width(kind: type[Any]) -> type[Any]:
    """Return the abstract type of numbers: compiled loops refuse those of another width."""
    for wide in (np.floating, np.integer):
        if issubclass(kind, wide):
            return wide
    return kind


def _is_any(value: Any, inner: tuple[Any, ...]) -> bool:
    return any(has_type(value, hint) for hint in inner)


def _is_function(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether a value is a record that can be called: a file holds no Python functions."""
    return value is None or (callable(value) and name_of(type(value)) is not None)


CASES: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Union: _is_any,
    types.UnionType: _is_any,
    Literal: lambda value, inner: isinstance(value, str | int | None) and value in inner,
    ClassVar: lambda value, inner: False,
    tuple: _is_sequence,
    list: _is_sequence,
    dict: _is_dict,
    np.ndarray: _is_array,
    Callable: _is_function,
    AnyIterable: lambda value, inner: isinstance(value, list | tuple),
    type: lambda value, inner: False,
}


def require_consistent(value: Any) -> None:
    """Raise ValueError if the fields of a record contradict each other."""
    if isinstance(value, Validated):
        value.validate()
    if isinstance(value, BaseEstimator):
        _require_estimator(vars(value))


def _require_estimator(known: dict[str, Any]) -> None:
    """Check what a fitted estimator predicts with; a `validate` of its own would be public."""
    columns = known.get("n_features_in_")
    expansion, setup = known.get("expansion_"), known.get("_setup")
    require_sound(columns is None or 0 < columns < MOST_COLUMNS, "its number of columns is wrong")
    basis = expansion.basis if expansion is not None else known.get("basis_")
    if basis is not None:
        require_sound(columns is not None, "its number of columns is missing")
        fits = basis.input_columns in (None, columns)
        require_sound(fits, "its basis has another number of columns")
    if setup is not None and expansion is not None:
        fits = expansion.weights.shape[1] == setup.targets.outputs
        require_sound(fits, "its weights are of other outputs than its targets")
        fits = setup.basis.size is None or expansion.basis.size is not None
        require_sound(fits, "its basis is infinite, but that of its setup is finite")
    _require_columns(known, columns)
    _require_training(known)


def _require_columns(known: dict[str, Any], columns: int | None) -> None:
    """Check that what belongs to columns has one entry for each of them."""
    names, filling = known.get("feature_names_in_"), known.get("_filling")
    table, scaling = known.get("_table"), known.get("scaling_")
    importances, schema = known.get("_importances"), known.get("schema_")
    shapes = {
        "names": None if names is None else names.shape,
        "fill values": None if filling is None else filling.values.shape,
        "names in the table": None if table is None else (len(table.names),),
        "categories": None if table is None else (len(table.categories),),
        "locations": None if scaling is None else scaling.location.shape,
        "importances": None if importances is None else importances.shape,
        "names of the file": None if schema is None or columns is None else (len(schema.names),),
    }
    for what, shape in shapes.items():
        require_sound(shape in (None, (columns,)), f"its {what} are of other columns")
    for record in (table, schema):
        fits = record is None or are_parts(record.parts, len(record.names))
        require_sound(fits, "its parts of times are of other columns")


def _require_training(known: dict[str, Any]) -> None:
    training, unfinished = known.get("_training"), known.get("_unfinished")
    fitted = training is None or "expansion_" in known
    require_sound(fitted, "it has a training state but no expansion")
    if unfinished:
        require_sound(training is not None, "it is unfinished, but has no training state")
        require_sound(known.get("_used", -1.0) >= 0, "its training time is missing or negative")
