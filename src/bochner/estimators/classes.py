"""Classes: which labels there are, how many rows each has, and what each row of it counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource

COUNTED_ROWS = 65_536  # at a time


def class_counts(
    source: DataSource, classes: Any = None
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return the classes, sorted, and their numbers of rows if they were counted in a pass."""
    labels, counts = _counted(source) if classes is None else (np.unique(classes), None)
    if len(labels) < 2:
        raise ValueError(
            f"A classifier needs at least two classes; got one class, {labels.tolist()}. Give rows "
            "of another class too, or all labels as classes=."
        )
    return labels, counts


def _counted(source: DataSource) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if source.once:
        raise ValueError(
            "An iterator can be read only once, so its classes cannot be collected first: give all "
            "of them as classes=."
        )
    counts: Counter[Any] = Counter()
    for batch in source.batches(COUNTED_ROWS):
        if batch.y is None:
            raise ValueError("KernelClassifier needs labels: give y, or blocks (X, y).")
        labels, numbers = np.unique(batch.y, return_counts=True)
        counts.update(dict(zip(labels, numbers.tolist(), strict=True)))
    labels = np.unique(np.array(list(counts)))
    return labels, np.array([counts[label] for label in labels])


def class_factors(
    class_weight: Any, labels: NDArray[Any], counts: NDArray[np.int64] | None
) -> NDArray[np.float64] | None:
    """Return the weight of each class: n / (classes * rows of the class) if balanced."""
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        return _from_dict(class_weight, labels)
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise ValueError(f"class_weight must be None, 'balanced' or a dict; got {class_weight!r}.")
    if counts is None:
        raise ValueError(
            "class_weight='balanced' needs the rows of each class to be counted first, which "
            "classes= and partial_fit leave out: give the weights as a dict."
        )
    return np.asarray(counts.sum() / (len(labels) * counts))


def _from_dict(class_weight: dict[Any, Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    known = labels.tolist()
    unknown = sorted(map(repr, set(class_weight) - set(known)))
    if unknown:
        raise ValueError(
            f"class_weight must be given for classes, which are {known}; got {', '.join(unknown)}."
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors) & (factors >= 0)).all() or not factors.any():
        raise ValueError(
            "class_weight must hold finite numbers from 0 on, and one above 0 at least; got "
            f"{class_weight!r}."
        )
    return factors
