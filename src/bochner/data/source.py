"""DataSource: rows that can be read in batches, as often as needed or only once."""

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

SAMPLE = 0x5A3B1E  # keeps the draws of samples apart from those of passes


def even_cut(n_rows: int, size: int, start: int = 0) -> Iterator[slice]:
    """Cut n_rows into ceil(n_rows / size) slices whose lengths differ by at most one.

    A plain cut leaves n_rows mod size rows for the last batch, and a step on a tiny batch is
    mostly noise. The slices from number `start` on are given.

    >>> [s.stop - s.start for s in even_cut(10, 4)]
    [3, 3, 4]
    """
    require_batch_size(size)
    number = -(-n_rows // size)
    for k in range(start, number):
        yield slice(k * n_rows // number, (k + 1) * n_rows // number)


class Reader:
    """Rows of a stream, given in any numbers whatever the pieces they arrive in.

    It holds the pieces that were begun, no more than the rows asked for reach into. Rows that were
    not given stay, so whoever comes next goes on where the last one stopped.
    """

    def __init__(self, pieces: Iterator[Batch]) -> None:
        self._pieces = pieces
        self._waiting: deque[Batch] = deque()
        self._given = 0  # rows of the first waiting piece; cutting them off would copy CSR rows

    def peek(self, size: int) -> Batch | None:
        """Return the next `size` rows, fewer at the end, None after it; they will come again."""
        self._fill(size)
        parts, start = [], self._given
        for piece in self._waiting:
            if size > 0:
                parts.append(piece[start : start + size])
                size, start = size - len(parts[-1]), 0
        return Batch.join(parts) if parts else None

    def take(self, size: int) -> Batch | None:
        """Return the next `size` rows, fewer at the end, None after it."""
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
    """Cut a stream into batches, evenly if n_rows is known; the first `start` are passed over."""
    require_batch_size(size)
    known = even_cut(n_rows or 0, size)
    for number, length in enumerate(chain((s.stop - s.start for s in known), repeat(size))):
        if (batch := reader.take(length)) is None:
            return
        if number >= start:
            yield batch


class DataSource(ABC):
    """Rows in batches.

    `batches` is a pure function of its arguments: the same arguments give the same rows in the
    same order, so that a fit that is resumed sees what an uninterrupted one sees. A source that
    can be read only once says so by `once`: each call of its `batches` goes on where the last one
    stopped, whatever the arguments `seed`, `pass_` and `start`.
    """

    once: bool = False

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns."""

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """The number of rows, or None if it is not known before the end."""

    @abstractmethod
    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Walk through the rows once, at most `size` at a time, from batch number `start` on.

        Where `n_rows` is known there are ceil(n_rows / size) batches of nearly equal sizes;
        where it is not, all have `size` rows but the last.
        """

    @abstractmethod
    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return at most `size` rows that stand for all of them."""


class RandomAccess(DataSource):
    """Rows that can be read in any order, by their places 0, ..., n_rows - 1.

    The `index` of a batch says where its rows come from: in a source that leaves rows out it
    differs from their places here.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these places, in this order."""

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Walk through the rows in their order; every pass is the same."""
        for places in even_cut(self.n_rows, size, start):
            yield self.take(places)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Draw one row from each of `size` equal strata: distinct, in row order, at no pass."""
        return self.take(stratified(self.n_rows, size, seed))


class Stream(DataSource):
    """Rows that come in an order of their own: a source known by the pieces it gives."""

    _reader: Reader | None = None

    @abstractmethod
    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Give the rows of a pass in pieces of any sizes; `size` rows at a time are wanted."""

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Cut the pieces into batches; a start is reached by reading up to it.

        What can be read once goes on where it is: no row that was read is lost between calls.
        """
        if not self.once:
            return cut(Reader(self.pieces(size, seed, pass_)), self.n_rows, size, start)
        if self._reader is None:
            self._reader = Reader(self.pieces(size, seed, pass_))
        return cut(self._reader, None, size)


def stratified(n_rows: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return one random place in each of min(size, n_rows) equal strata of 0, ..., n_rows - 1."""
    size = min(size, n_rows)
    bounds = np.arange(size + 1, dtype=np.int64) * n_rows // max(size, 1)
    draws = Random(seed, SAMPLE).integers(size) % np.diff(bounds).astype(np.uint64)
    return bounds[:-1] + draws.astype(np.int64)
