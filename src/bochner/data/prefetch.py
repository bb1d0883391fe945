"""Prefetched: batches that a background thread reads ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from bochner.data.batch import Batch
from bochner.data.source import DataSource, WrappedSource


class Prefetched(WrappedSource):
    """The batches of a source, read by one background thread.

    Errors are raised where the batch is requested. The thread ends at the last batch, at an error,
    or when the generator is closed. Make this the outermost wrapper, since it has no random access.
    If a source can be read only once and its generator is closed early, up to `depth` batches that
    were read ahead are lost.

    Parameters
    ----------
    source : DataSource
    depth : int
        Batches read ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> [len(batch) for batch in Prefetched(ArraySource(np.eye(5))).batches(2)]
    [1, 2, 2]
    """

    def __init__(self, source: DataSource, depth: int = 2) -> None:
        if depth < 1:
            raise ValueError(f"depth must be at least 1 batch; got {depth}.")
        super().__init__(source)
        self.depth = depth

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the source's batches; a single worker keeps their order."""
        batches = self.source.batches(size, seed, pass_, start)
        worker = ThreadPoolExecutor(1, thread_name_prefix="bochner-prefetch")
        try:
            ahead = deque(worker.submit(next, batches, None) for _ in range(self.depth))
            while (batch := ahead.popleft().result()) is not None:
                ahead.append(worker.submit(next, batches, None))
                yield batch
        finally:
            worker.shutdown(wait=True, cancel_futures=True)


def prefetched(source: DataSource, depth: int = 2) -> Prefetched:
    """Return the batches of a source, read ahead in the background; see `Prefetched`."""
    return Prefetched(source, depth)
