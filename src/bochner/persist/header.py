"""Header: what a model file says of its model, without the arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bochner.persist.container import Contents, parsed
from bochner.persist.errors import ModelFileError

VERSION = 1
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
