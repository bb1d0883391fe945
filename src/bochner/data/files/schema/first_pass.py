"""The first pass over files, which learns the schema and stores the rows."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import row_hash
from bochner.data.batch import Batch
from bochner.data.files.formats.chunk import UnreadableFile, quoted_cell
from bochner.data.files.formats.notation import notation_message, other_numbers
from bochner.data.files.formats.svmlight import set_index_base
from bochner.data.files.parsing import Parsing, SparseParsing, TableParsing, Tally, Vocabularies
from bochner.data.files.schema.layout import Layout
from bochner.data.files.schema.schema import (
    MISSING_TEXT,
    Missing,
    NumberedNames,
    Schema,
    Vocabulary,
)
from bochner.data.files.stored_rows import StoredRows, StoredSparse
from bochner.data.source import Reader, cut
from bochner.data.transforms.missing import GAP
from bochner.data.transforms.times import all_parts, expanded, names_of, varying

BLOCK_BYTES = 1 << 24
MOST_ROWS, FEWEST_ROWS = 65_536, 1_024
SAMPLED = 0x5A3F11E  # separates this hash from that of other samples
SAMPLED_BYTES = 1 << 25
MOST_SAMPLED, FEWEST_SAMPLED = 131_072, 4_096
LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class ReadingProgress:
    """Bytes and rows read so far, and the elapsed time.

    Parameters
    ----------
    bytes_read : int
    bytes_total : int or None
        None if unknown, as for standard input.
    rows : int
    seconds : float
    """

    bytes_read: int
    bytes_total: int | None
    rows: int
    seconds: float


Progress = Callable[[ReadingProgress], None]


class Summary:
    """Ranges and means of columns, and whether all targets are whole numbers.

    Blocks of the same rows give the same result, however the files are cut into chunks.
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self.low, self.high = np.full(columns, np.nan), np.full(columns, np.nan)
        self.total, self.count = np.zeros(columns), np.zeros(columns)
        self.whole = True

    def add(self, batch: Batch, means: bool = False) -> None:
        """Add a block of rows."""
        self.rows += len(batch)
        X = batch.X
        self.low = np.fmin(self.low, np.fmin.reduce(X, axis=0).astype(np.float64))
        self.high = np.fmax(self.high, np.fmax.reduce(X, axis=0).astype(np.float64))
        if means:
            known = ~np.isnan(X)
            self.total += np.where(known, X, 0).sum(axis=0, dtype=np.float64)
            self.count += known.sum(axis=0)
        self.add_targets(batch.y)

    def add_targets(self, y: NDArray[Any] | None) -> None:
        """Add targets."""
        if self.whole and y is not None:
            self.whole = bool(np.all((np.floor(y) == y) & (np.abs(y) < LARGEST_WHOLE)))

    def filling(self, missing: Missing, sample: Batch | None) -> tuple[float, ...]:
        """Return the values that replace missing numbers."""
        low, high = np.nan_to_num(self.low), np.nan_to_num(self.high)
        own = high + GAP * np.where(high > low, high - low, 1.0)
        if missing == "mean":
            found = self.total / np.where(self.count, self.count, np.nan)
        elif missing == "median" and sample is not None:
            found = _medians(sample.X)
        else:
            found = own
        return tuple(np.where(np.isfinite(found), found, own).tolist())


