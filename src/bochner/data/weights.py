"""Rows of positive weight: a row of weight 0 is as if it were not there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.source import DataSource, RandomAccess, Stream, WrappedSource

READ_ROWS = 16_384  # at a time
NO_WEIGHT = (
    "The weights are zero for every row: there is nothing to learn. Give at least one row a "
    "positive weight."
)


class PositiveRows(DataSource):
    """The rows of positive weight of a source, numbered anew; made by `positive_rows`."""

    source: DataSource

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.source.n_columns

    @abstractmethod
    def left_out(self) -> Iterator[Batch]:
        """Yield the rows of weight 0."""


class ChosenRows(PositiveRows, RandomAccess):
    """The rows of a source with random access at the positions `places`.

    `weighted` is False if all their weights are 1, so that they need none.
    """

    source: RandomAccess

    def __init__(self, source: RandomAccess, places: NDArray[np.int64], weighted: bool) -> None:
        self.source, self.places, self.weighted = source, places, weighted

    @property
    def n_rows(self) -> int:
        """The number of rows of positive weight."""
        return len(self.places)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these positions among those of positive weight."""
        batch = self.source.take(self.places[places])
        weight = batch.weight if self.weighted else None
        return replace(batch, index=np.arange(self.n_rows)[places], weight=weight)

    def left_out(self) -> Iterator[Batch]:
        """Yield the other rows."""
        others = np.setdiff1d(np.arange(self.source.n_rows), self.places, assume_unique=True)
        for start in range(0, len(others), READ_ROWS):
            yield self.source.take(others[start : start + READ_ROWS])


class PositiveStream(PositiveRows, Stream):
    """The rows of positive weight of a stream.

    `numbers` are their row numbers in the source, in ascending order. They are None if the source
    can be read only once, so that its order is that of the numbers. `weighted` is as above.
    """

    def __init__(
        self, source: DataSource, numbers: NDArray[np.int64] | None, weighted: bool
    ) -> None:
        self.source, self.once, self.weighted = source, source.once, weighted
        self.numbers = numbers
        self._n_columns = source.n_columns  # while there are rows left to ask

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self._n_columns

    @property
    def n_rows(self) -> int | None:
        """The number of rows of positive weight, None if the source does not know its number."""
        known = self.numbers is not None and self.source.n_rows is not None
        return len(self.numbers) if known else None  # type: ignore[arg-type]

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the rows of positive weight of the source's batches."""
        rows = 0
        for batch in self.source.batches(size, seed, pass_):
            piece = self._positive(batch, rows)
            rows += len(piece)
            yield piece

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return the first rows, or those of the source's sample if it represents all rows."""
        if self.source.n_rows is not None:
            some = self._positive(self.source.sample(size, seed), 0)
            if len(some) > 0:
                return some
        batch = self._peek(size, seed)
        if batch is None:
            raise ValueError(NO_WEIGHT)
        return batch

    def left_out(self) -> Iterator[Batch]:
        """Yield the rows of weight 0, in another pass; none if the source is read once."""
        for batch in () if self.once else self.source.batches(READ_ROWS):
            yield batch[batch.weights == 0]

    def _positive(self, batch: Batch, first_row: int) -> Batch:
        positive = batch[batch.weights > 0]
        if self.numbers is None:
            index = np.arange(first_row, first_row + len(positive))
        else:
            index = np.searchsorted(self.numbers, positive.index)
        return replace(positive, index=index, weight=positive.weight if self.weighted else None)


def positive_rows(source: DataSource) -> DataSource:
    """Return the rows of positive weight; a source without weights is returned unchanged.

    Weights that are all 1 are left out, so that they are as good as none. This takes a pass over
    rows with weights, unless they can be read only once.

    >>> from bochner.data import ArraySource
    >>> source = positive_rows(ArraySource(np.eye(3), weight=[1.0, 0.0, 2.0]))
    >>> source.n_rows, next(source.batches(3)).weight.tolist()
    (2, [1.0, 2.0])
    """
    if source.once:
        return PositiveStream(source, None, True) if _has_weights(source) else source
    if source.n_rows == 0 or not _has_weights(source):
        return source
    known = [(batch.index, batch.weights) for batch in source.batches(READ_ROWS)]
    numbers, weight = (np.concatenate(parts) for parts in zip(*known, strict=True))
    positive = np.flatnonzero(weight > 0)
    weighted = bool((weight[positive] != 1).any())
    if len(positive) == len(weight) and weighted:
        return source
    if len(positive) == 0:
        raise ValueError(NO_WEIGHT)
    if isinstance(source, RandomAccess):
        return ChosenRows(source, positive, weighted)
    return PositiveStream(source, np.sort(numbers[positive]), weighted)


def rows_left_out(source: DataSource) -> Iterator[Batch]:
    """Yield the rows of weight 0 that `positive_rows` has left out of a source, if any."""
    while isinstance(source, WrappedSource):
        source = source.source
    if isinstance(source, PositiveRows):
        yield from source.left_out()


def _has_weights(source: DataSource) -> bool:
    return source.sample(1).weight is not None
