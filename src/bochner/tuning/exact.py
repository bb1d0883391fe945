"""Exact machines on few rows: the bandwidth and the ridge of any kernel, given scales."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve
from bochner.compute.random.counter_based import Random
from bochner.kernels import ColumnScaled, Kernel, Mapped, ShiftInvariant
from bochner.kernels.radial import Radial
from bochner.tuning.sample import Sample
from bochner.tuning.trials import Drawn

EXACT = 0xE8AC7  # keeps these draws apart from others of the same seed
ROWS, JUDGED = 1_800, 2 / 3  # a machine on 600 rows is quick, and many judges cost little
MORE_ROWS = 6_000
MULTIPLES = tuple(2.0**power for power in (-4, -3, -2, -1, 0, 1))  # of the median distance
RIDGES = (0.001, 0.01, 0.1, 1.0)
Place = tuple[int, int]  # in the table of bandwidths and ridges
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Judged:
    """A kernel on columns divided by scales, the ridge, and squared errors of held-out rows.

    With `directions` the kernel sees the divided columns times this matrix.
    """

    inner: ShiftInvariant
    scales: NDArray[np.float64]
    ridge: float
    drawn: Drawn
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
        """The rows as the inner kernel sees them."""
        return seen(self.drawn, self.scales, self.directions)

    def weights(self) -> NDArray[np.float64]:
        """Return the weights of the machine on the known rows."""
        return _solved(self.inner(self.rows[: self.drawn.known]), self.drawn, self.ridge)

    @property
    def error(self) -> float:
        """The mean error."""
        return float(self.drawn.held_out.mean(self.errors))

    def beats(self, other: Judged, sure: float = 1.0) -> bool:
        """Whether the mean error is lower by so many standard errors, on the same rows."""
        gain, deviation = self.drawn.held_out.gain(other.errors, self.errors)
        return gain > sure * deviation


def seen(
    drawn: Drawn, scales: NDArray[np.float64], directions: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return columns divided by scales, times directions if there are any."""
    rows = drawn.columns.T.astype(np.float64) / scales
    return rows if directions is None else rows @ directions


def judged(
    kernel: Kernel,
    sample: Sample,
    scales: NDArray[np.float64],
    seed: int,
    directions: NDArray[np.float64] | None = None,
    every: bool = False,
) -> Judged:
    """Return the best of some bandwidths and ridges on columns divided by scales.

    That is one with no better beside it, unless `every` one is to be tried. A bandwidth that is a
    number is taken as it is, and so is a kernel that has none; one that is open is found whatever
    the kernel's multiplier.
    """
    table = Tried.on(kernel, sample.drawn(ROWS, Random(seed, EXACT), JUDGED), scales, directions)
    return table.at(table.lowest if every else table.lowest_from(table.middle))


def searched(
    kernel: Kernel, sample: Sample, scales: NDArray[np.float64], seed: int, end: float
) -> Judged:
    """Return the same with more care: the best of all on few rows, and from there on more.

    Few rows want wider kernels than many do. After the `end`, a time, few have to do.
    """
    few, more = (
        Tried.on(kernel, sample.drawn(rows, Random(seed, EXACT), share), scales)
        for rows, share in ((ROWS, JUDGED), (MORE_ROWS, 0.5))
    )
    best = few.lowest
    return few.at(best) if time.perf_counter() > end else more.at(more.lowest_from(best))


@dataclass(frozen=True, eq=False)
class Tried:
    """A table of bandwidths and ridges, of which those that are asked for are tried."""

    kernels: Sequence[ShiftInvariant]
    drawn: Drawn
    scales: NDArray[np.float64]
    directions: NDArray[np.float64] | None
    known: dict[Place, Judged] = field(default_factory=dict)

    @classmethod
    def on(
        cls,
        kernel: Kernel,
        drawn: Drawn,
        scales: NDArray[np.float64],
        directions: NDArray[np.float64] | None = None,
    ) -> Tried:
        """Return the table for some rows."""
        rows = seen(drawn, scales, directions)
        return cls(candidates(require_shift_invariant(kernel), rows), drawn, scales, directions)

    @property
    def lowest(self) -> Place:
        """The lowest place of all."""
        places = product(range(len(self.kernels)), range(len(RIDGES)))
        return min(places, key=lambda place: self.at(place).error)

    @property
    def middle(self) -> Place:
        """Where to begin if nothing is known."""
        return len(self.kernels) // 2, len(RIDGES) // 2

    def at(self, place: Place) -> Judged:
        """Return the machine at a place."""
        if place not in self.known:
            inner, ridge = self.kernels[place[0]], RIDGES[place[1]]
            rows = seen(self.drawn, self.scales, self.directions)
            errors = _errors(inner, rows, self.drawn, ridge)
            self.known[place] = Judged(
                inner, self.scales, ridge, self.drawn, errors, self.directions
            )
        return self.known[place]

    def lowest_from(self, place: Place) -> Place:
        """Return a place with no lower one beside it, going down from one."""
        moved = True
        while moved:
            moved = False
            for step in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                while self.at(beside := self._beside(place, step)).error < self.at(place).error:
                    place, moved = beside, True
        return place

    def _beside(self, place: Place, step: Place) -> Place:
        """Return the next place in a direction, on the edge the same."""
        i, j = place[0] + step[0], place[1] + step[1]
        return min(max(i, 0), len(self.kernels) - 1), min(max(j, 0), len(RIDGES) - 1)


def require_shift_invariant(kernel: Kernel) -> ShiftInvariant:
    """Return the kernel, or refuse one that columns cannot be divided for."""
    if isinstance(kernel, ShiftInvariant):
        return kernel
    raise ValueError(
        "Scales are learned for shift-invariant kernels, as Gaussian, Laplacian and Matern are; "
        f"got {kernel!r}. Give such a kernel, or scales=None."
    )


def candidates(kernel: ShiftInvariant, rows: NDArray[np.float64]) -> Sequence[ShiftInvariant]:
    """Return the kernel with several bandwidths if its own is open."""
    if not isinstance(kernel, Radial) or not isinstance(kernel.bandwidth, str):
        return [kernel.resolved(rows, Random(0))]
    open_one = replace(kernel, bandwidth="median", multiplier=1.0)  # type: ignore[type-var]
    median = open_one.resolved(rows, Random(0)).bandwidth
    return [replace(kernel, bandwidth=float(median) * m) for m in MULTIPLES]  # type: ignore[type-var]


def _errors(
    kernel: ShiftInvariant, rows: NDArray[np.float64], drawn: Drawn, ridge: float
) -> NDArray[np.float64]:
    """Return the squared errors of kernel ridge regression at the held-out rows."""
    known = drawn.known
    mean: NDArray[Any] = np.average(drawn.y[:known], axis=0, weights=drawn.weight[:known])
    fitted = kernel(rows[known:], rows[:known]) @ _solved(kernel(rows[:known]), drawn, ridge)
    return np.asarray(np.square(drawn.y[known:] - mean - fitted).sum(axis=1))


def _solved(K: NDArray[Any], drawn: Drawn, ridge: float) -> NDArray[np.float64]:
    """Return the weights of kernel ridge regression on the known rows; K is written over."""
    y, weight = drawn.y[: drawn.known], drawn.weight[: drawn.known]
    np.einsum("ii->i", K)[:] += ridge / weight
    lower = jittered_cholesky(K, ROUNDING)[0]
    return solve(lower, y - np.average(y, axis=0, weights=weight))
