"""DataSource: rows that can be read in batches, in every pass or only once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.validation import require_batch_size

SAMPLE = 0x5A3B1E  # separates the random numbers of samples from those of passes


def even_cut(n_rows: int, size: int, start: int = 0) -> Iterator[slice]:
    """Cut n_rows into ceil(n_rows / size) slices whose lengths differ by at most one.

    A plain cut leaves n_rows mod size rows for the last batch, and a step on a tiny batch is
    mostly noise. The first `start` slices are skipped.

    >>> [s.stop - s.start for s in even_cut(10, 4)]
    [3, 3, 4]
    """
    require_batch_size(size)
    number = -(-n_rows // size)
    for k in range(start, number):
        yield slice(k * n_rows // number, (k + 1) * n_rows // number)


class Reader:
    """Reads any number of rows of a stream, whatever the pieces in which they arrive.

    It holds only the pieces that the requested rows overlap. Rows that were not taken stay for the
    next call.
    """

    def __init__(self, pieces: Iterator[Batch]) -> None:
        self._pieces = pieces
        self._waiting: deque[Batch] = deque()
        self._given = 0  # rows taken from the first waiting piece; slicing them off would copy CSR

    def peek(self, size: int) -> Batch | None:
        """Return the next `size` rows (fewer at the end, None after it) without taking them."""
        self._fill(size)
        parts, start = [], self._given
        for piece in self._waiting:
            if size > 0:
                parts.append(piece[start : start + size])
                size, start = size - len(parts[-1]), 0
        return Batch.join(parts) if parts else None

    def take(self, size: int) -> Batch | None:
        """Take the next `size` rows: fewer at the end, None after it."""
        batch = self.peek(size)
        self._given += 0 if batch is None else len(batch)
        while self._waiting and self._given >= len(self._waiting[0]):
            self._given -= len(self._waiting.popleft())
        return batch

    def _fill(self, size: int) -> None:
        missing = size + self._given - sum(map(len, self._waiting))
        while missing > 0 and (piece := next(self._pieces, None)) is not None:
            if len(piece) > 0:
                self._waiting.append(piece)
            missing -= len(piece)


def cut(reader: Reader, n_rows: int | None, size: int, start: int = 0) -> Iterator[Batch]:
    """Cut a stream into batches, evenly if n_rows is known; skip the first `start`."""
    require_batch_size(size)
    known = even_cut(n_rows or 0, size)
    for number, length in enumerate(chain((s.stop - s.start for s in known), repeat(size))):
        if (batch := reader.take(length)) is None:
            return
        if number >= start:
            yield batch


class DataSource(ABC):
    """Rows in batches.

    `batches` is a pure function of its arguments: the same arguments give the same rows in the same
    order, so a resumed fit sees the same data as an uninterrupted one. The exception is a source
    that can be read only once (`once` is True): each call of `batches` continues after the last
    row that was read, whatever `seed`, `pass_` and `start` are.
    """

    once: bool = False

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns."""

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """The number of rows, None if it is unknown before the end."""

    @abstractmethod
    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the rows of one pass, at most `size` at a time, from batch number `start` on.

        If `n_rows` is known, there are ceil(n_rows / size) batches of nearly equal sizes. Otherwise
        all batches but the last have `size` rows.
        """

    @abstractmethod
    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return at most `size` rows that represent all of them."""


class WrappedSource(DataSource):
    """The rows of another source, in another order or at another time."""

    def __init__(self, source: DataSource) -> None:
        self.source, self.once = source, source.once

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.source.n_columns

    @property
    def n_rows(self) -> int | None:
        """The number of rows, None if the source does not know it."""
        return self.source.n_rows

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a sample of the source."""
        return self.source.sample(size, seed)


class RandomAccess(DataSource):
    """Rows that can be read in any order, by their positions 0, ..., n_rows - 1.

    The `index` of a batch holds row numbers of the original data; in a source that leaves rows out
    they differ from the positions.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these positions, in this order."""

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the rows in their order, the same in every pass."""
        for places in even_cut(self.n_rows, size, start):
            yield self.take(places)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Draw one row from each of `size` equal strata; rows are distinct and in order."""
        return self.take(stratified(self.n_rows, size, seed))


class Stream(DataSource):
    """Rows in a fixed sequence, defined by the pieces in which they arrive."""

    _reader: Reader | None = None

    @abstractmethod
    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the rows of a pass in pieces of any sizes; the caller reads `size` at a time."""

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Cut the pieces into batches; batches before `start` are read and discarded.

        A source that can be read once continues after the last batch; rows between calls are kept.
        """
        if not self.once:
            return cut(Reader(self.pieces(size, seed, pass_)), self.n_rows, size, start)
        if self._reader is None:
            self._reader = Reader(self.pieces(size, seed, pass_))
        return cut(self._reader, None, size)

    def _peek(self, size: int, seed: int) -> Batch | None:
        """Return the first rows, or the next ones if rows can be read once; none is taken."""
        if not self.once:
            return Reader(self.pieces(size, seed, 0)).peek(size)
        if self._reader is None:
            self._reader = Reader(self.pieces(size, seed, 0))
        return self._reader.peek(size)


def stratified(n_rows: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return one random position in each of min(size, n_rows) equal strata of range(n_rows)."""
    size = min(size, n_rows)
    bounds = np.arange(size + 1, dtype=np.int64) * n_rows // max(size, 1)
    draws = Random(seed, SAMPLE).integers(size) % np.diff(bounds).astype(np.uint64)
    return bounds[:-1] + draws.astype(np.int64)
