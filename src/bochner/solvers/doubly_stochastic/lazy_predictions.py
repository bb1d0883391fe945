"""LazyPredictions: predictions of rows, updated only when a batch needs them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features import Basis
from bochner.records import Validated, require_sound

# The fixed cost of an evaluation, in function values of one row.
CALL = 200_000
STREAM_STEPS = 32  # whose changes a stream keeps, for the held-out rows


@dataclass(frozen=True)
class Change:
    """At `step` the columns from `start` on changed by `values`, the area being `area`."""

    step: int
    start: int
    values: NDArray[np.float64]
    area: float

    @property
    def block(self) -> tuple[int, int]:
        """The columns, as a half-open range."""
        return self.start, self.start + len(self.values)


@dataclass
class LazyPredictions(Validated):
    """The latest changes of the weights, and each row's prediction when a batch last had it.

    A row that was last seen at step s needs only the columns that changed since, so that each block
    is evaluated once a pass at a row, however many blocks there are. `values` and `seen` are
    indexed by row number; `seen` is -1 for a row that was never seen. Changes up to the step
    `horizon` are dropped; a row seen before is evaluated in full. On a stream `values` and `seen`
    are empty, and the changes serve the held-out rows.
    """

    values: NDArray[np.float64]
    seen: NDArray[np.int64]
    changes: list[Change] = field(default_factory=list)
    horizon: int = 0

    def validate(self) -> None:
        """Check that values and steps are of the same rows."""
        sound = self.values.ndim == 2 and self.seen.ndim == 1
        require_sound(sound, "its values are not a table, or its steps not a list")
        require_sound(len(self.values) == len(self.seen), "its values and steps differ in number")

    @classmethod
    def empty(cls, rows: int, outputs: int) -> LazyPredictions:
        """Return a record in which no row was seen."""
        return cls(np.zeros((rows, outputs)), np.full(rows, -1, dtype=np.int64))

    def predict(
        self, basis: Basis, code: Any, index: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return Phi v at rows, by an update or in full, whichever takes fewer operations."""
        if len(self.seen) == 0 or len(weights) == 0:
            return evaluate(basis, code, weights)
        order = np.argsort(self.seen[index], kind="stable")
        seen = self.seen[index][order]
        stale = int(np.searchsorted(seen, self.horizon))
        blocks = self.since(int(seen[stale])) if stale < len(seen) else {}
        if self._cost(blocks, seen, stale, len(weights)) >= len(index) * len(weights) + CALL:
            return evaluate(basis, code, weights)
        code = code[order]
        values = self.values[index][order]
        values[:stale] = evaluate(basis, code[:stale], weights)
        for (start, _), changes in blocks.items():
            _catch_up(basis, code, values, seen, stale, start, changes)
        restored = np.empty_like(values)
        restored[order] = values
        return restored

    def store(self, index: NDArray[np.int64], values: NDArray[np.float64], step: int) -> None:
        """Store the predictions of rows at `step`."""
        if len(self.seen) > 0:
            self.values[index], self.seen[index] = values, step

    def record(self, step: int, start: int, values: NDArray[np.float64], area: float) -> None:
        """Store a change of v."""
        self.changes.append(Change(step, start, values, area))
        if len(self.seen) == 0:
            self.forget_until(step - STREAM_STEPS)

    def forget(self) -> None:
        """Drop the changes that every row has seen; call it at the end of a pass."""
        seen = self.seen[self.seen >= 0]
        if len(seen) > 0:
            self.forget_until(int(seen.min()))

    def forget_until(self, step: int) -> None:
        """Drop the changes up to a step."""
        self.horizon = max(self.horizon, step)
        self.changes = [change for change in self.changes if change.step > self.horizon]

    def since(self, step: int) -> dict[tuple[int, int], list[Change]]:
        """Return the changes after a step, by block."""
        blocks = defaultdict(list)
        for change in self.changes:
            if change.step > step:
                blocks[change.block].append(change)
        return blocks

    def _cost(
        self,
        blocks: dict[tuple[int, int], list[Change]],
        seen: NDArray[np.int64],
        stale: int,
        columns: int,
    ) -> int:
        cost = stale * columns + CALL
        for (start, stop), changes in blocks.items():
            rows = int(np.searchsorted(seen, changes[-1].step)) - stale
            cost += rows * (stop - start) + CALL
        return cost


def evaluate(
    basis: Basis, code: Any, weights: NDArray[np.float64], start: int = 0
) -> NDArray[np.float64]:
    """Return Phi w in float64, also where there are no rows or no columns."""
    if code.shape[0] == 0 or len(weights) == 0:
        return np.zeros((code.shape[0], weights.shape[1]))
    return basis.evaluate(code, weights, start).astype(np.float64)


def _catch_up(
    basis: Basis,
    code: Any,
    values: NDArray[np.float64],
    seen: NDArray[np.int64],
    stale: int,
    start: int,
    changes: list[Change],
) -> None:
    """Add the changes of one block to the predictions of older rows, sorted by `seen`.

    Rows seen before the first change lack the sum of all, those between the first and the second
    the sum of all but the first, and so on: the block is evaluated once, with one set of weights
    for each of these groups.
    """
    ends = [int(np.searchsorted(seen, change.step)) for change in changes]
    sums = np.cumsum([change.values for change in reversed(changes)], axis=0)[::-1]
    lacking = evaluate(basis, code[stale : ends[-1]], np.concatenate(sums, axis=1), start)
    outputs, begin = values.shape[1], stale
    for group, end in enumerate(ends):
        part = lacking[begin - stale : end - stale, group * outputs : (group + 1) * outputs]
        values[begin:end] += part
        begin = end
