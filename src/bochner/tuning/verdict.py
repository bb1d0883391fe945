"""Verdict: which of some models serves held-out rows best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.tuning.sample import Sample
from bochner.tuning.trials import Drawn, HeldOut, Move, Trials

JUDGES = 0.2  # of the rows
ROWS, GRIDS = 16_000, 64
RIDGES = (0.03, 0.3, 3.0)
STEPS = (0.0, -1.0)  # powers of 2: more grids than the rounds had may want a wider bandwidth

Model = Callable[[float], Move]  # the factors of all columns, times a power of 2


@dataclass(frozen=True, eq=False)
class Verdict:
    """For each model the step that suits it, and its errors at rows that are held out.

    Errors are squared, of classes 1 for a row that is missed.
    """

    steps: list[float]
    errors: list[NDArray[np.float64]]
    held_out: HeldOut

    def mean(self, number: int) -> float:
        """Return the mean error of a model."""
        return float(self.held_out.mean(self.errors[number]))

    def helps(self, number: int, beside: int, sure: float = 1.0) -> bool:
        """Whether a model beats another by more than so many standard errors."""
        gain, deviation = self.held_out.gain(self.errors[beside], self.errors[number])
        return gain > sure * deviation


@dataclass(frozen=True, eq=False)
class Court:
    """Rows to judge by, each part after the rows that may be known: one part, or stretches."""

    parts: Sequence[tuple[Sample, Sample]]
    rng: Random

    @property
    def trials(self) -> int:
        """The trials that a model takes."""
        return len(STEPS) * len(RIDGES) + 1

    def judge(self, models: Sequence[Model], most_rows: int) -> Verdict:
        """Return the verdict; step and ridge of each model are chosen by the same rows."""
        trials = [self._trials(k, min(most_rows, ROWS)) for k in range(len(self.parts))]
        blocks = [one.drawn.block for one in trials]
        weight = np.concatenate([one.drawn.held_out.weight for one in trials])
        known = [block for block in blocks if block is not None]
        held_out = HeldOut(weight, np.concatenate(known) if known else None)
        steps, errors = [], []
        for model in models:
            moves = [model(step) for step in STEPS]
            found = _joined([one.errors_by_ridge(moves, RIDGES) for one in trials])
            step, ridge = np.unravel_index(np.argmin(held_out.mean(found)), found.shape[:2])
            if trials[0].drawn.scores is None:
                errors.append(found[step, ridge])
            else:
                move, least = moves[int(step)], RIDGES[int(ridge)]
                errors.append(_joined([one.wrong(move, least) for one in trials]))
            steps.append(STEPS[int(step)])
        return Verdict(steps, errors, held_out)

    def _trials(self, number: int, most_rows: int) -> Trials:
        rng = self.rng.child(number)
        parts = (part[rng.permutation(len(part))[:most_rows]] for part in self.parts[number])
        return Trials(Drawn.of(*parts), GRIDS, rng)


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts, axis=-1)
