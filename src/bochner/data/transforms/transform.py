"""Transform: a function of rows, and sources whose batches it is applied to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.data.batch import Batch, Rows
from bochner.data.source import DataSource, RandomAccess
from bochner.records import Validated, require_sound

SAMPLE_ROWS = 16_384
CHUNK_NUMBERS = 2**22  # 32 MiB of float64
CHUNK_ROWS = (1_024, 8_192)  # fewest and most


class Transform(Component, ABC, family="transform"):
    """A function of rows, applied to batches of a source or to bare rows."""

    @abstractmethod
    def rows(self, X: Rows) -> Rows:
        """Transform rows; float32 stays float32, integers become float64."""

    def __call__(self, batch: Batch) -> Batch:
        """Transform the rows of a batch."""
        return replace(batch, X=self.rows(batch.X))


def learning_batches(source: DataSource) -> Iterator[Batch]:
    """Yield one pass over the source, or only its sample if it can be read once."""
    if source.once:
        yield source.sample(SAMPLE_ROWS)
        return
    fewest, most = CHUNK_ROWS
    yield from source.batches(min(max(CHUNK_NUMBERS // max(source.n_columns, 1), fewest), most))


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for floats of at most 32 bits, float64 for other types."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def require_finite(columns: NDArray[np.float64]) -> None:
    """Refuse columns whose statistic is not finite."""
    bad = np.flatnonzero(~np.isfinite(columns))
    if len(bad) > 0:
        raise ValueError(
            "Columns must hold finite numbers that are not too large to be squared; column(s) "
            f"{', '.join(map(str, bad[:10]))} do not. Fill in or drop NaN and infinity first."
        )


@dataclass(init=False, eq=False, repr=False)
class TransformedSource(DataSource):
    """The batches of `source`, each transformed by `transform`; made by `mapped`.

    Parameters
    ----------
    source : DataSource
    transform : callable from Batch to Batch
        Must preserve the number and the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource, RowNormalization, mapped
    >>> source = mapped(ArraySource(np.array([[3.0, 4.0]])), RowNormalization())
    >>> next(source.batches(1)).X
    array([[0.6, 0.8]])
    """

    source: DataSource
    once: bool
    transform: Callable[[Batch], Batch]

    def __init__(self, source: DataSource, transform: Callable[[Batch], Batch]) -> None:
        self.source = source
        self.once = source.once
        self.transform = transform

    @cached_property
    def n_columns(self) -> int:
        """The number of columns after the transform, found by transforming one row."""
        return int(self.transform(self.source.sample(1)).X.shape[1])


@dataclass(init=False, eq=False, repr=False)
class TransformedRows(TransformedSource, RandomAccess, Validated):
    """Rows with random access, transformed when they are taken."""

    source: RandomAccess

    def validate(self) -> None:
        """Check the transform on one row."""
        mapped = self.transform(self.source.sample(1))
        require_sound(isinstance(mapped, Batch), "its transform does not return a batch")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the transformed rows at these positions."""
        return self.transform(self.source.take(places))


class CheckedRows(TransformedRows):
    """Rows with random access, of which each is checked the first time that it is taken.

    They do not change between passes: arrays, rows stored in memory or in a temporary file.
    """

    def __init__(self, source: RandomAccess, check: Callable[[Batch], Batch]) -> None:
        super().__init__(source, check)
        self._is_checked = np.zeros(source.n_rows, bool)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these positions; refuse those that the check refuses."""
        if self._is_checked[places].all():
            return self.source.take(places)
        batch = super().take(places)
        self._is_checked[places] = True
        return batch


class TransformedStream(TransformedSource):
    """A stream, transformed batch by batch."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, None if the source does not know it."""
        return self.source.n_rows

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the transformed batches of the source."""
        for batch in self.source.batches(size, seed, pass_, start):
            yield self.transform(batch)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a transformed sample of the source."""
        return self.transform(self.source.sample(size, seed))


def mapped(source: DataSource, transform: Callable[[Batch], Batch]) -> TransformedSource:
    """Return a source whose batches are transformed; a source with random access keeps it."""
    if isinstance(source, RandomAccess):
        return TransformedRows(source, transform)
    return TransformedStream(source, transform)


def checked_source(source: DataSource, check: Callable[[Batch], Batch]) -> TransformedSource:
    """Return a source whose rows are checked, by a function that raises or returns the batch.

    Rows with random access are checked once. A stream is produced anew in each pass, from files
    that may have changed, so each pass checks it.
    """
    if isinstance(source, RandomAccess):
        return CheckedRows(source, check)
    return TransformedStream(source, check)
