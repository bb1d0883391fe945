"""How a pass is cut into batches: evenly where its length is known, else `size` rows at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, repeat

from bochner.data.batch import Batch


def even_cut(n_rows: int, size: int, start: int = 0) -> Iterator[slice]:
    """Cut n_rows into ceil(n_rows / size) slices whose lengths differ by at most one.

    A plain cut leaves n_rows mod size rows for the last batch, and a step on a tiny batch is
    mostly noise. The slices from number `start` on are given.

    >>> [s.stop - s.start for s in even_cut(10, 4)]
    [3, 3, 4]
    """
    require_positive(size)
    number = -(-n_rows // size)
    for k in range(start, number):
        yield slice(k * n_rows // number, (k + 1) * n_rows // number)


def require_positive(size: int) -> None:
    """Refuse a batch size below one."""
    if size < 1:
        raise ValueError(f"A batch must have at least one row; got size={size}.")


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
    require_positive(size)
    known = even_cut(n_rows or 0, size)
    for number, length in enumerate(chain((s.stop - s.start for s in known), repeat(size))):
        if (batch := reader.take(length)) is None:
            return
        if number >= start:
            yield batch
