"""Stage: how many rows, grids and rounds a part of a search has."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stage:
    """At most so many rounds on so many rows and grids; a step is a power of 2."""

    rows: int
    grids: int
    step: float = 0.0
    rounds: int = 1

    def within(self, rows: int, grids: int) -> Stage:
        """Return the same with no more rows and grids than these."""
        return replace(self, rows=min(self.rows, rows), grids=min(self.grids, grids))
