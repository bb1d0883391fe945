"""RatioFit: the fit of a density ratio to arrays, and the choice of bandwidth and ridge."""

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
from bochner.estimators.automatic.settings import is_auto
from bochner.estimators.inputs.validation import is_precomputed
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
MULTIPLIERS = (4.0, 2.0, 1.0, 0.5)  # of the median distance, the smoothest first
RIDGES = (30.0, 3.0, 0.3, 0.03, 0.003)  # alpha times the number of rows
TRIED_ROWS = 2_500  # of either sample, to choose these
TRIED_CENTERS = 256
MOST_PASSES = 200
SPLIT = 0x5917  # selects a separate random stream for each seed


@dataclass(frozen=True)
class KernelAndRidge:
    """A kernel, and a ridge on the sum over the rows."""

    kernel: Kernel
    ridge: float


@dataclass(frozen=True, eq=False)
class RatioFit:
    """The parameters of `DensityRatio`, and the seed."""

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
        """Return training rows and held-out rows."""
        return pair.split(self.held_out, Random(self.seed, SPLIT))

    def choose(self, training: SamplePair, held_out: SamplePair) -> KernelAndRidge:
        """Return the smoothest kernel, and for it the largest ridge, of a low held-out loss.

        The loss is logistic, whose minimum is log(p/q); a divergence estimated on few rows of q
        would also be large for an f that is too large. Losses within a standard error of the least
        count as equal, and the smoothest f is chosen: a rough f can be wrong where rows are few.
        """
        training, held_out = training.head(TRIED_ROWS), held_out.head(2 * TRIED_ROWS)
        sample = training.shuffled(Random(self.seed)).sample(2 * TRIED_ROWS).X
        candidates = [Gaussian(multiplier=multiplier) for multiplier in MULTIPLIERS]
        kernels = [
            kernel.resolved(sample, Random(self.seed))
            for kernel in (candidates if is_auto(self.kernel) else [Kernel.resolve(self.kernel)])
        ]
        ridges = RIDGES if is_auto(self.alpha) else RIDGES[:1]  # a given alpha replaces the ridge
        pairs = [KernelAndRidge(*pair) for pair in product(kernels, ridges)]
        if len(pairs) == 1:
            return pairs[0]
        size = min(self.size, TRIED_CENTERS)
        losses = [
            _logistic_losses(self.fit_function(training, pair, size), held_out) for pair in pairs
        ]
        return pairs[_near_least(losses).index(True)]

    def alpha_for(self, choice: KernelAndRidge, rows: int) -> float:
        """Return alpha, the regularisation of a mean over so many rows."""
        return choice.ridge / rows if is_auto(self.alpha) else float(self.alpha)

    def fit_function(self, pair: SamplePair, choice: KernelAndRidge, size: int) -> Expansion:
        """Return f by Nystroem, with the constant that makes the mean ratio over q equal to 1."""
        return normalised(self.solve(pair, choice, size).expansion.simplified(), pair)

    def solve(self, pair: SamplePair, choice: KernelAndRidge, size: int) -> Solution:
        """Run Nystroem on arrays."""
        source: ArraySource = pair.shuffled(Random(self.seed, SPLIT))
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


def _logistic_losses(f: Expansion, pair: SamplePair) -> NDArray[np.float64]:
    """Return the logistic losses of the rows, times their shares of the total weight."""
    rows = pair.labelled()
    assert rows.y is not None  # the labels
    assert rows.weight is not None
    losses = Logistic().value(rows.y, f(rows.X)) * rows.weight / rows.weight.sum()
    return np.asarray(losses, np.float64)


def _near_least(losses: list[NDArray[np.float64]]) -> list[bool]:
    """Whether each sum of losses is within a standard error of the least, on the same rows."""
    best = min(losses, key=np.sum)
    rises = [each - best for each in losses]
    return [bool(rise.sum() <= np.sqrt(len(rise)) * rise.std()) for rise in rises]


def _log_mean_ratio(f: Expansion, pair: SamplePair) -> float:
    """Return log E_q exp(f)."""
    weight = np.asarray(pair.y.weight)
    return float(logsumexp(values(f, pair.y.X), b=weight / weight.sum()))
