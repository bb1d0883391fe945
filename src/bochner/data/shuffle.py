"""Shuffled: the rows of a source in a new random order in each pass."""

from __future__ import annotations

from collections.abc import Iterator

from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.source import DataSource, RandomAccess, Stream, WrappedSource, even_cut

SHUFFLE = 0x5F1E  # separates these random numbers from others of the same seed


class Shuffled(WrappedSource):
    """Rows in an order that is a pure function of (seed, pass).

    With random access a pass is a uniformly random permutation of all rows. A stream passes
    through a `ShuffleBuffer`: a row moves by about as many positions as the buffer holds, so data
    sorted by class need a larger buffer or random access.

    Parameters
    ----------
    source : DataSource
    buffer_rows : int
        Rows in the buffer that shuffles a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> source = Shuffled(ArraySource(np.eye(4)))
    >>> sorted(int(i) for batch in source.batches(3, seed=1) for i in batch.index)
    [0, 1, 2, 3]
    """

    def __init__(self, source: DataSource, buffer_rows: int = 65_536) -> None:
        super().__init__(source)
        self.buffer_rows = buffer_rows
        self._buffer = ShuffleBuffer(source, buffer_rows)

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the rows in the order of (seed, pass_)."""
        if not isinstance(self.source, RandomAccess):
            yield from self._buffer.batches(size, seed, pass_, start)
            return
        order = Random(seed, SHUFFLE, pass_).permutation(self.source.n_rows)
        for places in even_cut(self.source.n_rows, size, start):
            yield self.source.take(order[places])


class ShuffleBuffer(WrappedSource, Stream):
    """A stream shuffled in a buffer of two halves.

    Each round fills one half with new rows, permutes the buffer and yields one half. The number of
    rounds that a row stays is geometrically distributed, so distant parts of the stream mix.
    """

    def __init__(self, source: DataSource, buffer_rows: int) -> None:
        if buffer_rows < 2:
            raise ValueError(f"buffer_rows must be at least 2; got {buffer_rows}.")
        super().__init__(source)
        self.half = buffer_rows // 2

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the rows that leave the buffer in each round, finally the rest."""
        kept: list[Batch] = []
        for number, fresh in enumerate(self.source.batches(self.half, seed, pass_)):
            buffer = Batch.join([*kept, fresh])
            order = Random(seed, SHUFFLE, pass_, number).permutation(len(buffer))
            leaving = max(len(buffer) - self.half, 0)
            kept = [buffer[order[leaving:]]]
            yield buffer[order[:leaving]]
        yield from kept


def shuffled(source: DataSource, buffer_rows: int = 65_536) -> Shuffled:
    """Return the rows of a source in a new random order in each pass; see `Shuffled`."""
    return Shuffled(source, buffer_rows)
