"""The first pass over files: the schema is learned and rows are kept, in one go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.files.parsing import Parsing, SparseParsing, TableParsing, Vocabularies
from bochner.data.files.schema.schema import Missing, Schema
from bochner.data.files.schema.summary import RowSample, Summary, Tally
from bochner.data.files.schema.vocabulary import Vocabulary
from bochner.data.files.stored_rows import StoredRows
from bochner.data.source import Reader, cut

BLOCK_BYTES = 1 << 24
MOST_ROWS, FEWEST_ROWS = 65_536, 1_024


@dataclass(frozen=True)
class ReadingProgress:
    """Bytes and rows that were read, and the time it took.

    Parameters
    ----------
    bytes_read : int
    bytes_total : int or None
        None where nobody knows, as of standard input.
    rows : int
    seconds : float
    """

    bytes_read: int
    bytes_total: int | None
    rows: int
    seconds: float


Progress = Callable[[ReadingProgress], None]


@dataclass(frozen=True, eq=False)
class Recoding:
    """What becomes of raw rows: categories and labels get their places among the sorted ones."""

    schema: Schema
    places: dict[int, NDArray[np.int64]]
    labels: NDArray[Any] | None

    def __call__(self, batch: Batch) -> Batch:
        """Return rows and targets as the schema has them."""
        X = batch.X
        if self.places:
            X = X.copy()
            for column, place in self.places.items():
                X[:, column] = place[X[:, column].astype(np.int64)]
        return Batch(X, self._targets(batch.y), batch.index, batch.weight)

    def _targets(self, y: NDArray[Any] | None) -> NDArray[Any] | None:
        if y is None:
            return None
        if self.labels is not None:
            return self.labels[y[:, 0].astype(np.int64)]
        y = y.astype(np.int64) if self.schema.whole else y
        return y[:, 0] if self.schema.flat else y


@dataclass(frozen=True, eq=False)
class Learned:
    """What the first pass found."""

    schema: Schema
    recoding: Recoding
    rows: int
    sample: Batch | None
    tally: Tally


class Watch:
    """Tells how far the pass has come, a chunk at a time."""

    def __init__(self, parsing: Parsing, progress: Progress | None) -> None:
        self.progress, self.began, self.rows = progress, time.perf_counter(), 0
        sizes = [stamp.size for stamp in parsing.stamps]
        self.total = sum(sizes) if len(sizes) == len(parsing.tables) else None
        self.parsing = parsing

    def over(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Give the batches on, telling of each."""
        for batch in batches:
            self.rows += len(batch)
            self._tell(self.parsing.bytes_read())
            yield batch
        self._tell(self.parsing.bytes_read() if self.total is None else self.total)

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            done = done if self.total is None else min(done, self.total)
            seconds = time.perf_counter() - self.began
            self.progress(ReadingProgress(done, self.total, self.rows, seconds))


def block_rows(columns: int) -> int:
    """Return how many rows are looked at together; it depends on nothing but their width."""
    return max(FEWEST_ROWS, min(MOST_ROWS, BLOCK_BYTES // (8 * max(columns, 1))))


def learn_table(
    parsing: TableParsing,
    kept: StoredRows | None,
    known: Schema | None,
    missing: Missing,
    progress: Progress | None,
) -> Learned:
    """Walk through a table once; `known` is the schema that it has to have."""
    layout, tally = parsing.layout, Tally(parsing.skips)
    names = vocabularies(parsing, known)
    summary = Summary(len(layout.names))
    sample = RowSample(len(layout.names)) if kept is None or missing == "median" else None
    batches = Watch(parsing, progress).over(parsing.batches(tally, names))
    for block in cut(Reader(batches), None, block_rows(len(layout.names))):
        summary.add(block, means=missing == "mean")
        if sample is not None:
            sample.add(block)
        if kept is not None:
            kept.add(block)
    _require_rows(summary.rows, parsing, tally)
    if missing == "refuse":
        tally.require_complete(known)
    rows = None if sample is None else sample.rows()
    schema, recoding = _schema(parsing, names, summary, known, missing, rows)
    if kept is not None:
        kept.finish()
    return Learned(schema, recoding, summary.rows, rows, tally)


def learn_sparse(
    parsing: SparseParsing, kept: Any | None, known: Schema | None, progress: Progress | None
) -> Learned:
    """Walk through sparse rows once."""
    tally, summary, width = Tally(parsing.skips), Summary(0), 0
    for batch in Watch(parsing, progress).over(parsing.batches(tally, {})):
        summary.rows += len(batch)
        summary.add_targets(batch.y)
        width = max(width, batch.X.shape[1])
        if kept is not None:
            kept.add(batch)
    _require_rows(summary.rows, parsing, tally)
    width = width if known is None else len(known.names)
    zero_based = bool(parsing.tables[0].zero_based)
    schema = known or sparse_schema(width, parsing.dtype, summary.whole, zero_based)
    if kept is not None:
        kept.n_columns = width
        kept.finish()
    return Learned(schema, Recoding(schema, {}, None), summary.rows, None, tally)


def sparse_schema(width: int, dtype: Any, whole: bool, zero_based: bool) -> Schema:
    """Return the schema of so many sparse columns."""
    return Schema(
        tuple(map(str, range(width))),
        (None,) * width,
        targets=("label",),
        filling=(0.0,) * width,
        dtype=str(np.dtype(dtype)),
        named=False,
        sparse=True,
        whole=whole,
        zero_based=zero_based,
    )


def vocabularies(parsing: TableParsing, known: Schema | None) -> Vocabularies:
    """Return a vocabulary for each column of text; labels are always met anew."""
    layout = parsing.layout
    names = {name: Vocabulary(name) for name in layout.texts}
    if known is not None:
        for place in known.categorical:
            names[known.names[place]] = Vocabulary(known.names[place], known.categories[place])
        if known.labels is not None and layout.targets:
            labels = {label: place for place, label in enumerate(known.labels)}
            names[layout.targets[0]].places.update(labels)
    return names


def labels_of(parsing: Parsing, names: Vocabularies) -> NDArray[Any] | None:
    """Return the labels that were met, None where targets are numbers."""
    if not isinstance(parsing, TableParsing) or not parsing.layout.label:
        return None
    return np.array(list(names[parsing.layout.targets[0]].places))


def _schema(
    parsing: TableParsing,
    names: Vocabularies,
    summary: Summary,
    known: Schema | None,
    missing: Missing,
    sample: Batch | None,
) -> tuple[Schema, Recoding]:
    layout, labels = parsing.layout, labels_of(parsing, names)
    if known is not None:
        return known, Recoding(known, {}, labels)
    found = {name: names[name].sorted() for name in layout.categorical}
    schema = Schema(
        layout.names,
        tuple(found[name][0] if name in found else None for name in layout.names),
        layout.targets,
        None if labels is None else tuple(sorted(map(str, labels))),
        layout.flat,
        layout.weight,
        missing,
        summary.filling(missing, sample),
        str(parsing.dtype),
        parsing.tables[0].named,
        whole=bool(layout.targets) and labels is None and summary.whole,
    )
    places = {j: found[name][1] for j, name in enumerate(layout.names) if name in found}
    return schema, Recoding(schema, places, labels)


def _require_rows(rows: int, parsing: Parsing, tally: Tally) -> None:
    if rows == 0:
        files = ", ".join(table.name for table in parsing.tables[:3])
        why = f" All {tally.bad} rows were malformed: {tally.first[0]}" if tally.bad else ""
        raise ValueError(
            f"There must be at least one row to learn from; {files} has none.{why} Give one with "
            "rows."
        )
