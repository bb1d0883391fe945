"""Restoring: a record of a class from the parts that a file holds, once they have been checked."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from bochner.persist.annotations import misfit
from bochner.persist.consistency import require_consistent
from bochner.persist.errors import ModelFileError
from bochner.persist.fingerprints import require_spread


def restored(kind: type[Any], state: dict[str, Any]) -> Any:
    """Return a record of a class with the state that its file holds, once that has been checked."""
    if (wrong := misfit(kind, state)) is not None:
        raise ModelFileError(f"The file does not fit this library: {wrong}.")
    value = object.__new__(kind)
    try:
        require_spread(state.get("known"))
        if hasattr(kind, "__setstate__"):
            value.__setstate__(state)
        else:
            vars(value).update(_defaults(kind) | state)
        require_consistent(value)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"A {kind.__name__} in the file is not sound: {error}.") from error
    return value


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """Return the parts that files of an earlier version may lack."""
    known = {}
    for one in fields(kind) if is_dataclass(kind) else ():
        if one.default is not MISSING:
            known[one.name] = one.default
        elif one.default_factory is not MISSING:
            known[one.name] = one.default_factory()
    return known
