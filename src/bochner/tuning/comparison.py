"""Comparison of models, given by their column factors, on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.tuning.sample import HeldOutWeights, Sample, TrialSplit
from bochner.tuning.trials import Move, Trials

TEST_SHARE = 0.2  # of the rows
ROWS, GRIDS = 16_000, 64
RIDGES = (0.03, 0.3, 3.0)
STEPS = (0.0, -1.0)  # powers of 2: with more grids than in the rounds, wider kernels may do better

Model = Callable[[float], Move]  # the factors of all columns, times a power of 2


@dataclass(frozen=True, eq=False)
class ComparisonResult:
    """The best step of each model and its errors at the held-out rows.

    Errors are squared errors; for classes, 1 for a misclassified row and 0 otherwise.
    """

    steps: list[float]
    errors: list[NDArray[np.float64]]
    held_out: HeldOutWeights

    def mean(self, number: int) -> float:
        """Return the mean error of a model."""
        return float(self.held_out.mean(self.errors[number]))

    def helps(self, number: int, other: int, sure: float = 1.0) -> bool:
        """Whether a model's error is lower than another's by more than `sure` standard errors."""
        gain, deviation = self.held_out.gain(self.errors[other], self.errors[number])
        return gain > sure * deviation


@dataclass(frozen=True, eq=False)
class HeldOutComparison:
    """Pairs of training and test rows on which models are compared: one split, or several folds."""

    parts: Sequence[tuple[Sample, Sample]]
    rng: Random

    @property
    def trials(self) -> int:
        """The number of trials per model."""
        return len(STEPS) * len(RIDGES) + 1

    def compare(self, models: Sequence[Model], most_rows: int) -> ComparisonResult:
        """Return the errors of the models, each with the step and ridge of least squared error."""
        trials = [self._trials(k, min(most_rows, ROWS)) for k in range(len(self.parts))]
        weight = np.concatenate([one.split.held_out.weight for one in trials])
        blocks = [one.split.block for one in trials if one.split.block is not None]
        held_out = HeldOutWeights(weight, np.concatenate(blocks) if blocks else None)
        steps, errors = [], []
        for model in models:
            moves = [model(step) for step in STEPS]
            found = _joined([one.errors_by_ridge(moves, RIDGES) for one in trials])
            step, ridge = np.unravel_index(np.argmin(held_out.mean(found)), found.shape[:2])
            if trials[0].split.scores is None:
                errors.append(found[step, ridge])
            else:
                move, least = moves[int(step)], RIDGES[int(ridge)]
                errors.append(_joined([one.label_errors(move, least) for one in trials]))
            steps.append(STEPS[int(step)])
        return ComparisonResult(steps, errors, held_out)

    def _trials(self, number: int, most_rows: int) -> Trials:
        rng = self.rng.child(number)
        parts = (part[rng.permutation(len(part))[:most_rows]] for part in self.parts[number])
        return Trials(TrialSplit.of(*parts), GRIDS, rng)


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts, axis=-1)
