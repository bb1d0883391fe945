"""HeldOut: a source without the rows that are held out for evaluation."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import row_hash
from bochner.data.batch import Batch
from bochner.data.source import DataSource, RandomAccess, Stream, WrappedSource

CHUNK_ROWS = 65_536


class HeldOutRule:
    """Hold out row i if hash(seed, i) < share * 2^64, but only the first `most` such rows.

    This depends on the row number alone, so it is the same in every pass, order and batch size.

    >>> rule = HeldOutRule(share=0.5, most=3, seed=0)
    >>> len(rule.below(1_000))
    3
    """

    def __init__(self, share: float, most: int, seed: int) -> None:
        if not 0.0 <= share < 1.0:
            raise ValueError(f"share must be at least 0 and less than 1; got {share}.")
        if most < 0:
            raise ValueError(f"most must be a number of rows, 0 or more; got {most}.")
        self.most = most
        self.seed = seed
        self._bound = np.uint64(int(share * 2.0**64))
        self._numbers = np.empty(0, dtype=np.int64)
        self._counted = 0

    def below(self, n_rows: int) -> NDArray[np.int64]:
        """Return the held-out row numbers below n_rows, in order."""
        if self._bound == 0:
            return self._numbers
        while self._counted < n_rows and len(self._numbers) < self.most:
            self._count(min(self._counted + CHUNK_ROWS, n_rows))
        return self._numbers[: np.searchsorted(self._numbers, n_rows)]

    def among(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these row numbers are held out."""
        numbers = self.below(int(index.max(initial=-1)) + 1)
        last = numbers[-1] if len(numbers) > 0 else -1
        return self._selected(index) & (index <= last)

    def _count(self, stop: int) -> None:
        chunk = np.arange(self._counted, stop, dtype=np.int64)
        self._numbers = np.append(self._numbers, chunk[self._selected(chunk)])[: self.most]
        self._counted = stop

    def _selected(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(row_hash(self.seed, index) < self._bound)


class HeldOut(DataSource):
    """The rows of `source` that are not held out, with their row numbers; made by `hold_out`.

    Parameters
    ----------
    source : DataSource
    share : float
        The probability that a row is held out, in [0, 1).
    most : int
        The largest number of held-out rows; the first in row order are used.
    seed : int

    Examples
    --------
    >>> from bochner.data import ArraySource, hold_out
    >>> source = hold_out(ArraySource(np.eye(100)), share=0.2, most=10, seed=0)
    >>> len(source.held_out()), source.n_rows
    (10, 90)
    """

    source: DataSource

    def __init__(self, source: DataSource, share: float, most: int, seed: int) -> None:
        self.source = source
        self.once = source.once
        self.rule = HeldOutRule(share, most, seed)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.source.n_columns

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The row numbers that are held out; a stream of unknown length may end before some."""
        n_rows = self.source.n_rows
        return self.rule.below(sys.maxsize if n_rows is None else n_rows)

    @abstractmethod
    def held_out(self) -> Batch | None:
        """Return the held-out rows in row order, None if there are none."""

    @abstractmethod
    def all_rows(self) -> DataSource:
        """Return a source of all rows, whose passes also collect the held-out rows of a stream."""


class HeldOutRows(HeldOut, RandomAccess):
    """Rows with random access, of which some are held out."""

    source: RandomAccess

    @property
    def n_rows(self) -> int:
        """The number of remaining rows."""
        return self.source.n_rows - len(self._held)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the remaining rows at these positions."""
        if isinstance(places, slice):
            places = np.arange(*places.indices(self.n_rows), dtype=np.int64)
        # Before held-out row number k there are held[k] - k remaining ones.
        before = self._held - np.arange(len(self._held))
        return self.source.take(places + np.searchsorted(before, places, side="right"))

    def held_out(self) -> Batch | None:
        """Return the held-out rows, read from the source."""
        return self.source.take(self._held) if len(self._held) > 0 else None

    def all_rows(self) -> RandomAccess:
        """Return the source: its held-out rows need not be collected."""
        return self.source

    @property
    def _held(self) -> NDArray[np.int64]:
        return self.rule.below(self.source.n_rows)


class HeldOutStream(HeldOut, Stream):
    """A stream of which some rows are held out; they are collected as they are read."""

    def __init__(self, source: DataSource, share: float, most: int, seed: int) -> None:
        super().__init__(source, share, most, seed)
        self._collected: list[Batch] = []

    @property
    def n_rows(self) -> int | None:
        """The number of remaining rows, if the source knows its number of rows."""
        n_rows = self.source.n_rows
        return None if n_rows is None else n_rows - len(self.rule.below(n_rows))

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the remaining rows of the source's batches and collect the others."""
        for batch in self.source.batches(size, seed, pass_):
            held = self.collect(batch)
            yield batch[~held] if held.any() else batch

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return the remaining rows of the source's sample."""
        batch = self.source.sample(size, seed)
        return batch[~self.rule.among(batch.index)]

    def held_out(self) -> Batch | None:
        """Return the held-out rows read so far, in row order."""
        collected = list(self._collected)  # a prefetching thread may append to it
        if not collected:
            return None
        rows = Batch.join(collected)
        return rows[np.argsort(rows.index)]

    def all_rows(self) -> DataSource:
        """Return all rows of the source; a pass over them collects those that are held out."""
        return CollectingStream(self)

    def collect(self, batch: Batch) -> NDArray[np.bool_]:
        """Return which rows of a batch are held out, and keep those that are new."""
        held = self.rule.among(batch.index)
        known = [rows.index for rows in self._collected]
        new = held & ~np.isin(batch.index, np.concatenate(known)) if known else held
        if new.any():
            self._collected.append(batch[new])
        return held


class CollectingStream(WrappedSource):
    """All rows of the source of a `HeldOutStream`, which collects its own as they are read."""

    def __init__(self, rest: HeldOutStream) -> None:
        super().__init__(rest.source)
        self.rest = rest

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield all rows."""
        for batch in self.source.batches(size, seed, pass_, start):
            self.rest.collect(batch)
            yield batch


def hold_out(source: DataSource, share: float, most: int, seed: int) -> HeldOut:
    """Hold out rows of a source; a source with random access keeps it. See `HeldOut`."""
    if isinstance(source, RandomAccess):
        return HeldOutRows(source, share, most, seed)
    return HeldOutStream(source, share, most, seed)
