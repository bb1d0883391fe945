"""What a first pass learns of the columns, and what was wrong with rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import row_hash
from bochner.data.batch import Batch
from bochner.data.files.formats.chunk import BadRow
from bochner.data.files.schema.schema import Missing
from bochner.data.transforms.missing import GAP

if TYPE_CHECKING:
    from bochner.data.files.schema.schema import Schema

SAMPLED = 0x5A3F11E  # keeps these draws apart from those of other samples
SAMPLED_BYTES = 1 << 25
LARGEST_WHOLE = 2.0**53
SHOWN = 10
TO_PREDICT = (
    "The model was fitted to rows without any: fill them in, or fit with missing='own', 'mean' or "
    "'median'."
)


MOST_SAMPLED, FEWEST_SAMPLED = 131_072, 4_096


class Summary:
    """Ends and means of columns of numbers, and whether targets are whole numbers.

    All is the same however the rows are cut into chunks of files, if it is added in blocks of the
    same rows.
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self.low, self.high = np.full(columns, np.nan), np.full(columns, np.nan)
        self.total, self.count = np.zeros(columns), np.zeros(columns)
        self.whole = True

    def add(self, batch: Batch, means: bool = False) -> None:
        """Look at more rows."""
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
        """Look at more targets."""
        if self.whole and y is not None:
            self.whole = bool(np.all((np.floor(y) == y) & (np.abs(y) < LARGEST_WHOLE)))

    def filling(self, missing: Missing, sample: Batch | None) -> tuple[float, ...]:
        """Return what stands for missing numbers, as `Filling` does unless means are wanted."""
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
    """A random sample of rows that are met one after the other.

    Row i stays while hash(i) is below a bound, which is halved when there are too many: so it
    depends on nothing but the rows.
    """

    def __init__(self, columns: int) -> None:
        rows = SAMPLED_BYTES // (8 * max(columns, 1))
        self.most = min(MOST_SAMPLED, max(FEWEST_SAMPLED, rows))
        self._bound = 2**64
        self._parts: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Look at more rows."""
        self._parts.append(self._drawn(batch))
        while sum(map(len, self._parts)) > self.most:
            self._bound //= 2
            self._parts = [self._drawn(Batch.join(self._parts))]

    def _drawn(self, batch: Batch) -> Batch:
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


@dataclass(frozen=True)
class SkippedRows:
    """How many rows were left out since they were malformed, and what was wrong with the first."""

    count: int = 0
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingCells:
    """How many cells of a column are missing, and where the first is."""

    count: int
    file: str
    line: int


@dataclass
class Tally:
    """Malformed rows and missing cells, and the numbers of the rows that parts begin with.

    Parameters
    ----------
    skips : bool
        Whether malformed rows are counted; else the first one is an error.
    """

    skips: bool
    bad: int = 0
    first: list[str] = field(default_factory=list)
    missing: dict[str, MissingCells] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def malformed(self, rows: Iterable[BadRow], count: int) -> None:
        """Count malformed rows, of which some are shown, or raise."""
        for row in rows:
            if not self.skips:
                raise ValueError(f"{row} Correct the row, or leave such rows out: on_error='skip'.")
            if len(self.first) < SHOWN:
                self.first.append(str(row))
        self.bad += count

    def miss(self, column: str, count: int, file: str, line: int) -> None:
        """Count missing cells, the first of which is on this line."""
        before = self.missing.get(column)
        if before is not None:
            count, file, line = count + before.count, before.file, before.line
        self.missing[column] = MissingCells(count, file, line)

    def require_complete(self, known: Schema | None) -> None:
        """Refuse missing cells; `known` is the schema of a model that was fitted without them."""
        if not self.missing:
            return
        column, cells = next(iter(self.missing.items()))
        others = len(self.missing) - 1
        also = f" {others} other column(s) have missing values, too." if others else ""
        raise ValueError(
            f"Column {column!r} has {cells.count} missing value(s), the first in {cells.file}, "
            f"line {cells.line}.{also} {_to_learn(column) if known is None else TO_PREDICT}"
        )

    @property
    def skipped(self) -> SkippedRows:
        """What was left out."""
        return SkippedRows(self.bad, tuple(self.first))


def _to_learn(column: str) -> str:
    return (
        "Say what is to become of them: missing='own' (alike, and unlike all numbers), 'mean' or "
        f"'median'; or leave it out: drop=[{column!r}]."
    )
