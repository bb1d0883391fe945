"""The header of a model file: a description of the model that is read without its arrays."""

from __future__ import annotations

import math
import platform
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import scipy
import sklearn

import bochner
from bochner.component import Component
from bochner.data.transforms.times import of_parts
from bochner.persist.checks import type_error
from bochner.persist.container import Contents, ModelFileError, parse_json
from bochner.persist.encoding import state_of

MOST_LISTED = 50_000
VERSION = 1  # of the format


def describe(model: Any, summary: dict[str, Any] | None) -> dict[str, Any]:
    """Return the description of a model for its header."""
    known = state_of(model)
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    names = known.get("feature_names_in_")
    table, training = known.get("_table"), known.get("_training")
    columns = known.get("n_features_in_")
    return {
        "model": type(model).__name__,
        "parameters": {k: as_json(v) for k, v in parameters.items() if k != "callbacks"},
        "columns": None if columns is None else int(columns),
        "names": as_json(names if table is None else np.array(table.names, object)),
        "categories": {} if table is None else _categories(table),
        "times": {} if table is None else _times(table),
        "labels": as_json(known.get("classes_")),
        "scaling": _scaling(known.get("scaling_")),
        "importances": as_json(known.get("_importances")),
        "libraries": libraries(),
        "summary": _summary(known) | {k: as_json(v) for k, v in (summary or {}).items()},
        "unfinished": bool(known.get("_unfinished", False)),
        "can_go_on": training is not None or known.get("_sums") is not None,
    }


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that a model depends on."""
    return {
        "bochner": bochner.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def as_json(value: Any) -> Any:
    """Return a value as JSON for people; what JSON does not have becomes a short text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, np.ndarray):
        return as_json(value.tolist()) if value.size <= MOST_LISTED else f"array {value.shape}"
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, Component) and is_dataclass(value):
        parts = {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
        return {"class": type(value).__name__} | parts
    return f"a {type(value).__name__}"


def _categories(table: Any) -> dict[str, list[str]]:
    pairs = zip(table.names, table.categories, strict=True)
    known = {str(name): list(texts) for name, texts in pairs if texts is not None}
    share = MOST_LISTED // max(len(known), 1)  # for each column
    return {name: _shortened(texts, share) for name, texts in known.items()}


def _times(table: Any) -> dict[str, list[str]]:
    parts = of_parts(table.names, table.parts)
    return {str(name): list(some) for name, some in parts.items()}


def _shortened(texts: list[str], most: int) -> list[str]:
    more = len(texts) - most
    return [*texts[:most], f"... and {more} more"] if more > 0 else texts


def _scaling(scaling: Any) -> dict[str, Any] | None:
    if scaling is None:
        return None
    return {"location": as_json(scaling.location), "factor": as_json(scaling.factor)}


def _summary(known: dict[str, Any]) -> dict[str, Any]:
    """Return a summary of the fit from the attributes of the estimator."""
    history, training = known.get("history_") or {}, known.get("_training")
    found: dict[str, Any] = {
        "passes": known.get("n_iter_"),
        "functions": known.get("n_features_used_"),
        "stopped_because": known.get("stopped_because_"),
        "steps": getattr(training, "step", None),
        "rows_seen": getattr(training, "rows", None),
    }
    for name in ("seconds", "loss", "held_out_loss"):
        values = [value for value in history.get(name, ()) if value is not None]
        found[name] = values[-1] if values else None
    return {name: as_json(value) for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class StoredArray:
    """Name, dtype, shape and size in bytes of an array in a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Header:
    """The description of the model in a file.

    Attributes
    ----------
    version : int
        The version of the file format.
    model : str
        The class of the estimator.
    parameters : dict
        Its parameters; components are dicts with their class and their parameters.
    columns : int or None
        The number of columns of the rows.
    names : list of str, str or None
        The names of the columns, if they have any; of very many only their number.
    categories : dict
        The categories of each column of text.
    labels : list, str or None
        The classes of a classifier; of very many only their number.
    scaling : dict or None
        Location and factor of each column, if columns are scaled.
    libraries : dict
        The versions of the libraries that wrote the file.
    digest : str
        Of all other bytes of the file; `load` checks it, `read_header` does not.
    summary : dict
        How the fit went, and the summary given to `save`.
    arrays : list of StoredArray
        The arrays of the file.
    bytes : int
        The size of the file in bytes.
    unfinished : bool
        Whether this is a checkpoint of a fit that has not finished.
    can_go_on : bool
        Whether `partial_fit`, or `fit` with `warm_start`, can continue to train the model.
    importances : list of float, str or None
        The importance of each column (`feature_importances_`); of very many only their number.
    times : dict
        What each column of dates or times became: "time", "sine of the hour" and so on.
    """

    version: int
    model: str
    parameters: dict[str, Any]
    columns: int | None
    names: list[Any] | str | None
    categories: dict[str, list[Any]]
    labels: list[Any] | str | None
    scaling: dict[str, Any] | None
    libraries: dict[str, Any]
    digest: str
    summary: dict[str, Any]
    arrays: list[StoredArray]
    bytes: int
    unfinished: bool
    can_go_on: bool
    importances: list[float] | str | None = None
    times: dict[str, list[str]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the header as plain values."""
        return asdict(self)


def parse_text(contents: Contents) -> dict[str, Any]:
    """Parse the text of a file and check the version of its format."""
    text = parse_json(contents.text)
    version = text.get("version") if isinstance(text, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError("The file lacks the version of its format.")
    if version > VERSION:
        raise ModelFileError(
            f"The file is in version {version} of the format, and this library reads versions up "
            f"to {VERSION}. Update bochner, or save the model with an older version of it."
        )
    if set(text) != {"version", "about", "records", "model"}:
        raise ModelFileError("The header lacks a part, or has an unknown one.")
    if not isinstance(text["records"], list):
        raise ModelFileError("The records in the header are not a list.")
    return text  # type: ignore[no-any-return]


def header_of(contents: Contents, size: int) -> Header:
    """Return the header of a file of `size` bytes."""
    about = parse_text(contents)["about"]
    if not isinstance(about, dict):
        raise ModelFileError("The header does not describe the model.")
    arrays = [StoredArray(a.name, str(a.dtype), a.shape, a.end - a.begin) for a in contents.arrays]
    rest = {"version": VERSION, "digest": contents.digest, "arrays": arrays, "bytes": size}
    if (wrong := type_error(Header, about | rest)) is not None:
        raise ModelFileError(f"The description of the model is invalid: {wrong}.")
    return Header(**about | rest)
