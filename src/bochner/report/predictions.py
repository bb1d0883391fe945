"""Predictions: what a model said about rows whose truth is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.report.picture import Picture
from bochner.report.score import Score

MOST_POINTS = 2_000  # on a picture: more make it heavy and tell nothing


class Predictions(ABC):
    """Truth and predictions of the same rows; the subclasses know how to judge and draw them."""

    task: ClassVar[str]
    truth: NDArray[Any]
    weight: NDArray[Any] | None

    @abstractmethod
    def scores(self) -> tuple[Score, ...]:
        """Return how good the predictions are; the first score decides between runs."""

    @abstractmethod
    def pictures(self, name: str) -> tuple[Picture, ...]:
        """Return what can be seen on the predictions; `name` tells the pictures of runs apart."""

    def __len__(self) -> int:
        return len(self.truth)


def column(name: str, values: Any, rows: int | None = None) -> NDArray[Any]:
    """Return values as an array with one entry for each row."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or (rows is not None and len(array) != rows):
        wanted = "one value for each row" if rows is None else f"{rows:,} values, one for each row"
        raise ValueError(f"{name} must be {wanted}; got an array of shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} has no rows: there is nothing to report on.")
    return array


def matrix(name: str, values: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return values as an array of the given shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}; got {array.shape}.")
    return array


def weights(values: Any, rows: int) -> NDArray[np.float64] | None:
    """Return the weights of rows, or None."""
    return None if values is None else column("weight", values, rows).astype(np.float64)


def some(rows: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Return the numbers of at most that many rows, evenly apart."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.int64))
