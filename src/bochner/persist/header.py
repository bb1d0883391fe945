"""Header: what a model file says of its model, without the arrays."""

from __future__ import annotations

import math
import platform
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy
import sklearn

import bochner
from bochner.component import Component
from bochner.persist.container import Contents, ModelFileError, parsed

MOST_LISTED = 50_000
VERSION = 1


def about(model: Any, summary: dict[str, Any] | None) -> dict[str, Any]:
    """Return what there is to say of a model."""
    known = vars(model)
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    names = known.get("feature_names_in_")
    table, training = known.get("_table"), known.get("_training")
    columns = known.get("n_features_in_")
    return {
        "model": type(model).__name__,
        "parameters": {k: plain(v) for k, v in parameters.items() if k != "callbacks"},
        "columns": None if columns is None else int(columns),
        "names": plain(names if table is None else np.array(table.names, object)),
        "categories": {} if table is None else _categories(table),
        "labels": plain(known.get("classes_")),
        "scaling": _scaling(known.get("scaling_")),
        "libraries": libraries(),
        "summary": _summary(known) | {k: plain(v) for k, v in (summary or {}).items()},
        "unfinished": bool(known.get("_unfinished", False)),
        "can_go_on": training is not None or known.get("_sums") is not None,
    }


def libraries() -> dict[str, str]:
    """Return the versions of what makes the bits of a model."""
    return {
        "bochner": bochner.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def plain(value: Any) -> Any:
    """Return a value as JSON has it, for people: what cannot be is told in words."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist()) if value.size <= MOST_LISTED else f"array {value.shape}"
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Component) and is_dataclass(value):
        parts = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return {"class": type(value).__name__} | parts
    return f"a {type(value).__name__}"


def _categories(table: Any) -> dict[str, list[str]]:
    pairs = zip(table.names, table.categories, strict=True)
    known = {str(name): list(texts) for name, texts in pairs if texts is not None}
    share = MOST_LISTED // max(len(known), 1)  # which every column has of those that are listed
    return {name: _shortened(texts, share) for name, texts in known.items()}


def _shortened(texts: list[str], most: int) -> list[str]:
    more = len(texts) - most
    return [*texts[:most], f"... and {more} more"] if more > 0 else texts


def _scaling(scaling: Any) -> dict[str, Any] | None:
    if scaling is None:
        return None
    return {"location": plain(scaling.location), "factor": plain(scaling.factor)}


def _summary(known: dict[str, Any]) -> dict[str, Any]:
    """Return how the fit went, as far as the estimator tells."""
    history, training = known.get("history_") or {}, known.get("_training")
    found: dict[str, Any] = {
        "passes": known.get("n_iter_"),
        "functions": known.get("n_features_used_"),
        "stopped_because": known.get("stopped_because_"),
        "steps": getattr(training, "step", None),
        "rows": getattr(training, "rows", None),
    }
    for name in ("seconds", "loss", "held_out_loss"):
        values = [value for value in history.get(name, ()) if value is not None]
        found[name] = values[-1] if values else None
    return {name: plain(value) for name, value in found.items() if value is not None}


PLAIN: dict[str, Any] = {
    "model": str,
    "parameters": dict,
    "columns": int | None,
    "names": list | str | None,
    "categories": dict,
    "labels": list | str | None,
    "scaling": dict | None,
    "libraries": dict,
    "summary": dict,
    "unfinished": bool,
    "can_go_on": bool,
}


@dataclass(frozen=True)
class StoredArray:
    """An array of a file: its name, dtype, shape and bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Header:
    """What a model file says of its model.

    Attributes
    ----------
    version : int
        Of the format.
    model : str
        The class of the estimator.
    parameters : dict
        Its parameters; components are dicts with their class and their parameters.
    columns : int or None
        How many columns rows have.
    names : list of str or None
        Their names, if they have any.
    categories : dict
        For each column of text its categories.
    labels : list or None
        The classes of a classifier.
    scaling : dict or None
        Location and factor of each column, if columns are scaled.
    libraries : dict
        The versions by which the file was written.
    digest : str
        Of all other bytes of the file; `load` checks it, `read_header` does not.
    summary : dict
        How the fit went, and what was given to `save`.
    arrays : list of StoredArray
    bytes : int
        The size of the file.
    unfinished : bool
        Whether this is a checkpoint of a fit that has not ended.
    can_go_on : bool
        Whether `partial_fit`, or `fit` with `warm_start`, can go on with the model.
    """

    version: int
    model: str
    parameters: dict[str, Any]
    columns: int | None
    names: list[Any] | None
    categories: dict[str, list[str]]
    labels: list[Any] | None
    scaling: dict[str, Any] | None
    libraries: dict[str, str]
    digest: str
    summary: dict[str, Any]
    arrays: list[StoredArray]
    bytes: int
    unfinished: bool
    can_go_on: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the header as plain values."""
        return asdict(self)


def told(known: Contents) -> dict[str, Any]:
    """Return what the text of a file says, after a look at its version."""
    text = parsed(known.text)
    version = text.get("version") if isinstance(text, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError("The file does not say in which version of the format it is.")
    if version > VERSION:
        raise ModelFileError(
            f"The file is in version {version} of the format, and this library reads versions up "
            f"to {VERSION}. Update bochner, or save the model by an older version of it."
        )
    if set(text) != {"version", "about", "records", "model"}:
        raise ModelFileError("The header lacks a part, or has one that nobody knows.")
    if not isinstance(text["records"], list):
        raise ModelFileError("The records are not a list.")
    return text  # type: ignore[no-any-return]


def header_of(known: Contents, size: int) -> Header:
    """Return the header of a file of so many bytes."""
    about = told(known)["about"]
    if not isinstance(about, dict) or set(about) != set(PLAIN):
        raise ModelFileError("What the header says of the model is not complete.")
    for name, kind in PLAIN.items():
        if not isinstance(about[name], kind):
            raise ModelFileError(f"What the header says of {name!r} is not as it should be.")
    arrays = [StoredArray(p.name, str(p.dtype), p.shape, p.end - p.begin) for p in known.places]
    rest = {"version": VERSION, "digest": known.digest, "arrays": arrays, "bytes": size}
    return Header(**(about | rest))
