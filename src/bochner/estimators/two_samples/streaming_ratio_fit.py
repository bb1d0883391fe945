"""Course: how a density ratio is found from rows as they come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.compute.memory import memory_budget
from bochner.data import Batch, DataSource, HeldOut, RandomAccess, hold_out, shuffled
from bochner.estimators.fitting.resume import resume_on_new_rows
from bochner.estimators.two_samples.ratio_fit import LOSSES, RatioFit, normalised
from bochner.estimators.two_samples.samples import PairStream, SamplePair, require_one_form
from bochner.features import RandomFeatures, prepare
from bochner.kernels import Kernel
from bochner.problem import Expansion, Problem
from bochner.solvers import DoublyStochastic
from bochner.stopping import Stop
from bochner.training.loop import INTERRUPTED, Training, run

FIRST_ROWS = 12_500  # of either sample, by which bandwidth and alpha are chosen
BATCH_ROWS = 8_192
ROWS_AHEAD = 100_000  # that alpha is made for where their number is not known
# Rows of either sample are held out up to so many, and up to so many numbers if that is fewer.
FEW_HELD_OUT, MOST_HELD_OUT, HELD_OUT_NUMBERS = 2_500, 20_000, 4_000_000


@dataclass(frozen=True)
class Course:
    """What doubly stochastic gradients have come to, and all that they need to go on.

    `held_out` are rows of p and of q that judge the function and settle its constant, `recipe`
    is what was asked for, in words, when it began.
    """

    fit: RatioFit
    recipe: str
    kernel: Kernel
    problem: Problem
    training: Training | None = None
    held_out: tuple[Batch | None, Batch | None] = (None, None)
    calls: int = 0

    @classmethod
    def begun(cls, fit: RatioFit, x: DataSource, y: DataSource, rows: int | None) -> Course:
        """Settle kernel, alpha and waves by the first of so many rows (None: nobody knows)."""
        first = SamplePair(
            *(_split(fit, source, None, 0).sample(FIRST_ROWS, fit.seed) for source in (x, y))
        )
        choice = fit.chosen(*fit.split(first.required()))
        features = RandomFeatures(fit.size + fit.size % 2)
        kernel, basis = prepare(
            choice.kernel, features, first.labelled(), fit.seed, np.float32,
            memory_budget(fit.memory),
        )  # fmt: skip
        alpha = fit.alpha_for(choice, rows or ROWS_AHEAD)
        problem = Problem(basis, LOSSES[fit.loss](), alpha, 1, False, None, fit.seed)
        return cls(fit, repr(fit), kernel, problem)

    def require(self, asked: RatioFit) -> None:
        """Refuse to go on with other parameters than those it began with."""
        if repr(asked) != self.recipe:
            raise ValueError(
                f"Going on needs what the first call had, {self.recipe}; got {asked}. Set it back, "
                "or begin anew with fit."
            )

    def through(self, x: DataSource, y: DataSource, stop: Stop) -> tuple[Expansion, Course]:
        """Return f and the course after walking through two samples."""
        solver = DoublyStochastic(batch_size=BATCH_ROWS)
        training, before = self.training, 0
        if training is not None:
            training = resume_on_new_rows(training, solver, self.problem)
            before = training.step
        for source, held in zip((x, y), self.held_out, strict=True):
            if held is not None:
                require_one_form(source.sample(1).X, held.X)
        rests = [
            _split(self.fit, source, held, self.calls)
            for source, held in zip((x, y), self.held_out, strict=True)
        ]
        walks = [shuffled(rest) if isinstance(rest, RandomAccess) else rest for rest in rests]
        pairs = PairStream(*walks)
        solution = run(solver, self.problem, pairs, stop=stop, training=training)
        if solution.reason is INTERRUPTED:
            raise KeyboardInterrupt
        kept = [rest.held_out() for rest in rests]
        if solution.training.step == before and (before == 0 or kept == [None, None]):
            raise ValueError("No rows of both samples have a positive weight. Give such rows.")
        x_held, y_held = map(_joined, self.held_out, kept)
        after = replace(
            self,
            training=solution.training,
            held_out=(x_held, y_held),
            calls=self.calls + 1,
        )
        return normalised(solution.expansion, after.judged), after

    @property
    def judged(self) -> SamplePair:
        """The rows held out so far."""
        x, y = self.held_out
        if x is None or y is None or not (pair := SamplePair(x, y)).weighs:
            raise ValueError(
                "Of so few rows none was held out, or none with a positive weight. Give more rows "
                f"at first, or a larger share held_out; got {self.fit.held_out}."
            )
        return pair


def _split(fit: RatioFit, source: DataSource, held: Batch | None, calls: int) -> HeldOut:
    """Hold rows out of a source, as long as there are not enough of them."""
    enough = max(FEW_HELD_OUT, min(MOST_HELD_OUT, HELD_OUT_NUMBERS // source.n_columns))
    most = max(0, enough - (0 if held is None else len(held)))
    # Of many rows a smaller share: the first ones alone might not stand for all.
    share = min(fit.held_out, most / source.n_rows) if source.n_rows else fit.held_out
    return hold_out(source, share, most, fit.seed + calls)


def _joined(before: Batch | None, new: Batch | None) -> Batch | None:
    parts = [rows for rows in (before, new) if rows is not None]
    return Batch.join(parts) if parts else None
