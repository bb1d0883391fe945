"""Search: rounds of trials, from few rows and large steps to many rows and small steps.

`Tuned` is its result.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Warping
from bochner.kernels import Anova, ColumnScaled, Kernel, Laplacian
from bochner.tuning.comparison import RIDGES, TEST_SHARE, ComparisonResult, HeldOutComparison
from bochner.tuning.sample import Groups, Sample
from bochner.tuning.trials import SWEEPS, Move, Trials

SEARCH = 0x5CA1E  # random stream of these draws
# Random streams of the steps; the rounds use those above ROUNDS.
SPLIT, SOME, COMMON, COMMON_AGAIN, COMPARISON, LAST, WARP, RELEVANCE = range(8)
ROUNDS = 1_000
LAST_RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
RIDGE_ROWS, RIDGE_GRIDS = 16_000, 128
SMALL_GAIN = 0.004  # relative to the error
MOST_GROUPS = 128  # tried in a round, a random subset if there are more
COMMON_ROWS = 16_000
BANDWIDTHS = range(-4, 9)  # powers of 2 of the factors, relative to 1 / width
NEARBY = (-1.0, -0.5, 0.0, 0.5, 1.0)  # powers of 2, on more rows than before
FOLDS, SURE = 5, 2.0  # folds of a series; standard errors, two since the folds are few
FEWEST_FOR_SUBSETS = 3  # columns
RESAMPLES, RELEVANCE_ROWS, RELEVANCE_GRIDS, RELEVANT = 3, 8_000, 16, 256

Change = dict[int, tuple[float, int]]  # the new power and place in the sample of some columns


@dataclass(frozen=True)
class Stage:
    """The number of rounds, and their rows, grids and step (a power of 2)."""

    rows: int
    grids: int
    step: float = 0.0
    rounds: int = 1

    def within(self, rows: int, grids: int) -> Stage:
        """Return the stage with at most these numbers of rows and grids."""
        return replace(self, rows=min(self.rows, rows), grids=min(self.grids, grids))


@dataclass(frozen=True)
class Round:
    """Rows, grids and step of a round, and the error at held-out rows before and after it."""

    rows: int
    grids: int
    step: float
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """Scales for a Laplacian kernel of bandwidth 1, the ridge, and errors at test rows.

    With a `share` below 1, the kernel is the mean over subsets of the columns (see `Anova`), and
    divides by share times the scales: the expected distance of two rows stays the same.

    `common_error` and `learned_error` are the errors with the best common bandwidth and with a
    scale for each column: mean squared errors relative to the variance of the targets or, for
    classes (`labels`), the share of wrong labels. `helped` is whether the latter is lower by more
    than a standard error; otherwise the scales are those of the common bandwidth. `relevance` is
    the relative increase of the error without a column, `relevance_deviation` its standard
    deviation over resamples. `ridge` is alpha times the number of rows. `warping` has the monotone
    maps of columns with heavy tails; the scales apply to their values. Of several searches,
    `scales`, `ridge` and errors are those of the first one, relevances the mean, `trials` and
    `seconds` the sum. Where a time limit has ended the search, errors are those of the last
    trials, and relevances are 0.
    """

    scales: NDArray[np.float64]
    ridge: float
    helped: bool
    common_error: float
    learned_error: float
    relevance: NDArray[np.float64]
    relevance_deviation: NDArray[np.float64]
    rounds: tuple[Round, ...]
    trials: int
    warping: Warping | None = None
    labels: bool = False
    seconds: float = 0.0
    share: float = 1.0

    @property
    def kernel(self) -> ColumnScaled:
        """The kernel with its scales."""
        if self.share == 1 or len(self.scales) < FEWEST_FOR_SUBSETS:
            return ColumnScaled(Laplacian(1.0), self.scales)
        return ColumnScaled(Anova(1.0, self.share), self.share * self.scales)

    def __str__(self) -> str:
        if self.helped:
            outcome = "a scale for each column is kept"
        else:
            outcome = "so one bandwidth for all is kept"
        maps = {} if self.warping is None else self.warping.maps
        warped = f" Seen as logarithms or ranks: {len(maps)} columns." if maps else ""
        what = "share of wrong labels is" if self.labels else "error is"
        unit = "" if self.labels else " of the variance"
        return (
            f"{self.trials} trials in {self.seconds:.1f} s. On held-out rows the {what} "
            f"{self.common_error:.4f}{unit} with one bandwidth for all columns and "
            f"{self.learned_error:.4f} with a scale for each; {outcome}.{warped}"
        )


def steps(
    step: float, groups: Groups, powers: NDArray[np.float64], places: NDArray[np.int64]
) -> list[Change]:
    """Return for each group a step up and a step down."""
    ways = [(group, way) for group in groups for way in (step, -step)]
    return [{int(j): (powers[j] + way, int(places[j])) for j in group} for group, way in ways]


def mean_kernel(kernels: Sequence[Kernel]) -> Kernel:
    """Return the mean of some kernels."""
    return kernels[0] if len(kernels) == 1 else (1 / len(kernels)) * reduce(add, kernels)


def combined(results: Sequence[Tuned]) -> Tuned:
    """Return the first result with the mean relevances, and with the trials and time of all."""
    return replace(
        results[0],
        relevance=np.mean([one.relevance for one in results], axis=0),
        relevance_deviation=np.mean([one.relevance_deviation for one in results], axis=0),
        trials=sum(one.trials for one in results),
        seconds=sum(one.seconds for one in results),
    )


def joint(changes: Sequence[Change]) -> Change:
    """Return the union of several changes."""
    return {j: new for change in changes for j, new in change.items()}


def sizes(count: int) -> list[int]:
    """Return how many of the best changes to try together: one, a quarter, half or all."""
    return sorted({1, max(1, count // 4), max(1, count // 2), count})


class Search:
    """A coordinate search; `powers` are the logarithms (base 2) of factor times width of a column.

    `places` has for each column its index in the sample, or that of the alternative in its place.
    Test rows take part in no round; the final comparison uses them.
    """

    def __init__(self, sample: Sample, patience: int, seed: int, deadline: float) -> None:
        self.rng, self.patience, self.deadline = Random(seed, SEARCH), patience, deadline
        rest, test = sample.split(TEST_SHARE, self.rng.child(SPLIT))
        self.has_test_rows = len(rest) >= 2
        self.sample, test = (rest, test) if self.has_test_rows else (sample, sample)
        rng = self.rng.child(COMPARISON)
        self.comparison = HeldOutComparison([(self.sample, test)], rng)
        folds = sample.folds(FOLDS) if sample.ordered else None
        self.folds = None if folds is None else HeldOutComparison(folds, rng)
        self.per_width = 1.0 / sample.widths()
        unscaled = -np.log2(self.per_width[: sample.n_columns])
        self.powers = np.zeros(sample.n_columns)
        self.commons = [self.powers, unscaled - np.median(unscaled).round()]
        self.places = np.arange(sample.n_columns)
        self.ridge, self.most_rows, self.count = RIDGES[1], len(sample), 0
        self.error = 1.0  # the last one on held-out rows, in variances of the targets
        self.rounds: list[Round] = []

    def run(self, stages: Sequence[Stage]) -> None:
        """Find a common bandwidth, then change the columns one by one."""
        first, last = stages[0], stages[-1]
        self.most_rows = last.rows
        self._find_common(first, COMMON, BANDWIDTHS)
        again = Stage(min(last.rows, COMMON_ROWS), last.grids)
        self._find_common(again, COMMON_AGAIN, (-1, 0, 1))
        self._warp(first)
        for number, stage in enumerate(stages):
            self._run_stage(stage, ROUNDS * (1 + number))

    def tuned(self) -> Tuned:
        """Return the common bandwidth or the scales, with ridge, errors and relevance."""
        helped, common, learned = self._compare()
        relevance = self._relevance()
        return Tuned(
            scales=1.0 / (self.per_width[self.places] * 2.0**self.powers),
            ridge=self._last_ridge(),
            helped=helped,
            common_error=common,
            learned_error=learned,
            relevance=relevance.mean(axis=0),
            relevance_deviation=relevance.std(axis=0),
            rounds=tuple(self.rounds),
            trials=self.count,
            warping=self._warping(),
            labels=self.sample.scores is not None,
        )

    def unfinished(self) -> Tuned:
        """Return what the search has found so far, without comparison, last ridge and relevance."""
        columns, helped = len(self.powers), any(one.after < one.before for one in self.rounds)
        return Tuned(
            scales=1.0 / (self.per_width[self.places] * 2.0**self.powers),
            ridge=self.ridge,
            helped=helped,
            common_error=self.error,
            learned_error=self.rounds[-1].after if helped else self.error,
            relevance=np.zeros(columns),
            relevance_deviation=np.zeros(columns),
            rounds=tuple(self.rounds),
            trials=self.count,
            warping=self._warping(),
        )

    def _warping(self) -> Warping | None:
        first = self.sample.n_columns
        columns = np.flatnonzero(self.places >= first)
        maps = self.sample.alternatives
        found = {int(j): maps[self.places[j] - first].map for j in columns}
        return Warping(found) if found else None

    def _compare(self) -> tuple[bool, float, float]:
        """Return whether the scales lower the error at the test rows, and both errors.

        Sets the factors to the better ones. For ordered rows the scales must also be better in
        cross-validation on contiguous folds, although the rounds have used those rows.
        """
        columns = np.arange(len(self.powers))
        models = [(powers, columns) for powers in self.commons] + [(self.powers, self.places)]
        result = self._errors_of(self.comparison, models)
        common, learned = min(range(len(self.commons)), key=result.mean), len(models) - 1
        helped = self.has_test_rows and result.helps(learned, common)
        if helped and self.folds is not None:
            both = [models[common], models[learned]]
            helped = self._errors_of(self.folds, both).helps(1, 0, SURE)
        taken = learned if helped else common
        self.powers, self.places = models[taken][0] + result.steps[taken], models[taken][1]
        return helped, result.mean(common), result.mean(learned)

    def _errors_of(self, comparison: HeldOutComparison, models: Sequence[Any]) -> ComparisonResult:
        self.count += len(models) * comparison.trials
        stepped = [partial(self._stepped, powers, places) for powers, places in models]
        return comparison.compare(stepped, self.most_rows)

    def _stepped(self, powers: NDArray[np.float64], places: NDArray[np.int64], step: float) -> Move:
        return self._move(powers + step, places)

    def _find_common(self, stage: Stage, number: int, ways: Sequence[float]) -> None:
        """Find a common bandwidth of columns divided by their widths, or undivided if better."""
        trials = self._trials(stage, number)
        options = [[powers + step for step in ways] for powers in self.commons]
        moves = [self._move(powers, self.places) for some in options for powers in some]
        errors = trials.split.held_out.mean(self._errors_by_ridge(trials, moves, RIDGES))
        errors = errors.reshape(len(options), len(ways), len(RIDGES))
        best = errors.min(axis=2).argmin(axis=1)
        self.commons = [some[k] for some, k in zip(options, best, strict=True)]
        which, _, ridge = np.unravel_index(int(np.argmin(errors)), errors.shape)
        self.powers, self.ridge = self.commons[int(which)], RIDGES[int(ridge)]
        self.error = float(errors.min())

    def _run_stage(self, stage: Stage, number: int) -> None:
        idle = 0
        for k in range(stage.rounds):
            if idle >= self.patience or time.perf_counter() > self.deadline:
                return
            trials = self._trials(stage, number + k)
            options = steps(stage.step, self._some_groups(number + k), self.powers, self.places)
            before, after = self._round(trials, options)
            self.rounds.append(Round(trials.split.rows, stage.grids, stage.step, before, after))
            idle = idle + 1 if before - after <= SMALL_GAIN * before else 0

    def _warp(self, stage: Stage) -> None:
        """Replace columns with heavy tails by alternatives that lower the error."""
        after = enumerate(self.sample.alternatives, self.sample.n_columns)
        options = [{one.column: (self.powers[one.column], place)} for place, one in after]
        if options and time.perf_counter() <= self.deadline:
            self._round(self._trials(stage, WARP), options)

    def _round(self, trials: Trials, options: Sequence[Change]) -> tuple[float, float]:
        """Apply the changes that lower the error; return the error before and after."""
        base = self._errors(trials, [{}])[0]
        before = float(trials.split.held_out.mean(base))
        found = self._improvements(trials, base, options)
        if not found:
            return before, before
        changes = [joint(found[:size]) for size in sizes(len(found))]
        moves = [self._changed(change) for change in changes]
        means = trials.split.held_out.mean(self._errors(trials, moves))
        best = int(np.argmin(means))
        if means[best] >= before:
            return before, before
        self._apply(changes[best])
        return before, float(means[best])

    def _improvements(
        self, trials: Trials, base: NDArray[np.float64], options: Sequence[Change]
    ) -> list[Change]:
        """Return the best change of each group that lowers the error, largest gain first."""
        found: dict[int, tuple[float, Change]] = {}
        moves = [self._changed(change) for change in options]
        all_errors = self._errors(trials, moves, trials.first_sweep_errors(self.ridge))
        for change, errors in zip(options, all_errors, strict=True):
            if np.isinf(errors[0]):  # ended after one sweep
                continue
            gain, deviation = trials.split.held_out.gain(base, errors)
            first = next(iter(change))
            if gain > deviation and (first not in found or gain > found[first][0]):
                found[first] = gain, change
        return [change for _, change in sorted(found.values(), key=lambda one: -one[0])]

    def _some_groups(self, number: int) -> Groups:
        groups = self.sample.groups
        order = self.rng.child(SOME, number).permutation(len(groups))[:MOST_GROUPS]
        return tuple(groups[k] for k in np.sort(order))

    def _apply(self, change: Change) -> None:
        self.powers, self.places = self.powers.copy(), self.places.copy()
        for j, (power, place) in change.items():
            self.powers[j], self.places[j] = power, place

    def _changed(self, change: Change) -> Move:
        """Return the new factors of the columns in a change."""
        removed = {int(self.places[j]): 0.0 for j in change}
        return removed | {p: float(self.per_width[p] * 2.0**power) for power, p in change.values()}

    def _move(self, powers: NDArray[np.float64], places: NDArray[np.int64]) -> Move:
        """Return the factors of all columns and alternatives, 0 for those not in use."""
        factors = np.zeros(len(self.per_width))
        factors[places] = self.per_width[places] * 2.0**powers
        return dict(enumerate(factors.tolist()))

    def _trials(self, stage: Stage, number: int) -> Trials:
        rng, rows = self.rng.child(number), min(stage.rows, self.most_rows)
        trials = Trials(self.sample.draw_split(rows, rng), stage.grids, rng)
        trials.apply(self._move(self.powers, self.places))
        return trials

    def _errors(
        self, trials: Trials, moves: Sequence[Move], first_sweep: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        self.count += len(moves)
        return trials.errors(moves, self.ridge, first_sweep)

    def _errors_by_ridge(
        self, trials: Trials, moves: Sequence[Move], ridges: Sequence[float], sweeps: int = SWEEPS
    ) -> NDArray[np.float64]:
        self.count += len(moves) * len(ridges)
        return trials.errors_by_ridge(moves, ridges, sweeps)

    def _last_ridge(self) -> float:
        """Return the ridge for many grids; few grids are noisier and need a larger one."""
        trials = self._trials(Stage(RIDGE_ROWS, RIDGE_GRIDS), LAST)
        errors = self._errors_by_ridge(trials, [{}], LAST_RIDGES, 2 * SWEEPS)[0]
        return LAST_RIDGES[int(np.argmin(trials.split.held_out.mean(errors)))]

    def _relevance(self) -> NDArray[np.float64]:
        """Return the relative increase of the error without each column, (resamples, columns).

        Equal columns are removed together. If there are very many columns, it is 0 for those with
        the largest scales.
        """
        rises = np.zeros((RESAMPLES, len(self.powers)))
        columns = np.concatenate([*self.sample.groups, np.empty(0, np.int64)])
        columns = columns[np.argsort(-self.powers[columns], kind="stable")[:RELEVANT]]
        for k in range(RESAMPLES):
            trials = self._trials(Stage(RELEVANCE_ROWS, RELEVANCE_GRIDS), RELEVANCE + k)
            moves: list[Move] = [{}, *(self._without(int(j)) for j in columns)]
            errors = trials.split.held_out.mean(self._errors(trials, moves))
            rises[k, columns] = errors[1:] / errors[0] - 1.0 if errors[0] > 0 else 0.0
        return rises

    def _without(self, column: int) -> Move:
        twins = self.sample.twins == self.sample.twins[column]
        return {int(place): 0.0 for place in self.places[twins]}


class BandwidthSearch(Search):
    """A search for one bandwidth of columns divided by given scales.

    More rows need a smaller bandwidth, so the last trials use the most rows.
    """

    def find(self, stages: Sequence[Stage], scales: NDArray[np.float64]) -> tuple[float, float]:
        """Return the bandwidth of a Laplacian kernel on columns divided by scales, and a ridge."""
        first, last = stages[0], stages[-1]
        powers = -np.log2(self.per_width[: self.sample.n_columns] * scales)
        self.commons = [powers - np.median(powers).round()]
        self.powers, self.most_rows = self.commons[0], last.rows
        self._find_common(first, COMMON, BANDWIDTHS)
        if time.perf_counter() <= self.deadline:
            self._find_common(Stage(last.rows, last.grids), COMMON_AGAIN, NEARBY)
        factors = self.per_width[: len(scales)] * 2.0**self.powers
        return float(1.0 / (factors[0] * scales[0])), self._last_ridge()
