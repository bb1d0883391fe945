"""An experiment: the library's own loop with a view of the state, looked at from time to time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from bochner.data import Batch, DataSource
from bochner.features import SAMPLE_ROWS, prepare
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, PredictionCache
from bochner.stopping import Stop
from bochner.training.loop import Training, run
from bochner.training.progress import Progress, Reason

# The cache holds the code of its rows, so predictions need no others.
NO_ROWS = Batch(np.empty((0, 0)), None, np.empty(0, np.int64))


@dataclass
class Experiment:
    """A solver on a problem with its state at hand, which an estimator hides until it is done."""

    solver: DoublyStochastic
    problem: Problem
    source: DataSource
    training: Training = field(init=False)

    def __post_init__(self) -> None:
        self.solver.check(self.problem)
        sample = self.source.sample(SAMPLE_ROWS, self.problem.seed)
        state = self.solver.init(self.problem, sample)
        self.training = Training(state, self.solver.rows_per_batch(self.problem))

    def run(self, stop: Stop, callback: Callable[[Progress], None]) -> Progress:
        """Train until the rule says stop."""
        solution = run(
            self.solver,
            self.problem,
            self.source,
            stop=stop,
            callbacks=[callback],
            training=self.training,
        )
        return solution.progress

    def mean(self, memo: PredictionCache) -> np.ndarray:
        """Return the averaged iterate's predictions at the rows of a memo."""
        return self.solver.predictions(self.problem, self.training.state, NO_ROWS, memo)

    def last(self, memo: PredictionCache) -> np.ndarray:
        """Return the last iterate's predictions at the rows of a memo."""
        return replace(self.solver, averaging=None).predictions(
            self.problem, self.training.state, NO_ROWS, memo
        )


@dataclass
class Watch:
    """A callback that takes figures at given moments and knows how long that took.

    `reading` says where the moments are counted (steps, or seconds of training).
    """

    figures: Callable[[], dict[str, float]]
    moments: Sequence[float]
    reading: Callable[[Progress], float] | None = None
    spent: float = 0.0
    lines: list[dict[str, Any]] = field(default_factory=list)

    def trained(self, progress: Progress) -> float:
        """Return the seconds since the run began, without those spent on looking."""
        return progress.seconds - self.spent

    def __call__(self, progress: Progress) -> None:
        """Look if it is time, and at the end."""
        reading = (self.reading or self.trained)(progress)
        seen = bool(self.lines) and self.lines[-1]["step"] == progress.step
        due = len(self.lines) < len(self.moments) and reading >= self.moments[len(self.lines)]
        if seen or not (due or progress.reason is not None):
            return
        begin = perf_counter()
        line = {"step": progress.step, "rows": progress.rows, "features": progress.size}
        line["seconds"] = self.trained(progress)
        self.lines.append(line | self.figures())
        self.spent += perf_counter() - begin


@dataclass(frozen=True)
class Budget(Stop):
    """Stop when the training alone, without the looks of a watch, has taken so many seconds."""

    most: float
    watch: Watch

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once the time is up."""
        if self.watch.trained(progress) < self.most:
            return None
        return Reason(f"{self.most:g} seconds of training were up", converged=False)


def posed(
    source: DataSource,
    kernel: Kernel | str,
    loss: str,
    alpha: float,
    seed: int,
    *,
    features: str = "fourier",
) -> tuple[Kernel, Problem]:
    """Return the kernel with its bandwidth, and the problem, as the estimators pose it."""
    sample = source.sample(SAMPLE_ROWS, seed)
    kernel, basis = prepare(kernel, features, sample, seed)
    problem = Problem(
        basis=basis,
        loss=Loss.resolve(loss),
        alpha=alpha,
        outputs=sample.y.shape[1],
        rows=source.n_rows,
        seed=seed,
    )
    return kernel, problem
