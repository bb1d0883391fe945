"""The fit of a density ratio, to arrays or to streams, and the choice of bandwidth and ridge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, Batch, DataSource, HeldOut, RandomAccess, hold_out, shuffled
from bochner.estimators.automatic.settings import is_auto
from bochner.estimators.fitting.resume import resume_on_new_rows
from bochner.estimators.inputs.validation import is_precomputed
from bochner.estimators.two_samples.samples import PairStream, SamplePair, require_same_form
from bochner.features import Centers, RandomFeatures, prepare
from bochner.kernels import Gaussian, Kernel
from bochner.losses import DensityDual, Logistic, Loss
from bochner.problem import Expansion, Problem
from bochner.solvers import DoublyStochastic, Nystroem
from bochner.stopping import Passes, Solved, Stop
from bochner.training.loop import INTERRUPTED, Solution, Training, run
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
# Of streams:
FIRST_ROWS = 12_500  # of either sample, to choose bandwidth and alpha
BATCH_ROWS = 8_192
ASSUMED_ROWS = 100_000  # for alpha, if the number of rows is unknown
# Limits of the held-out rows of either sample, and of the numbers in them.
FEW_HELD_OUT, MOST_HELD_OUT, HELD_OUT_NUMBERS = 2_500, 20_000, 4_000_000


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
        sample = training.shuffled(Random(self.seed)).sample(2 * TRIED_ROWS)
        weight = None if training.is_uniform else sample.weight
        candidates = [Gaussian(multiplier=multiplier) for multiplier in MULTIPLIERS]
        kernels = [
            kernel.resolved(sample.X, Random(self.seed), weight)
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


@dataclass(frozen=True)
class StreamingRatioFit:
    """A fit by doubly stochastic gradients, with all that is needed to continue it.

    `held_out` are rows of p and of q that estimate the divergence and determine the constant of f,
    `parameters` are those of the first call as text, `calls` the number of calls so far.
    """

    fit: RatioFit
    parameters: str
    kernel: Kernel
    problem: Problem
    training: Training | None = None
    held_out: tuple[Batch | None, Batch | None] = (None, None)
    calls: int = 0

    @classmethod
    def start(
        cls, fit: RatioFit, x: DataSource, y: DataSource, rows: int | None
    ) -> StreamingRatioFit:
        """Choose kernel, alpha and features by the first of `rows` rows (None: unknown)."""
        first = SamplePair(
            *(_hold_out(fit, source, None, 0).sample(FIRST_ROWS, fit.seed) for source in (x, y))
        )
        choice = fit.choose(*fit.split(first.validated()))
        features = RandomFeatures(fit.size + fit.size % 2)
        kernel, basis = prepare(
            choice.kernel, features, first.labelled(), fit.seed, np.float32,
            memory_budget(fit.memory),
        )  # fmt: skip
        alpha = fit.alpha_for(choice, rows or ASSUMED_ROWS)
        problem = Problem(basis, LOSSES[fit.loss](), alpha, 1, False, None, fit.seed)
        return cls(fit, repr(fit), kernel, problem)

    def run(self, x: DataSource, y: DataSource, stop: Stop) -> tuple[Expansion, StreamingRatioFit]:
        """Return f and the fit after training on two samples."""
        solver = DoublyStochastic(batch_size=BATCH_ROWS)
        training, before = self.training, 0
        if training is not None:
            training = resume_on_new_rows(training, solver, self.problem)
            before = training.step
        for source, held in zip((x, y), self.held_out, strict=True):
            if held is not None:
                require_same_form(source.sample(1).X, held.X)
        rests = [
            _hold_out(self.fit, source, held, self.calls)
            for source, held in zip((x, y), self.held_out, strict=True)
        ]
        pairs = PairStream(
            *(shuffled(rest) if isinstance(rest, RandomAccess) else rest for rest in rests)
        )
        solution = run(solver, self.problem, pairs, stop=stop, training=training)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        new = [rest.held_out() for rest in rests]
        if solution.training.step == before and (before == 0 or new == [None, None]):
            raise ValueError("No rows of both samples have a positive weight. Give such rows.")
        x_held, y_held = map(_join, self.held_out, new)
        after = replace(
            self, training=solution.training, held_out=(x_held, y_held), calls=self.calls + 1
        )
        return normalised(solution.expansion, after.held_out_pair), after

    @property
    def held_out_pair(self) -> SamplePair:
        """The rows held out so far."""
        x, y = self.held_out
        if x is None or y is None or not (pair := SamplePair(x, y)).has_weight:
            raise ValueError(
                "Of so few rows none was held out, or none with a positive weight. Give more rows "
                f"at first, or a larger share held_out; got {self.fit.held_out}."
            )
        return pair


def values(f: Expansion, X: Any) -> NDArray[np.float64]:
    """Return f at rows."""
    return np.asarray(f(X)[:, 0], np.float64)


def normalised(f: Expansion, pair: SamplePair) -> Expansion:
    """Return f with the constant that makes the mean ratio over the rows of q equal to 1."""
    return replace(f, intercept=f.intercept - _log_mean_ratio(f, pair))


def divergence(f: Expansion, pair: SamplePair) -> float:
    """Return E_p f - log E_q exp(f)."""
    mean = np.average(values(f, pair.x.X), weights=pair.x.weight)
    return float(mean - _log_mean_ratio(f, pair))


def _logistic_losses(f: Expansion, pair: SamplePair) -> NDArray[np.float64]:
    """Return the logistic losses of the rows, times their shares of the total weight."""
    rows = pair.labelled()
    losses = Logistic().value(rows.targets, f(rows.X)) * rows.weights / rows.weights.sum()
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


def _hold_out(fit: RatioFit, source: DataSource, held: Batch | None, calls: int) -> HeldOut:
    """Hold rows out of a source, up to the limit for those of all calls."""
    enough = max(FEW_HELD_OUT, min(MOST_HELD_OUT, HELD_OUT_NUMBERS // source.n_columns))
    most = max(0, enough - (0 if held is None else len(held)))
    # A smaller share of many rows, since the first ones alone may not represent all.
    share = min(fit.held_out, most / source.n_rows) if source.n_rows else fit.held_out
    return hold_out(source, share, most, fit.seed + calls)


def _join(before: Batch | None, new: Batch | None) -> Batch | None:
    parts = [rows for rows in (before, new) if rows is not None]
    return Batch.join(parts) if parts else None
