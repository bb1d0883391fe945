"""PairStream: two samples, walked through side by side, as one source with labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from bochner.data import Batch, DataSource, Stream
from bochner.data.cut import Reader
from bochner.estimators.sample_pair import SamplePair


class PairStream(Stream):
    """As many rows of x, as +1, as of y, as -1, in each batch, and of equal mass.

    A sample that can be read again begins anew if it ends before the other one; one that can be
    read once ends the walk.
    """

    def __init__(self, x: DataSource, y: DataSource) -> None:
        self.x, self.y = x, y
        self.once = x.once or y.once

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.x.n_columns

    @property
    def n_rows(self) -> None:
        """Not known: rows of a short sample come several times."""
        return None

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Give `size` rows at a time, half of them from either sample."""
        rows, both = max(1, size // 2), (self.x, self.y)
        walks = [Reader(source.batches(rows, seed, pass_)) for source in both]
        later = [Reader(_again(source, rows, seed, pass_)) for source in both]
        while any(parts := [walk.take(rows) for walk in walks]):
            most = max(len(part) for part in parts if part is not None)
            x, y = (_filled(part, more, most) for part, more in zip(parts, later, strict=True))
            if x is None or y is None:
                return
            if (pair := SamplePair(x, y)).weighs:
                yield pair.labelled()

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a labelled sample of both."""
        rows = max(1, size // 2)
        return SamplePair(self.x.sample(rows, seed), self.y.sample(rows, seed)).labelled()


def _again(source: DataSource, rows: int, seed: int, pass_: int) -> Iterator[Batch]:
    """Walk through what can be read again without an end."""
    for number in count(pass_ + 1):
        batch = None
        for batch in () if source.once else source.batches(rows, seed, number):
            yield batch
        if batch is None:
            return


def _filled(part: Batch | None, more: Reader, most: int) -> Batch | None:
    """Return `most` rows if so many can be had."""
    missing = most - (0 if part is None else len(part))
    parts = [part, more.take(missing) if missing else None]
    given = [rows for rows in parts if rows is not None]
    return Batch.join(given) if given else None