class RowSample:
    """A random sample of the rows of a stream.

    Row i is kept while hash(i) is below a bound, which is halved when there are too many rows, so
    the sample depends only on the rows.
    """

    def __init__(self, columns: int) -> None:
        rows = SAMPLED_BYTES // (8 * max(columns, 1))
        self.most = min(MOST_SAMPLED, max(FEWEST_SAMPLED, rows))
        self._bound = 2**64
        self._parts: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Add a block of rows."""
        self._parts.append(self._selected(batch))
        while sum(map(len, self._parts)) > self.most:
            self._bound //= 2
            self._parts = [self._selected(Batch.join(self._parts))]

    def _selected(self, batch: Batch) -> Batch:
        return batch[row_hash(SAMPLED, batch.index) <= np.uint64(self._bound - 1)]

    def rows(self) -> Batch | None:
        """Return the sample in row order, None if there were no rows."""
        return Batch.join(self._parts) if self._parts else None


def _medians(X: NDArray[Any]) -> NDArray[np.float64]:
    found = np.full(X.shape[1], np.nan)
    for j in range(X.shape[1]):
        known = X[:, j][~np.isnan(X[:, j])]
        if len(known):
            found[j] = np.median(known)
    return found


@dataclass(frozen=True, eq=False)
class Recoding:
    """Map the codes of categories and labels to their positions among the sorted ones."""

    schema: Schema
    places: dict[int, NDArray[np.int64]]
    labels: NDArray[Any] | None

    def __call__(self, batch: Batch) -> Batch:
        """Return rows and targets as the schema defines them."""
        X = batch.X
        if self.places:
            X = X.copy()
            for column, place in self.places.items():
                X[:, column] = place[X[:, column].astype(np.int64)]
        X = expanded(X, self.schema.parts)
        return replace(batch, X=X, y=self._targets(batch.y))

    def _targets(self, y: NDArray[Any] | None) -> NDArray[Any] | None:
        if y is None:
            return None
        if self.labels is not None:
            return self.labels[y[:, 0].astype(np.int64)]
        y = y.astype(np.int64) if self.schema.whole else y
        return y[:, 0] if self.schema.flat else y


@dataclass(frozen=True, eq=False)
class FirstPass:
    """The results of the first pass."""

    schema: Schema
    recoding: Recoding
    rows: int
    sample: Batch | None
    tally: Tally


class ProgressReporter:
    """Reports the progress of a pass after each batch."""

    def __init__(self, parsing: Parsing, progress: Progress | None) -> None:
        self.progress, self.began, self.rows = progress, time.perf_counter(), 0
        sizes = [stamp.size for stamp in parsing.stamps]
        self.total = sum(sizes) if len(sizes) == len(parsing.tables) else None
        self.parsing = parsing

    def wrap(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches and report each of them."""
        for batch in batches:
            self.rows += len(batch)
            self._report(self.parsing.bytes_read())
            yield batch
        self._report(self.parsing.bytes_read() if self.total is None else self.total)

    def _report(self, done: int) -> None:
        if self.progress is not None:
            done = done if self.total is None else min(done, self.total)
            seconds = time.perf_counter() - self.began
            self.progress(ReadingProgress(done, self.total, self.rows, seconds))


