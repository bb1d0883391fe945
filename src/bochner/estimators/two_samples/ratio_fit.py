"""RatioFit: how a density ratio is found from rows at hand, and its bandwidth and ridge chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.estimators.automatic.defaults import is_auto, is_precomputed
from bochner.estimators.two_samples.samples import SamplePair
from bochner.features import Centers, prepare
from bochner.kernels import Gaussian, Kernel
from bochner.losses import DensityDual, Logistic, Loss
from bochner.problem import Expansion, Problem
from bochner.solvers import Nystroem
from bochner.stopping import Passes, Solved
from bochner.training.loop import INTERRUPTED, Solution, run
from bochner.validation import (
    require_count,
    require_fraction,
    require_memory,
    require_one_of,
    require_positive,
)

LOSSES: dict[str, type[Loss]] = {"exponential": DensityDual, "logistic": Logistic}
MULTIPLIERS = (4.0, 2.0, 1.0, 0.5)  # the smoothest first
RIDGES = (30.0, 3.0, 0.3, 0.03, 0.003)  # alpha times the number of rows
TRIED_ROWS = 2_500  # of either sample, by which these are chosen
TRIED_CENTERS = 256
MOST_PASSES = 200
SPLIT = 0x5917  # keeps this draw apart from others of the same seed


@dataclass(frozen=True)
class Choice:
    """A kernel and a ridge on the sum over the rows."""

    kernel: Kernel
    ridge: float


@dataclass(frozen=True, eq=False)
class RatioFit:
    """What a user asked for, and the seed."""

    kernel: Any
    loss: str
    size: int
    alpha: float | str
    held_out: float
    memory: Any = field(repr=False)
    seed: int = field(repr=False)

    def check(self) -> None:
        """Refuse values out of range."""
        require_one_of("loss", self.loss, tuple(LOSSES))
        require_count("size", self.size)
        if not is_auto(self.alpha):
            require_positive("alpha", self.alpha)
        require_fraction("held_out", self.held_out)
        require_memory(self.memory)
        if is_precomputed(self.kernel):
            raise ValueError(
                "A density ratio needs the kernel's values at centres of its own; got "
                "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
            )

    def split(self, pair: SamplePair) -> tuple[SamplePair, SamplePair]:
        """Return the rows to learn from, and those to judge by."""
        return pair.split(self.held_out, Random(self.seed, SPLIT))

    def chosen(self, learned: SamplePair, judged: SamplePair) -> Choice:
        """Return the smoothest kernel, and for it the largest ridge, that tell rows apart well.

        The judge is the logistic loss, which is least at log(p/q): on few rows of q a divergence
        is large as well where f is large by mistake. What is within a standard error of the least
        loss is as good; a rough f may be wild where there are no rows to say so.
        """
        tried, judged = learned.part(TRIED_ROWS), judged.part(2 * TRIED_ROWS)
        sample = tried.stacked(Random(self.seed)).sample(2 * TRIED_ROWS).X
        open_ones = [Gaussian(multiplier=multiplier) for multiplier in MULTIPLIERS]
        kernels = [
            kernel.resolved(sample, Random(self.seed))
            for kernel in (open_ones if is_auto(self.kernel) else [Kernel.resolve(self.kernel)])
        ]
        ridges = RIDGES if is_auto(self.alpha) else RIDGES[:1]  # a given alpha needs none
        choices = [Choice(*both) for both in product(kernels, ridges)]
        if len(choices) == 1:
            return choices[0]
        size = min(self.size, TRIED_CENTERS)
        losses = [_confusion(self.function(tried, choice, size), judged) for choice in choices]
        return next(choice for choice, near in zip(choices, _near(losses), strict=True) if near)

    def alpha_for(self, choice: Choice, rows: int) -> float:
        """Return the regularisation of a mean over so many rows."""
        return choice.ridge / rows if is_auto(self.alpha) else float(self.alpha)

    def function(self, pair: SamplePair, choice: Choice, size: int) -> Expansion:
        """Return f by Nystroem, with the constant that makes the mean ratio over q equal to 1."""
        return normalised(self.solved(pair, choice, size).expansion.simplified(), pair)

    def solved(self, pair: SamplePair, choice: Choice, size: int) -> Solution:
        """Run Nystroem on rows at hand."""
        source: ArraySource = pair.stacked(Random(self.seed, SPLIT))
        memory = memory_budget(self.memory)
        centers = Centers(min(size, len(pair)))
        rows = source.sample(centers.sample_rows(len(pair)), self.seed)
        _, basis = prepare(choice.kernel, centers, rows, self.seed, np.float32, memory)
        alpha = self.alpha_for(choice, len(pair))
        problem = Problem(basis, LOSSES[self.loss](), alpha, 1, False, len(pair), self.seed)
        found = run(Nystroem(), problem, source, stop=Solved() | Passes(MOST_PASSES))
        if found.reason is INTERRUPTED:
            raise KeyboardInterrupt
        return found


def values(f: Expansion, X: Any) -> NDArray[np.float64]:
    """Return f at rows."""
    return np.asarray(f(X)[:, 0], np.float64)


def normalised(f: Expansion, pair: SamplePair) -> Expansion:
    """Return f with the constant that makes the mean ratio over the rows of q equal to 1."""
    return Expansion(f.basis, f.weights, f.intercept - _log_mean_ratio(f, pair))


def divergence(f: Expansion, pair: SamplePair) -> float:
    """Return E_p f - log E_q exp(f)."""
    mean = np.average(values(f, pair.x.X), weights=pair.x.weight)
    return float(mean - _log_mean_ratio(f, pair))


def _confusion(f: Expansion, pair: SamplePair) -> NDArray[np.float64]:
    """Return the logistic losses of the rows, times their shares of the mass."""
    rows = pair.labelled()
    assert rows.y is not None  # the labels
    assert rows.weight is not None
    losses = Logistic().value(rows.y, f(rows.X)) * rows.weight / rows.weight.sum()
    return np.asarray(losses, np.float64)


def _near(losses: list[NDArray[np.float64]]) -> list[bool]:
    """Whether each sum of losses is within a standard error of the least, on the same rows."""
    best = min(losses, key=np.sum)
    rises = [each - best for each in losses]
    return [bool(rise.sum() <= np.sqrt(len(rise)) * rise.std()) for rise in rises]


def _log_mean_ratio(f: Expansion, pair: SamplePair) -> float:
    weight = np.asarray(pair.y.weight)
    return float(logsumexp(values(f, pair.y.X), b=weight / weight.sum()))
