"""Ridge: kernel ridge regression on any targets, by any solver of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch, DataSource, RandomAccess, mapped, shuffled
from bochner.features import Basis
from bochner.losses import Squared
from bochner.posterior.watch import Watch
from bochner.problem import Expansion, Problem
from bochner.solvers import Solver
from bochner.training.loop import INTERRUPTED, run


@dataclass(frozen=True, eq=False)
class Ridge:
    """The minimum of sum w |f(x) - t(x)|^2 / (2 sum w) + alpha/2 |f|^2 for targets t of the rows.

    It is the posterior mean of a Gaussian process with the noise alpha sum w, for the squared loss
    has a factor 1/2 and is a mean over the rows.

    Parameters
    ----------
    source : DataSource
        Rows, weights and coded targets.
    basis : Basis
        The functions that f is made of.
    solver : Solver
        What finds the weights.
    alpha : float
        noise / sum w.
    seed : int
        Determines the order of the rows.
    watch : Watch
        Limits, those who are told the progress, and how fits ended.
    """

    source: DataSource
    basis: Basis
    solver: Solver[Any]
    alpha: float
    seed: int
    watch: Watch = field(default_factory=Watch)

    def fitted(self, targets: Callable[[Batch], NDArray[Any]]) -> Expansion:
        """Return the function for targets made of the batches; a Ctrl-C is raised."""
        found = self.learned(targets)
        if self.watch.ends[-1].reason is INTERRUPTED:
            raise KeyboardInterrupt
        return found

    def learned(self, targets: Callable[[Batch], NDArray[Any]]) -> Expansion:
        """Return the function as far as it was learned when the watch, or a Ctrl-C, ended it."""

        def with_targets(batch: Batch) -> Batch:
            return replace(batch, y=np.asarray(targets(batch), np.float64))

        source: DataSource = mapped(self.source, with_targets)
        outputs = source.sample(1).y
        assert outputs is not None  # they have just been made
        if self.solver.tags.access == "shuffled" and isinstance(source, RandomAccess):
            source = shuffled(source)
        rows = self.source.n_rows
        problem = Problem(
            self.basis, Squared(), self.alpha, outputs.shape[1], False, rows, self.seed
        )
        solution = run(
            self.solver,
            problem,
            source,
            stop=self.watch.rule(self.solver),
            callbacks=self.watch.callbacks,
            used=self.watch.used,
        )
        self.watch.ended(solution.progress)
        return solution.expansion.simplified()
