"""StreamingRatioFit: the fit of a density ratio to streams, which can be continued."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.compute.memory import memory_budget
from bochner.data import Batch, DataSource, HeldOut, RandomAccess, hold_out, shuffled
from bochner.estimators.fitting.resume import resume_on_new_rows
from bochner.estimators.fitting.setup import require_recipe
from bochner.estimators.two_samples.ratio_fit import LOSSES, RatioFit, normalised
from bochner.estimators.two_samples.samples import PairStream, SamplePair, require_same_form
from bochner.features import RandomFeatures, prepare
from bochner.kernels import Kernel
from bochner.problem import Expansion, Problem
from bochner.solvers import DoublyStochastic
from bochner.stopping import Stop
from bochner.training.loop import INTERRUPTED, Training, run

FIRST_ROWS = 12_500  # of either sample, to choose bandwidth and alpha
BATCH_ROWS = 8_192
ASSUMED_ROWS = 100_000  # for alpha, if the number of rows is unknown
# Limits of the held-out rows of either sample, and of the numbers in them.
FEW_HELD_OUT, MOST_HELD_OUT, HELD_OUT_NUMBERS = 2_500, 20_000, 4_000_000


@dataclass(frozen=True)
class StreamingRatioFit:
    """A fit by doubly stochastic gradients, with all that is needed to continue it.

    `held_out` are rows of p and of q that estimate the divergence and determine the constant of f,
    `recipe` the parameters of the first call as text, `calls` the number of calls so far.
    """

    fit: RatioFit
    recipe: str
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

    def require(self, asked: RatioFit) -> None:
        """Refuse to continue with other parameters than those of the first call."""
        require_recipe(self.recipe, repr(asked), "call", " with fit")

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
            self,
            training=solution.training,
            held_out=(x_held, y_held),
            calls=self.calls + 1,
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
