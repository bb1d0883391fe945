"""Mapped: a source whose batches pass through a transform."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.source import DataSource, RandomAccess


class Mapped(DataSource):
    """The batches of `source`, each passed through `transform`; made by `mapped`.

    Parameters
    ----------
    source : DataSource
    transform : callable from Batch to Batch
        Must keep the rows, their number and their order.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource, RowNormalization, mapped
    >>> source = mapped(ArraySource(np.array([[3.0, 4.0]])), RowNormalization())
    >>> next(source.batches(1)).X
    array([[0.6, 0.8]])
    """

    source: DataSource

    def __init__(self, source: DataSource, transform: Callable[[Batch], Batch]) -> None:
        self.source = source
        self.once = source.once
        self.transform = transform

    @cached_property
    def _n_columns(self) -> int:
        return int(self.transform(self.source.sample(1)).X.shape[1])

    @property
    def n_columns(self) -> int:
        """The number of columns after the transform, found on one row."""
        return self._n_columns


class MappedRows(Mapped, RandomAccess):
    """Rows with random access, transformed as they are taken."""

    source: RandomAccess

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the transformed rows at these places."""
        return self.transform(self.source.take(places))


class MappedStream(Mapped):
    """A stream, transformed batch by batch."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if the source knows it."""
        return self.source.n_rows

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Transform the source's batches."""
        for batch in self.source.batches(size, seed, pass_, start):
            yield self.transform(batch)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a transformed sample of the source."""
        return self.transform(self.source.sample(size, seed))


def mapped(source: DataSource, transform: Callable[[Batch], Batch]) -> Mapped:
    """Return a source whose batches pass through `transform`; random access is kept."""
    if isinstance(source, RandomAccess):
        return MappedRows(source, transform)
    return MappedStream(source, transform)
