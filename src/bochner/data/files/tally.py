"""Tally: what was wrong with rows, counted while they are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bochner.data.files.chunk import BadRow

if TYPE_CHECKING:
    from bochner.data.files.schema import Schema

SHOWN = 10
TO_PREDICT = (
    "The model was fitted to rows without any: fill them in, or fit with missing='own', 'mean' or "
    "'median'."
)


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
