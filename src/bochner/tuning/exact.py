"""Grid search of the bandwidth and the ridge of a kernel, by exact ridge regression on few rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.interruption import abandonable, after
from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve
from bochner.compute.random.counter_based import Random
from bochner.kernels import ColumnScaled, Kernel, Mapped, ShiftInvariant
from bochner.kernels.radial import Radial
from bochner.tuning.sample import Sample, TrialSplit

EXACT = 0xE8AC7  # random stream of these draws
ROWS, HELD_OUT = 1_800, 2 / 3  # a fit on 600 rows is fast, and held-out rows cost little
MORE_ROWS = 6_000
MULTIPLES = tuple(2.0**power for power in (-4, -3, -2, -1, 0, 1))  # of the median distance
RIDGES = (0.001, 0.01, 0.1, 1.0)
Cell = tuple[int, int]  # of the grid of bandwidths and ridges
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class ScoredKernel:
    """A kernel on columns divided by scales, a ridge, and the squared errors of held-out rows.

    With `directions`, the kernel takes the divided columns times this matrix.
    """

    inner: ShiftInvariant
    scales: NDArray[np.float64]
    ridge: float
    split: TrialSplit
    errors: NDArray[np.float64]
    directions: NDArray[np.float64] | None = None

    @property
    def kernel(self) -> ShiftInvariant:
        """The kernel with its scales and directions."""
        if self.directions is None:
            return ColumnScaled(self.inner, self.scales)
        return Mapped(self.inner, self.directions / self.scales[:, None])

    @property
    def rows(self) -> NDArray[np.float64]:
        """The rows that the inner kernel takes."""
        return scale_columns(self.split, self.scales, self.directions)

    def weights(self) -> NDArray[np.float64]:
        """Return the coefficients of the training rows."""
        return _solve(self.inner(self.rows[: self.split.known]), self.split, self.ridge)

    @property
    def error(self) -> float:
        """The mean error."""
        return float(self.split.held_out.mean(self.errors))

    def beats(self, other: ScoredKernel, sure: float = 1.0) -> bool:
        """Whether the mean error is lower by more than `sure` standard errors, on the same rows."""
        gain, deviation = self.split.held_out.gain(other.errors, self.errors)
        return gain > sure * deviation


def scale_columns(
    split: TrialSplit, scales: NDArray[np.float64], directions: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the rows with columns divided by scales, times directions if given."""
    rows = split.columns.T.astype(np.float64) / scales
    return rows if directions is None else rows @ directions


def score_kernel(
    kernel: Kernel,
    sample: Sample,
    scales: NDArray[np.float64],
    seed: int,
    *,
    directions: NDArray[np.float64] | None = None,
    exhaustive: bool = False,
) -> ScoredKernel:
    """Return the kernel with the best bandwidth and ridge on columns divided by scales.

    A local minimum of the grid, unless the search is `exhaustive`. A bandwidth that is a number
    stays as it is. A bandwidth that is a rule is replaced, whatever the kernel's multiplier.
    """
    split = sample.draw_split(ROWS, Random(seed, EXACT), HELD_OUT)
    grid = KernelGrid.on(kernel, split, scales, directions)
    return grid.score(grid.best if exhaustive else grid.descend(grid.middle))


def search_kernel(
    kernel: Kernel, sample: Sample, scales: NDArray[np.float64], seed: int, end: float
) -> ScoredKernel:
    """Return the best of the whole grid on few rows, then of its neighbours on more rows.

    More rows need narrower kernels. If these take longer than to the time `end`, the result on few
    rows is returned.
    """
    few, more = (
        KernelGrid.on(kernel, sample.draw_split(rows, Random(seed, EXACT), share), scales)
        for rows, share in ((ROWS, HELD_OUT), (MORE_ROWS, 0.5))
    )
    best = few.best
    with abandonable(after(end)):
        if time.perf_counter() <= end:
            return more.score(more.descend(best))
    return few.score(best)


