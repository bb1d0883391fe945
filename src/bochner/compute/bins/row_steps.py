"""Stochastic gradient steps, row by row, on the weights of the bins that a row lies in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.fingerprints import Codes
from bochner.compute.compiled import compiled
from bochner.records import Validated, require_sound

Floats = NDArray[np.float64]
TOTAL_WEIGHT, ROWS, AREA, HEAVIEST = range(4)  # positions in a clock


@dataclass
class BinRecords(Validated):
    """A record for each bin: the weight N_b of its rows, and a weight and a lag for each output.

    Record 0 belongs to the intercept; those of grid r begin at `starts[r]`. `clock` holds the total
    weight of the rows so far, their number, the importance A of all iterates in their mean, and the
    weight of the heaviest row. Every change dw of a weight adds A dw to its lag before A grows, so
    the mean iterate is w - lag / A: a weight changed at A_t has its new value for A - A_t of A.
    """

    starts: NDArray[np.int64]
    table: Floats
    clock: Floats

    @classmethod
    def empty(cls, grids: int, outputs: int) -> BinRecords:
        """Return records without bins."""
        starts = np.ones(grids + 1, np.int64)
        return cls(starts, np.zeros((1, 1 + 2 * outputs)), np.zeros(4))

    def validate(self) -> None:
        """Check that the records of all grids are in the table."""
        starts, table, clock = self.starts, self.table, self.clock
        require_sound(starts.ndim == 1 and starts.dtype == np.int64, "its starts are not a list")
        require_sound(len(starts) > 0 and starts[0] == 1, "its first start is not 1")
        require_sound(bool((np.diff(starts) >= 0).all()), "its starts are not in order")
        require_sound(table.ndim == 2 and table.dtype == np.float64, "its table has another form")
        fits = table.shape[1] % 2 == 1 and starts[-1] <= len(table)
        require_sound(fits, "its table is too small")
        require_sound(
            clock.shape == (4,) and clock.dtype == np.float64, "its clock has another form"
        )

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return int(self.table.shape[1] // 2)

    @property
    def intercept(self) -> Floats:
        """The current intercept, a view."""
        return self.table[0, 1 : 1 + self.outputs]

    def rows(self, counts: NDArray[np.int64]) -> Floats:
        """Return the weight of the rows of each bin, given the number of bins of each grid."""
        parts = zip(self.starts, counts, strict=False)
        return np.concatenate([self.table[start : start + count, 0] for start, count in parts])

    def adopt(
        self, counts: NDArray[np.int64], weights: NDArray[Any], rows: NDArray[Any], averaging: float
    ) -> None:
        """Set weights and rows of each bin, as if all iterates so far had been these."""
        ends = np.cumsum(counts)
        for start, end, count in zip(self.starts, ends, counts, strict=False):
            part = self.table[start : start + count]
            part[:, 0] = rows[end - count : end]
            part[:, 1 : 1 + self.outputs] = weights[end - count : end]
        total = float(rows[: counts[0]].sum())
        self.table[0, 0] = total
        self.clock[[TOTAL_WEIGHT, ROWS, HEAVIEST]] = total, total, 1.0
        self.clock[AREA] = total ** (averaging + 1) / (averaging + 1)

    def mean(self, start: int, stop: int) -> Floats:
        """Return the mean iterate of some records, (records, outputs)."""
        part, area = self.table[start:stop], self.clock[AREA]
        now, lag = part[:, 1 : 1 + self.outputs], part[:, 1 + self.outputs :]
        return now - lag / area if area > 0 else now.copy()

    def reserve(self, counts: NDArray[np.int64], most: int) -> None:
        """Allocate records for these numbers of bins in each grid, and spare ones up to `most`."""
        if (counts <= np.diff(self.starts)).all():
            return
        room = np.minimum(np.maximum(counts + counts // 2, 64), np.maximum(counts, most))
        starts = 1 + np.concatenate([[0], np.cumsum(room)])
        table = np.zeros((starts[-1], self.table.shape[1]))
        table[0] = self.table[0]
        for new, old, end in zip(starts, self.starts, self.starts[1:], strict=False):
            table[new : new + end - old] = self.table[old:end]
        self.starts, self.table = starts, table

    def add_grids(self, number: int, factor: float) -> None:
        """Append grids without bins, and multiply the weights of the others by `factor`."""
        self.starts = np.append(self.starts, np.full(number, self.starts[-1]))
        self.table[1:, 1:] *= factor


class RowSteps(NamedTuple):
    """The rule of the steps; `solvers.binning.averaged_gradient` has the formula."""

    height: float
    curvature: float
    alpha: float
    step: float
    averaging: float
    intercept: bool

    def values(self, codes: Codes, records: BinRecords) -> Floats:
        """Return the current function at rows, (rows, outputs)."""
        out = np.empty((codes.shape[1], records.outputs))
        _values(codes, records.starts, records.table, self.height, out)
        return out

    def take(
        self, codes: Codes, records: BinRecords, values: Floats, slopes: Floats, weight: Floats
    ) -> float:
        """Take a step for each row in turn; return the sum of squared changes.

        `slopes` are the derivatives of the loss at `values`, and change by `curvature` times the
        change of f since. Weights of rows are positive.
        """
        state = records.starts, records.table, records.clock
        return float(_take(codes, *state, values, slopes, weight, *self))


@compiled("void(int32[:, :], int64[::1], float64[:, ::1], float64, float64[:, ::1])")
def _values(codes, starts, table, height, out):  # type: ignore[no-untyped-def]
    for i in range(codes.shape[1]):
        out[i] = 0.0
        for r in range(codes.shape[0]):
            if codes[r, i] >= 0:
                for k in range(out.shape[1]):
                    out[i, k] += table[starts[r] + codes[r, i], 1 + k]
        for k in range(out.shape[1]):
            out[i, k] = height * out[i, k] + table[0, 1 + k]


@compiled(
    "float64(int32[:, :], int64[::1], float64[:, ::1], float64[::1], float64[:, ::1], "
    "float64[:, ::1], float64[::1], float64, float64, float64, float64, float64, boolean)"
)
def _take(  # type: ignore[no-untyped-def]
    codes, starts, table, clock, values, slopes, weight, height, curvature, alpha, step, averaging,
    intercept,
):  # fmt: skip
    grids, outputs = codes.shape[0], values.shape[1]
    metric, slope, moved = np.empty(grids), np.empty(outputs), 0.0
    for i in range(codes.shape[1]):
        clock[TOTAL_WEIGHT] += weight[i]
        clock[ROWS] += 1.0
        clock[HEAVIEST] = max(clock[HEAVIEST], weight[i])
        table[0, 0] = clock[TOTAL_WEIGHT]
        slope[:] = 0.0
        total = 0.0
        for r in range(grids):
            metric[r] = 1.0
            if codes[r, i] >= 0:
                place = starts[r] + codes[r, i]
                table[place, 0] += weight[i]
                metric[r] = np.sqrt(clock[TOTAL_WEIGHT] / (clock[ROWS] * table[place, 0]))
                for k in range(outputs):
                    slope[k] += table[place, 1 + k]
            total += metric[r]
        constant = intercept / np.sqrt(clock[ROWS])
        for k in range(outputs):
            change = height * slope[k] + table[0, 1 + k] - values[i, k]
            slope[k] = slopes[i, k] + curvature * change
        # Proportional to the weight, but the heaviest row must not overshoot its target.
        length = step * weight[i] / max(clock[TOTAL_WEIGHT] / clock[ROWS], step * clock[HEAVIEST])
        length /= curvature * (constant + height * height * total)
        area = clock[AREA]
        for r in range(grids):
            if codes[r, i] >= 0:
                place = starts[r] + codes[r, i]
                stride = length * metric[r]
                shrink = 1.0 / (1.0 + stride * alpha * clock[TOTAL_WEIGHT] / table[place, 0])
                for k in range(outputs):
                    before = table[place, 1 + k]
                    change = (before - stride * height * slope[k]) * shrink - before
                    table[place, 1 + k] += change
                    table[place, 1 + outputs + k] += area * change
                    moved += change * change
        for k in range(outputs):
            change = -length * constant * slope[k]
            table[0, 1 + k] += change
            table[0, 1 + outputs + k] += area * change
            moved += change * change
        # Not weighted: iterates after heavy rows are biased towards them.
        clock[AREA] += clock[ROWS] ** averaging
    return moved
