"""Ranges: the sizes that numbers of rows, targets and weights may have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data import Batch, DataSource, mapped
from bochner.wording import AdvisedError

# In single precision with room for a sum; 1 / LEAST is still a number.
LEAST, LARGEST = 1e-37, 1e37
FAR_FROM_ONE = 1024.0  # the mean weight
LARGEST_SQUARED = 1e150  # in double precision, with room for a sum of squares


@contextmanager
def whole_numbers_in_range() -> Iterator[None]:
    """Turn the error of whole numbers that no float can hold into a sentence."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"Numbers must be at most {LARGEST_SQUARED:g} in size; got a whole number that is too "
            "large for a float. Divide such columns by their size."
        ) from error


def in_double_precision(X: Any) -> Any:
    """Return rows, or refuse numbers whose squares are too large for double precision."""
    if _largest(X) > LARGEST_SQUARED:
        raise _too_large(X, f"{LARGEST_SQUARED:g} in size, so that they can be squared")
    return X


def in_single_precision(X: Any) -> Any:
    """Return rows, or refuse numbers that are infinite in the single precision of the features."""
    if _largest(X) > LARGEST:
        raise _too_large(X, f"{LARGEST:g}, since features are made in single precision")
    return X


def _too_large(X: Any, most: str) -> AdvisedError:
    """Return the error that names the column of the largest number."""
    sizes = _column_sizes(X)
    column = int(np.argmax(sizes))
    return AdvisedError(
        f"Numbers in X must be at most {most}. {{columns}}: {sizes[column]:g}.",
        "Divide such columns by their size.",
        "Divide it by its size in the file, or leave it out: drop=['...'].",
        columns=[column],
    )


def _column_sizes(X: Any) -> NDArray[np.float64]:
    """Return the largest size of the numbers of each column; missing ones have none."""
    if sp.issparse(X):
        return np.nan_to_num(np.asarray(abs(X).max(axis=0).todense(), np.float64).ravel())
    return np.asarray(np.fmax.reduce(np.abs(X), axis=0, initial=0.0), np.float64)


def refuse_vanishing(numbers: Any, what: str) -> None:
    """Refuse columns of nothing but numbers that single precision rounds to 0, or nearly.

    `numbers` are those of a fit or of a sample: later ones may be as small as they like.
    """
    sizes = _column_sizes(numbers)
    small = np.flatnonzero((sizes > 0) & (sizes < LEAST))
    if len(small) > 0:
        advice = "Multiply them by a number that makes them about 1."
        named = "{columns}: at most" if what == "X" else "They are at most"
        raise AdvisedError(
            f"Numbers in {what} must not all be below {LEAST:g} in size, which single precision "
            f"takes for 0. {named} {sizes[small[0]]:g}.",
            advice,
            advice,
            columns=[int(small[0])],
        )


def refuse_large_weights(weight: NDArray[np.float64]) -> None:
    """Refuse weights that are too large for single precision."""
    if (largest := weight.max(initial=0.0)) > LARGEST:
        raise _weights_out_of_range(largest)


def weights_in_range(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all weights of a fit, or refuse those too large or all too small."""
    refuse_large_weights(weight)
    if 0 < (largest := weight.max(initial=0.0)) < LEAST:
        raise _weights_out_of_range(largest)
    return weight


@dataclass(frozen=True)
class WeightUnit:
    """Divides the weights of a batch by a power of two, which changes no bit of a mean.

    Weights and targets may both be large numbers of single precision; their product may not.
    """

    unit: float

    def __call__(self, batch: Batch) -> Batch:
        """Return the batch with smaller or larger weights."""
        return replace(batch, weight=batch.weights / self.unit)


def with_weights_near_one(source: DataSource, total_weight: float | None) -> DataSource:
    """Return rows whose mean weight is about 1, the same rows where it is not far from that.

    >>> from bochner.data import ArraySource
    >>> rows = ArraySource(np.eye(2), weight=[2.0**100, 2.0**102])
    >>> with_weights_near_one(rows, 5 * 2.0**100).sample(2).weight.tolist()
    [0.5, 2.0]
    """
    if total_weight is None:
        return source
    unit = 2.0 ** round(np.log2(total_weight / (source.n_rows or 1)))
    if 1 / FAR_FROM_ONE <= unit <= FAR_FROM_ONE:
        return source
    return mapped(source, WeightUnit(unit))


def _weights_out_of_range(largest: float) -> ValueError:
    return ValueError(
        f"The largest weight must be between {LEAST:g} and {LARGEST:g}; got {largest:g}. Divide "
        "the weights by their mean."
    )


def _largest(X: Any) -> float:
    """Return the largest size of the numbers that are not missing."""
    values = X.data if sp.issparse(X) else X
    found = max(values.max(initial=0.0), -values.min(initial=0.0))
    if np.isnan(found):
        found = np.fmax.reduce(np.abs(values), axis=None, initial=0.0)
    return float(found)
