"""About: what of a model goes into the header for people to read, as plain values."""

from __future__ import annotations

import math
import platform
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy
import sklearn

import bochner
from bochner.component import Component

MOST_LISTED = 50_000


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