@dataclass(frozen=True, eq=False)
class KernelGrid:
    """A grid of bandwidths and ridges whose cells are scored on demand."""

    kernels: Sequence[ShiftInvariant]
    split: TrialSplit
    scales: NDArray[np.float64]
    directions: NDArray[np.float64] | None
    known: dict[Cell, ScoredKernel] = field(default_factory=dict)

    @classmethod
    def on(
        cls,
        kernel: Kernel,
        split: TrialSplit,
        scales: NDArray[np.float64],
        directions: NDArray[np.float64] | None = None,
    ) -> KernelGrid:
        """Return the grid for some rows."""
        rows = scale_columns(split, scales, directions)
        return cls(candidates(require_shift_invariant(kernel), rows), split, scales, directions)

    @property
    def best(self) -> Cell:
        """The cell of least error."""
        cells = product(range(len(self.kernels)), range(len(RIDGES)))
        return min(cells, key=lambda cell: self.score(cell).error)

    @property
    def middle(self) -> Cell:
        """The cell in the middle."""
        return len(self.kernels) // 2, len(RIDGES) // 2

    def score(self, cell: Cell) -> ScoredKernel:
        """Return the kernel of a cell with its errors."""
        if cell not in self.known:
            inner, ridge = self.kernels[cell[0]], RIDGES[cell[1]]
            rows = scale_columns(self.split, self.scales, self.directions)
            errors = _errors(inner, rows, self.split, ridge)
            self.known[cell] = ScoredKernel(
                inner, self.scales, ridge, self.split, errors, self.directions
            )
        return self.known[cell]

    def descend(self, cell: Cell) -> Cell:
        """Return a local minimum of the error, reached from a cell by steps to neighbours."""
        moved = True
        while moved:
            moved = False
            for step in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                while (
                    self.score(near := self._neighbour(cell, step)).error < self.score(cell).error
                ):
                    cell, moved = near, True
        return cell

    def _neighbour(self, cell: Cell, step: Cell) -> Cell:
        """Return the next cell in a direction, the same one on the edge."""
        i, j = cell[0] + step[0], cell[1] + step[1]
        return min(max(i, 0), len(self.kernels) - 1), min(max(j, 0), len(RIDGES) - 1)


def require_shift_invariant(kernel: Kernel) -> ShiftInvariant:
    """Return the kernel, or raise if it is not shift-invariant."""
    if isinstance(kernel, ShiftInvariant):
        return kernel
    raise ValueError(
        "Scales are learned for shift-invariant kernels, as Gaussian, Laplacian and Matern are; "
        f"got {kernel!r}. Give such a kernel, or scales=None."
    )


def candidates(kernel: ShiftInvariant, rows: NDArray[np.float64]) -> Sequence[ShiftInvariant]:
    """Return the kernel with several bandwidths, or as it is if its bandwidth is a number."""
    if not isinstance(kernel, Radial) or not isinstance(kernel.bandwidth, str):
        return [kernel.resolved(rows, Random(0))]
    by_median = replace(kernel, bandwidth="median", multiplier=1.0)  # type: ignore[type-var]
    median = by_median.resolved(rows, Random(0)).bandwidth
    return [replace(kernel, bandwidth=float(median) * m) for m in MULTIPLES]  # type: ignore[type-var]


def _errors(
    kernel: ShiftInvariant, rows: NDArray[np.float64], split: TrialSplit, ridge: float
) -> NDArray[np.float64]:
    """Return the squared errors of kernel ridge regression at the held-out rows."""
    known = split.known
    mean: NDArray[Any] = np.average(split.y[:known], axis=0, weights=split.weight[:known])
    fitted = kernel(rows[known:], rows[:known]) @ _solve(kernel(rows[:known]), split, ridge)
    return np.asarray(np.square(split.y[known:] - mean - fitted).sum(axis=1))


def _solve(K: NDArray[Any], split: TrialSplit, ridge: float) -> NDArray[np.float64]:
    """Return the coefficients of kernel ridge regression on the training rows; overwrites K."""
    y, weight = split.y[: split.known], split.weight[: split.known]
    np.einsum("ii->i", K)[:] += ridge / weight
    lower = jittered_cholesky(K, ROUNDING)[0]
    return solve(lower, y - np.average(y, axis=0, weights=weight))
