"""Search on few rows: a scale for each column, a kernel and a ridge by leave-one-out errors."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add, mul

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.data import Warping
from bochner.kernels import ColumnScaled, Delta, Gaussian, Kernel, Laplacian
from bochner.tuning.leave_one_out import NOISE_BOUNDS, ColumnWeights, LeaveOneOut, SplitColumns
from bochner.tuning.quality import QUALITIES, Quality
from bochner.tuning.sample import Sample
from bochner.tuning.search import Tuned, mean_kernel

Array = NDArray[np.float64]

ORDER, RESAMPLE, SUBSET = 0xF3E, 0xF3F, 0xF40  # random streams
FEWEST_ROWS = 10
START_ROWS = 400  # to choose where the search begins
FEWEST_FOR_SCALES = 100  # rows: fewer say too little of single columns
MOST_GROUPS = 256
COMMON_ITERATIONS = 15
SHARES = (0.0, 0.5, 1.0)  # of the Gaussian kernel in the sum
NOISES = (-0.7, 0.0, 0.7)  # logarithms of factors of the noise
RESAMPLES, RELEVANCE_ROWS, RELEVANT = 3, 300, 64
IGNORED = 1e6  # times the largest scale, for columns that are constant
LEAST_RIDGE = 1e-8
NEARLY_ONE = 1 - 1e-12  # the factor of categories that hardly matter
SUBSET_SHARE = 2 / 3  # of the rows, at most, for a further search
NOTHING = -50.0  # the logarithm of a weight that is 0


@dataclass(frozen=True, eq=False)
class ScaledKernel:
    """The weights of the columns of a kernel, and how many have been tried."""

    loo: LeaveOneOut
    point: ColumnWeights
    trials: int
    rows: int = 0  # by which the weights were learned

    def matrix(self, rows: slice) -> Array:
        """Return the kernel matrix of some rows."""
        return self.loo[rows].matrix(self.point)

    @cached_property
    def scales(self) -> Array:
        """The scales of the columns by which the inner kernel divides; 1 / weight of categories."""
        columns, power = self.loo.columns, self.loo.power
        weights = np.exp(self.point.groups)[columns.group]
        scales = columns.widths / (weights if power == 1 else np.sqrt(2 * weights))
        equal = columns.parts[1]
        scales[equal] = 1 / weights[equal]
        return np.asarray(scales)

    def kernel(self, n_columns: int) -> Kernel:
        """Return the kernel of rows with all their columns."""
        columns, scales = self.loo.columns, self.scales
        numbers, equal = columns.parts
        inner = Laplacian(1.0) if self.loo.power == 1 else Gaussian(1.0)
        places = columns.places[equal]
        factors: list[Kernel] = [
            Delta(min(float(np.exp(-1 / scale)), NEARLY_ONE)).on(int(place))
            for scale, place in zip(scales[equal], places, strict=True)
        ]
        if not len(scales[numbers]):
            return reduce(mul, factors)
        every = self.all_scales(n_columns)
        rest = np.setdiff1d(np.arange(n_columns), [*places, *columns.constant]).tolist()
        if len(rest) == n_columns:
            return ColumnScaled(inner, every)
        return reduce(mul, factors, ColumnScaled(inner, every[rest]).on(rest))

    def all_scales(self, n_columns: int) -> Array:
        """Return a scale for each column, very large ones for columns that are constant."""
        every = np.full(n_columns, IGNORED * float(self.scales.max()))
        every[self.loo.columns.places] = self.scales
        return every


@dataclass(frozen=True, eq=False)
class MeanKernel:
    """The mean of kernels with different weights of the columns."""

    parts: tuple[ScaledKernel, ...]

    @property
    def noise(self) -> float:
        """The mean of the logarithms of the noise."""
        return float(np.mean([part.point.noise for part in self.parts]))

    @property
    def trials(self) -> int:
        """How many weights have been tried."""
        return sum(part.trials for part in self.parts)

    def matrix(self, rows: slice) -> Array:
        """Return the kernel matrix of some rows."""
        total = reduce(add, (part.matrix(rows) for part in self.parts))
        return np.asarray(total / len(self.parts))

    def kernel(self, n_columns: int) -> Kernel:
        """Return the kernel of rows with all their columns."""
        return mean_kernel([part.kernel(n_columns) for part in self.parts])


@dataclass(frozen=True, eq=False)
class FewRowsResult:
    """The kernel for all columns, the ridge, and what the search found."""

    kernel: Kernel
    ridge: float
    tuned: Tuned


class FewRowsSearch:
    """A search by leave-one-out errors, for which a fit of all rows but one costs nothing.

    For a Laplacian and a Gaussian kernel: the best common bandwidth, for columns as they are or
    divided by their standard deviations; from there a scale for each column by L-BFGS. The result
    is the better of the two, or their mean, with the ridge of least error.

    Parameters
    ----------
    sample : Sample
        The rows, at least 10.
    seed : int
        Seed of the order in which rows are added.
    end : float
        The time by `time.perf_counter` at which the search ends.
    ridge : float or None
        A given ridge, alpha times the number of rows.
    intercept : bool
        Whether there is an unpenalised constant.
    quality : Quality
        How many rows, iterations and kernels are tried.
    """

    def __init__(
        self,
        sample: Sample,
        seed: int,
        end: float,
        ridge: float | None = None,
        intercept: bool = True,
        *,
        quality: Quality = QUALITIES[3],
    ) -> None:
        self.intercept, self.quality = intercept, quality
        self.began, self.seed, self.end = time.perf_counter(), seed, end
        self.noise = None if ridge is None else float(np.log(max(ridge, LEAST_RIDGE)))
        self.warping = _ranks(sample)
        self.n_columns = sample.n_columns
        order = Random(seed, ORDER).permutation(len(sample))
        self.sample = sample.warped(self.warping)[order]

    def run(self) -> FewRowsResult:
        """Return the result."""
        found: dict[int, tuple[ScaledKernel, MeanKernel]] = {}
        count = 2 if self.quality.compares_kernels else 1
        each_tile(lambda start, _: found.update({start: self._scaled(1 + start)}), count, 1)
        commons, scaled = zip(*(found[k] for k in range(count)), strict=True)
        rows = slice(0, min(one.parts[0].rows for one in scaled))
        common = min(one.loo[rows].error(one.point) for one in commons)
        share, noise, error = self._mixed(scaled, rows)
        best = (scaled[1] if share == 1 else scaled[0]).parts[0]
        kernels = [one.kernel(self.n_columns) for one in scaled]
        kernel = kernels[1] if share == 1 else kernels[0]
        if 0 < share < 1:
            kernel = (1 - share) * kernels[0] + share * kernels[1]
        rises = self._relevance(best)
        tuned = Tuned(
            scales=best.all_scales(self.n_columns),
            ridge=float(np.exp(noise)),
            helped=error < common,
            common_error=common,
            learned_error=error,
            relevance=rises.mean(axis=0),
            relevance_deviation=rises.std(axis=0),
            rounds=(),
            trials=sum(one.trials for one in scaled) + len(SHARES) * len(NOISES),
            warping=self.warping,
            seconds=time.perf_counter() - self.began,
        )
        return FewRowsResult(kernel, tuned.ridge, tuned)

    def _scaled(self, power: int) -> tuple[ScaledKernel, MeanKernel]:
        """Return the kernel of the best common bandwidth, and that of a scale for each column."""
        stages = self.quality.few_rows
        columns = SplitColumns.of(self.sample)
        options = [self._start(power, columns, raw) for raw in (False, True)]
        start = min(options, key=lambda one: one.loo[:START_ROWS].objective(one.point))
        few = start.loo[: stages[0][0]]
        trials = sum(one.trials for one in options)
        point, count = few.minimize(start.point, COMMON_ITERATIONS, self.end, common=True)
        common = replace(start, point=point, trials=trials + count)
        if len(self.sample) < FEWEST_FOR_SCALES or not 1 < len(point.groups) <= MOST_GROUPS:
            most = stages[0 if self._is_late else -1][0]
            return common, MeanKernel((replace(common, rows=most),))
        scaled = common
        for rows, iterations in stages:
            point, count = start.loo[:rows].minimize(scaled.point, iterations, self.end)
            scaled = replace(scaled, point=point, trials=scaled.trials + count, rows=rows)
            if rows >= len(self.sample) or self._is_late:
                break
        parts = [scaled]
        for number in range(self.quality.subsets):
            if not self._is_late:
                parts.append(self._on_subset(common, number))
        return common, MeanKernel(tuple(parts))

    @property
    def _is_late(self) -> bool:
        return time.perf_counter() > self.end

    def _on_subset(self, start: ScaledKernel, number: int) -> ScaledKernel:
        """Return the kernel with scales learned on a random part of the rows."""
        rows, iterations = self.quality.few_rows[0]
        most = round(min(SUBSET_SHARE * len(self.sample), rows))
        some = Random(self.seed, SUBSET, number).permutation(len(self.sample))[:most]
        point, count = start.loo[some].minimize(start.point, iterations, self.end)
        return replace(start, point=point, trials=count)

    def _start(self, power: int, columns: SplitColumns, raw: bool) -> ScaledKernel:
        """Return the best first point, for columns as they are or divided by their widths."""
        widths = np.log(columns.widths) * (power if raw else 0)
        counts = np.bincount(columns.group)
        offsets = np.bincount(columns.group, widths) / counts
        # The squared distance of random rows is twice the number of columns.
        offsets = offsets - np.log(np.exp(offsets).sum() * power)
        y, weight = self.sample.y, self.sample.weight
        loo = LeaveOneOut(power, columns, y, weight, offsets, self.noise, self.intercept)
        first, trials = loo[:START_ROWS].first()
        return ScaledKernel(loo, first, trials)

    def _mixed(self, kernels: tuple[MeanKernel, ...], rows: slice) -> tuple[float, float, float]:
        """Return the share of the Gaussian kernel, the log noise, and the error.

        A larger share is taken if it lowers the error by more than a standard error: far from the
        rows, the Laplacian is the safer kernel.
        """
        first, last = kernels[0], kernels[-1]
        matrices = [one.matrix(rows) for one in kernels]
        loo = first.parts[0].loo[rows]
        best: tuple[float, float, Array] | None = None
        for share in SHARES if len(kernels) > 1 else (0.0,):
            middle = (1 - share) * first.noise + share * last.noise
            K = (1 - share) * matrices[0] + share * matrices[-1]
            steps = NOISES if self.noise is None else (0.0,)
            found = [(loo.errors(K.copy(), middle + step), middle + step) for step in steps]
            errors, noise = min(found, key=lambda one: float(one[0].mean()))
            if best is None or _is_lower(errors, best[2]):
                best = share, noise, errors
        assert best is not None
        return best[0], best[1], float(best[2].mean())

    def _relevance(self, best: ScaledKernel) -> Array:
        """Return the relative increase of the error without each column, (resamples, columns)."""
        # Without a column rows may be equal: less noise would leave no Cholesky factor.
        loo, point = best.loo, replace(best.point, noise=max(best.point.noise, NOISE_BOUNDS[0]))
        rises = np.zeros((RESAMPLES, self.n_columns))
        heaviest = np.argsort(-point.groups, kind="stable")[:RELEVANT]
        for k in range(RESAMPLES):
            rows = Random(self.seed, RESAMPLE, k).permutation(len(loo))[:RELEVANCE_ROWS]
            some = loo[rows]
            error = some.error(point)
            for number in heaviest if 0 < error < np.inf and not self._is_late else ():
                without = point.groups.copy()
                without[number] = NOTHING
                rise = some.error(replace(point, groups=without)) / error - 1.0
                rise = rise if np.isfinite(rise) else 0.0
                rises[k, loo.columns.places[loo.columns.group == number]] = rise
        return rises


def _is_lower(errors: Array, others: Array) -> bool:
    """Whether the mean error is lower by more than a standard error, on the same rows."""
    if not (np.isfinite(errors).all() and np.isfinite(others).all()):
        return bool(np.isfinite(errors).all())
    gain = others - errors
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _ranks(sample: Sample) -> Warping | None:
    """Return the ranks of the columns with heavy tails."""
    ranks = {one.column: one.map for one in sample.alternatives[1::2]}
    return Warping(dict(ranks)) if ranks else None
