"""Search: rounds of trials, from few rows and wide steps to many and narrow ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random import Random
from bochner.tuning.groups import Groups
from bochner.tuning.sample import Drawn, Sample
from bochner.tuning.trials import SWEEPS, Move, Trials
from bochner.tuning.tuned import Round, Tuned

SEARCH = 0x5CA1E  # keeps these draws apart from others of the same seed
BANDWIDTHS = range(-4, 9)  # powers of 2, of one over the width of a column
RIDGES = (0.03, 0.3, 3.0)
LAST_RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SMALL_GAIN = 0.004  # of the error
MOST_GROUPS = 128  # in a round; of more some are drawn
JUDGES = 0.2  # of the rows, kept for the verdict
VERDICT_GRIDS = 32
RESAMPLES, RELEVANCE_ROWS, RELEVANCE_GRIDS, RELEVANT = 3, 16_000, 16, 256
RIDGE_ROWS, RIDGE_GRIDS = 32_000, 128
# Numbers of the draws; rounds have those from ROUNDS on.
SPLIT, SOME, COMMON, COMMON_AGAIN, VERDICT, LAST, RELEVANCE = range(7)
ROUNDS = 1_000

Gain = tuple[float, NDArray[np.int64], float]  # of a group that moves by a step


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


class Search:
    """The factors so far, as powers of 2 of one over the width of each column.

    A part of the rows is no part of any round: it is for the verdict.
    """

    def __init__(self, sample: Sample, patience: int, seed: int, deadline: float) -> None:
        self.rng, self.patience, self.deadline = Random(seed, SEARCH), patience, deadline
        self.sample, self.judges = sample.split(JUDGES, self.rng.child(SPLIT))
        if len(self.sample) < 2:
            self.sample = self.judges = sample
        self.per_width = 1.0 / _widths(sample)
        self.common = self.powers = np.zeros(sample.X.shape[1])
        self.ridge, self.most_rows, self.count = RIDGES[1], len(sample), 0
        self.rounds: list[Round] = []

    def run(self, stages: Sequence[Stage]) -> None:
        """Find a common bandwidth, and leave it column by column."""
        first, last = stages[0], stages[-1]
        self.most_rows = last.rows
        self._find_common(first, COMMON, BANDWIDTHS)
        self._find_common(replace(last, grids=first.grids), COMMON_AGAIN, (-1, 0, 1))
        self.common = self.powers
        for number, stage in enumerate(stages):
            self._run_stage(stage, ROUNDS * (1 + number))

    def tuned(self) -> Tuned:
        """Return the better of both with the ridge that suits it, and what columns are worth."""
        helped, common, learned = self._verdict()
        self.powers = self.powers if helped else self.common
        relevance = self._relevance()
        return Tuned(
            scales=1.0 / (self.per_width * 2.0**self.powers),
            ridge=self._last_ridge(),
            helped=helped,
            common_error=common,
            learned_error=learned,
            relevance=relevance.mean(axis=0),
            relevance_deviation=relevance.std(axis=0),
            rounds=tuple(self.rounds),
            trials=self.count,
        )

    def _verdict(self) -> tuple[bool, float, float]:
        """Return whether the scales help rows that no round has seen, and both errors there."""
        rng = self.rng.child(VERDICT)
        known = self.sample[rng.permutation(len(self.sample))[: self.most_rows]]
        judges = self.judges[rng.permutation(len(self.judges))[: self.most_rows]]
        trials = self._settled(Trials(Drawn.of(known, judges), VERDICT_GRIDS, rng))
        places = [self.common, self.powers] if self.rounds else [self.common]
        moves = [self._move(powers) for powers in places for _ in LAST_RIDGES]
        errors = self._errors(trials, moves, LAST_RIDGES * len(places))
        best = [min(some, key=trials.drawn.mean) for some in np.split(errors, len(places))]
        gain, deviation = trials.drawn.gain(best[0], best[-1])
        means = [float(trials.drawn.mean(some)) for some in best]
        return gain > deviation, means[0], means[-1]

    def _find_common(self, stage: Stage, number: int, steps: Sequence[int]) -> None:
        trials = self._trials(stage, number)
        moves = [self._move(self.powers + step) for step in steps for _ in RIDGES]
        errors = trials.drawn.mean(self._errors(trials, moves, RIDGES * len(steps)))
        step, ridge = np.unravel_index(int(np.argmin(errors)), (len(steps), len(RIDGES)))
        self.powers, self.ridge = self.powers + steps[int(step)], RIDGES[int(ridge)]

    def _run_stage(self, stage: Stage, number: int) -> None:
        idle = 0
        for k in range(stage.rounds):
            if idle >= self.patience or time.perf_counter() > self.deadline:
                return
            trials = self._trials(stage, number + k)
            before, after = self._round(trials, stage.step, self._some_groups(number + k))
            self.rounds.append(Round(trials.drawn.rows, stage.grids, stage.step, before, after))
            idle = idle + 1 if before - after <= SMALL_GAIN * before else 0

    def _round(self, trials: Trials, step: float, groups: Groups) -> tuple[float, float]:
        """Take the moves that gain; return the error before and after."""
        base = self._errors(trials, [{}], self.ridge)[0]
        before = float(trials.drawn.mean(base))
        found = self._gains(trials, step, base, groups)
        if not found:
            return before, before
        changes = [self._joint(found[:size]) for size in _sizes(len(found))]
        moves = [self._changed(change) for change in changes]
        means = trials.drawn.mean(self._errors(trials, moves, self.ridge))
        best = int(np.argmin(means))
        if means[best] >= before:
            return before, before
        self.powers = self.powers + changes[best]
        return before, float(means[best])

    def _gains(
        self, trials: Trials, step: float, base: NDArray[np.float64], groups: Groups
    ) -> list[Gain]:
        """Return the better direction of each group where it gains, the best group first."""
        options = [(group, way) for group in groups for way in (step, -step)]
        moves = [self._changed(self._joint([(0.0, *option)])) for option in options]
        found: dict[int, Gain] = {}
        all_errors = self._errors(trials, moves, self.ridge)
        for (group, way), errors in zip(options, all_errors, strict=True):
            gain, deviation = trials.drawn.gain(base, errors)
            key = int(group[0])
            if gain > deviation and (key not in found or gain > found[key][0]):
                found[key] = gain, group, way
        return sorted(found.values(), key=lambda move: -move[0])

    def _some_groups(self, number: int) -> Groups:
        groups = self.sample.groups
        order = self.rng.child(SOME, number).permutation(len(groups))[:MOST_GROUPS]
        return tuple(groups[k] for k in np.sort(order))

    def _joint(self, moves: Sequence[Gain]) -> NDArray[np.float64]:
        change = np.zeros(len(self.powers))
        for _, group, way in moves:
            change[group] = way
        return change

    def _changed(self, change: NDArray[np.float64]) -> Move:
        move = self._move(self.powers + change)
        return {int(j): move[int(j)] for j in np.flatnonzero(change)}

    def _move(self, powers: NDArray[np.float64]) -> Move:
        return dict(enumerate((self.per_width * 2.0**powers).tolist()))

    def _trials(self, stage: Stage, number: int) -> Trials:
        rng, rows = self.rng.child(number), min(stage.rows, self.most_rows)
        return self._settled(Trials(self.sample.drawn(rows, rng), stage.grids, rng))

    def _settled(self, trials: Trials) -> Trials:
        trials.settle(self._move(self.powers))
        return trials

    def _errors(
        self, trials: Trials, moves: Sequence[Move], ridge: float | Sequence[float]
    ) -> NDArray[np.float64]:
        self.count += len(moves)
        return trials.errors(moves, ridge)

    def _last_ridge(self) -> float:
        """Return the ridge for many grids: the noise of few is best met by a larger one."""
        trials = self._trials(Stage(RIDGE_ROWS, RIDGE_GRIDS), LAST)
        self.count += len(LAST_RIDGES)
        errors = trials.errors([{}] * len(LAST_RIDGES), LAST_RIDGES, 2 * SWEEPS)
        return LAST_RIDGES[int(np.argmin(trials.drawn.mean(errors)))]

    def _relevance(self) -> NDArray[np.float64]:
        """Return by what share the error rises without each column, (resamples, columns).

        Of very many columns those with the widest scales are not tried: 0.
        """
        rises = np.zeros((RESAMPLES, len(self.powers)))
        columns = np.concatenate([*self.sample.groups, np.empty(0, np.int64)])
        columns = columns[np.argsort(-self.powers[columns], kind="stable")[:RELEVANT]]
        for k in range(RESAMPLES):
            trials = self._trials(Stage(RELEVANCE_ROWS, RELEVANCE_GRIDS), RELEVANCE + k)
            moves: list[Move] = [{}, *({int(j): 0.0} for j in columns)]
            errors = trials.drawn.mean(self._errors(trials, moves, self.ridge))
            rises[k, columns] = errors[1:] / errors[0] - 1.0 if errors[0] > 0 else 0.0
        return rises


def _sizes(count: int) -> list[int]:
    """Return how many of the best moves to take together: one, a quarter, half or all."""
    return sorted({1, max(1, count // 4), max(1, count // 2), count})


def _widths(sample: Sample) -> NDArray[np.float64]:
    """Return the standard deviation of each column; 1 for categories, which differ by 1."""
    widths = np.asarray(sample.X.std(axis=0, dtype=np.float64))
    for group in sample.groups:
        if len(group) > 1:
            widths[group] = 1.0
    widths[list(sample.categorical)] = 1.0
    return np.where(widths > 0, widths, 1.0)