def block_rows(columns: int) -> int:
    """Return the number of rows of a block, which depends only on the number of columns."""
    return max(FEWEST_ROWS, min(MOST_ROWS, BLOCK_BYTES // (8 * max(columns, 1))))


def read_table(
    parsing: TableParsing,
    store: StoredRows | None,
    known: Schema | None,
    missing: Missing,
    progress: Progress | None,
) -> FirstPass:
    """Read a table once; `known` is the schema that it must have."""
    layout, tally = parsing.layout, parsing.tally()
    names = vocabularies(parsing, known)
    parts = all_parts(layout.firsts)
    summary = Summary(len(parts))
    sample = RowSample(len(layout.names)) if store is None or missing == "median" else None
    batches = ProgressReporter(parsing, progress).wrap(parsing.batches(tally, names))
    for block in cut(Reader(batches), None, block_rows(len(layout.names))):
        summary.add(replace(block, X=expanded(block.X, parts)), means=missing == "mean")
        if sample is not None:
            sample.add(block)
        if store is not None:
            store.add(block)
    _require_rows(summary.rows, parsing, tally)
    if missing == "refuse":
        tally.require_complete(known)
    if known is None:
        _refuse_other_numbers(layout, names, parsing.tables[0].name)
    rows = None if sample is None else sample.rows()
    schema, recoding = _schema(parsing, names, summary, known, missing, rows)
    if store is not None:
        store.finish()
    return FirstPass(schema, recoding, summary.rows, rows, tally)


def read_sparse(
    parsing: SparseParsing,
    store: StoredSparse | None,
    known: Schema | None,
    progress: Progress | None,
) -> FirstPass:
    """Read sparse rows once."""
    tally, summary, width = parsing.tally(), Summary(0), 0
    for batch in ProgressReporter(parsing, progress).wrap(parsing.batches(tally, {})):
        summary.rows += len(batch)
        summary.add_targets(batch.y)
        width = max(width, batch.X.shape[1])
        if store is not None:
            store.add(batch)
    _require_rows(summary.rows, parsing, tally)
    first = _settle_index_base(parsing, tally)
    width = max(width - first, 0) if known is None else len(known.names)
    schema = known or Schema(
        NumberedNames(width),
        (None,) * width,
        targets=("label",),
        filling=(0.0,) * width,
        dtype=str(parsing.dtype),
        named=False,
        sparse=True,
        whole=summary.whole,
        zero_based=bool(parsing.tables[0].zero_based),
        encoding=parsing.how.encoding,
    )
    if store is not None:
        store.n_columns, store.first = width, first
        store.finish()
    return FirstPass(schema, Recoding(schema, {}, None), summary.rows, None, tally)


def _settle_index_base(parsing: SparseParsing, tally: Tally) -> int:
    """Decide whether the first column is 0 or 1; return what to subtract from stored indices."""
    if parsing.tables[0].zero_based is not None:
        return 0
    set_index_base(parsing.tables, tally.least_index)
    return 0 if tally.least_index == 0 else 1


def vocabularies(parsing: TableParsing, known: Schema | None) -> Vocabularies:
    """Return a vocabulary for each column of text; new labels are always added."""
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
    """Return the labels seen so far, None if targets are numbers."""
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
    parts = all_parts(layout.firsts)
    sample = None if sample is None else replace(sample, X=expanded(sample.X, parts))
    filling = np.array(summary.filling(missing, sample))
    keep = varying(parts, summary.low, summary.high)
    parts = tuple(itertools.compress(parts, keep))
    columns = names_of(layout.names, parts)
    _require_different(columns)
    schema = Schema(
        columns,
        tuple(found[name][0] if name in found else None for name in columns),
        layout.targets,
        None if labels is None else tuple(sorted(map(str, labels))),
        layout.flat,
        layout.weight,
        missing,
        tuple(filling[keep].tolist()),
        str(parsing.dtype),
        parsing.tables[0].named,
        whole=bool(layout.targets) and labels is None and summary.whole,
        delimiter=parsing.how.delimiter,
        decimal=parsing.how.decimal,
        encoding=parsing.how.encoding,
        parts=parts if any(parts) else (),
    )
    places = {j: found[name][1] for j, name in enumerate(layout.names) if name in found}
    return schema, Recoding(schema, places, labels)


def _require_different(columns: tuple[str, ...]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(
            f"Columns must have different names, but a part of a time is also called {twice[0]!r}. "
            "Rename that column in the file."
        )


def _refuse_other_numbers(layout: Layout, names: Vocabularies, file: str) -> None:
    """Refuse columns of text that are numbers in another notation, unless the user calls them so.

    A CSV file has been asked by its first records already.
    """
    for name in sorted(layout.texts - layout.declared - set(layout.carried_only)):
        texts = [text for text in names[name].places if text != MISSING_TEXT]
        if others := other_numbers(texts):
            message = notation_message(name, quoted_cell(others[0].encode()))
            raise UnreadableFile(f"{file}: {message}")


def _require_rows(rows: int, parsing: Parsing, tally: Tally) -> None:
    if rows == 0:
        files = ", ".join(table.name for table in parsing.tables[:3])
        why = f" {tally.bad} rows were malformed: {tally.first[0]}" if tally.bad else ""
        if tally.missing_targets:
            why += f" {tally.missing_targets} rows lack the target."
        raise ValueError(
            f"There must be at least one row; {files} has none.{why} Give a file with rows."
        )
