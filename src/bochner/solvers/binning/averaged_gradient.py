"""AveragedGradient: one pass over a stream of rows, whose bins are added as rows fall in them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.row_steps import BinRecords, RowSteps
from bochner.data import Batch
from bochner.features import BinningBasis, BinningDiagnostics
from bochner.problem import Expansion, Problem
from bochner.records import require_sound
from bochner.solvers.solver import (
    PredictionCache,
    Solver,
    SolverTags,
    State,
    best_constant,
    curvature,
)
from bochner.validation import is_integer, require, require_not_negative

BATCH_ROWS = 16_384
LINEAR_ROWS = 64  # whose slopes are computed together
BIN_BYTES = 60  # per bin and output: a record of 24 with spare capacity, and a table entry


@dataclass
class AveragedGradientState(State):
    """The bins so far with their records, at most `most` of each grid."""

    basis: BinningBasis
    records: BinRecords
    most: int
    pass_loss: float = 0.0
    pass_rows: float = 0.0

    @property
    def size(self) -> int:
        """The number of bins."""
        return self.basis.size

    def diagnostics(self) -> BinningDiagnostics:
        """Return how finely the grids divide the rows so far."""
        return BinningDiagnostics.of(self.basis, self.records.rows(self.basis.counts))

    def validate(self) -> None:
        """Check that every bin has a record."""
        room = np.diff(self.records.starts)
        require_sound(len(room) == len(self.basis.grids), "it has records for other grids")
        fits = bool((self.basis.counts <= room).all())
        require_sound(fits, "it has fewer records than bins")


@dataclass
class AveragedGradient(Solver[AveragedGradientState], name="averaged"):
    r"""Averaged stochastic gradients on the bins of a stream, row by row.

    A row lies in one bin b of each grid, f = h sum_b w_b + intercept. With the slope g of its loss
    (curved by at most c), N_b rows so far in the bin, of N in all, and M_b = N_b^(-1/2), it does

        w_b <- (w_b - l M_b h g) / (1 + l M_b alpha N / N_b),   l = step / (c h^2 sum_b M_b),

    the intercept likewise, as a bin of all rows and height 1 without alpha. For alpha = 0 this
    moves f at the row itself by -step g / c, whatever the number of grids: the projection of
    Kaczmarz (step = 1 fits the target of a squared loss exactly), in a metric in which rare bins
    learn fast and common ones average the noise. Of the gradient of the mean loss + alpha/2 |w|^2
    in w_b, h mean(g [x in b]) + alpha w_b, a row has the second part only if it is in the bin,
    which N_b of N rows are: hence alpha N / N_b, taken implicitly so that it cannot overshoot.

    A step of constant length keeps the noise of the last rows; predictions come from the mean of
    the iterates, which has the best possible rate in one pass (Bach and Moulines 2013,
    Non-strongly-convex smooth stochastic approximation with convergence rate O(1/n), Theorem 1;
    Polyak and Juditsky 1992). A row of twice the mean weight makes a step of twice the length; all
    are shorter where the heaviest row would overshoot its target.

    Parameters
    ----------
    step : float
        The share of a row's error that one step removes, above 0 and at most 1.
    averaging : float
        The iterate after t rows has importance t^averaging in the mean; 0 is the plain mean.
    most_bins : int or "auto"
        The largest number of bins, shared evenly by the grids; rows in others have weight 0 there.
        "auto": what the memory budget holds, about 60 bytes a bin and output.

    See Also
    --------
    Backfitting : For rows that can be read more than once.
    DoublyStochastic : Streams with Fourier features.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> from bochner.solvers import AveragedGradient
    >>> model = KernelRegressor(solver=AveragedGradient(step=0.5), random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(20):
    ...     X = rng.uniform(size=(1_000, 1))
    ...     model = model.partial_fit(X, np.sin(6 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(6 * X[:, 0])).mean() < 0.02)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=AveragedGradientState, basis_type=BinningBasis, features="binning"
    )

    step: float = 0.5
    averaging: float = 1.0
    most_bins: int | str = "auto"

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for values out of range."""
        require(0 < self.step <= 1, "step", self.step, "above 0 and at most 1")
        require_not_negative("averaging", self.averaging, "a finite number from 0 on")
        grids = len(cast(BinningBasis, problem.basis).grids)
        enough = is_integer(self.most_bins) and int(self.most_bins) >= grids
        kind = f"'auto' or a whole number from {grids} on, a bin for each of the {grids} grids"
        require(self.most_bins == "auto" or enough, "most_bins", self.most_bins, kind)

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return 16,384, or all rows if there are fewer; the result does not depend on it."""
        return BATCH_ROWS if problem.rows is None else min(BATCH_ROWS, problem.rows)

    def init(self, problem: Problem, sample: Batch) -> AveragedGradientState:
        """Return the constant that fits the sample best, with the bins of the problem's basis."""
        basis = deepcopy(cast(BinningBasis, problem.basis))  # other fits keep their own bins
        return self._initial_state(basis, best_constant(problem, sample))

    def continue_from(
        self, problem: Problem, expansion: Expansion, rows_in_bins: NDArray[Any]
    ) -> AveragedGradientState:
        """Return a state that continues from another solver's function and its rows in each bin."""
        basis = cast(BinningBasis, expansion.basis)
        intercept = np.broadcast_to(expansion.intercept, problem.outputs)
        state = self._initial_state(basis, intercept)
        state.records.adopt(basis.counts, expansion.weights, rows_in_bins, self.averaging)
        return state

    def advance(
        self, problem: Problem, state: AveragedGradientState, batch: Batch
    ) -> AveragedGradientState:
        """Return the state after each row has moved the weights."""
        if batch.weight is not None:
            batch = batch[batch.weight > 0]
        if len(batch) == 0:
            return state
        state.basis, code = state.basis.extended(batch.X, state.most)
        state.records.reserve(state.basis.counts, state.most)
        return self._take_steps(problem, state, code.T, batch)

    def end_pass(self, problem: Problem, state: AveragedGradientState) -> AveragedGradientState:
        """Record the mean loss of the pass."""
        if state.pass_rows > 0:
            state.pass_losses.append(state.pass_loss / state.pass_rows)
        state.pass_loss = state.pass_rows = 0.0
        return state

    def expansion(self, problem: Problem, state: AveragedGradientState) -> Expansion:
        """Return the mean of the iterates."""
        records, counts = state.records, state.basis.counts
        parts = [
            records.mean(start, start + count)
            for start, count in zip(records.starts, counts, strict=False)
        ]
        return Expansion(state.basis, np.concatenate(parts), records.mean(0, 1)[0])

    def on_new_rows(self, problem: Problem, state: AveragedGradientState) -> AveragedGradientState:
        """Continue: the state holds nothing for single rows. Add the grids that are new."""
        state.pass_loss = state.pass_rows = 0.0
        before = state.basis
        more = cast(BinningBasis, problem.basis).grids[len(before.grids) :]
        if more:
            state.basis = before.with_grids(more)
            state.records.add_grids(len(more), before.height / state.basis.height)
            state.most = max(1, state.most * len(before.grids) // len(state.basis.grids))
        return state

    def predictions(
        self, problem: Problem, state: AveragedGradientState, rows: Batch, cache: PredictionCache
    ) -> NDArray[Any]:
        """Return the function at the rows, whose bins may be new: the cache stays empty."""
        return self.expansion(problem, state)(rows.X)

    def _take_steps(
        self, problem: Problem, state: AveragedGradientState, codes: NDArray[np.int32], batch: Batch
    ) -> AveragedGradientState:
        y, weight = batch.targets, np.asarray(batch.weights, np.float64)
        rule, values, moved = self._rule(problem, state), [], 0.0
        for top in range(0, len(batch), LINEAR_ROWS):
            part = slice(top, top + LINEAR_ROWS)
            f = rule.values(codes[:, part], state.records)
            slopes = np.ascontiguousarray(problem.loss.gradient(y[part], f), np.float64)
            moved += rule.take(codes[:, part], state.records, f, slopes, weight[part])
            values.append(f)
        total = float(problem.loss.value(y, np.concatenate(values)) @ weight)
        rows = float(weight.sum())
        state.loss, state.moved = total / rows, float(np.sqrt(moved))
        state.pass_loss += total
        state.pass_rows += rows
        return state

    def _rule(self, problem: Problem, state: AveragedGradientState) -> RowSteps:
        return RowSteps(
            height=state.basis.height,
            curvature=curvature(problem.loss),
            alpha=problem.alpha,
            step=self.step,
            averaging=self.averaging,
            intercept=problem.intercept,
        )

    def _initial_state(
        self, basis: BinningBasis, intercept: NDArray[np.floating]
    ) -> AveragedGradientState:
        """Return zero weights in the bins of a basis, and the largest number of bins of a grid."""
        grids, outputs = len(basis.grids), len(intercept)
        records = BinRecords.empty(grids, outputs)
        records.reserve(basis.counts, most=0)
        records.intercept[:] = intercept
        most = max(1, basis.memory // (BIN_BYTES * outputs * grids))
        most = most if self.most_bins == "auto" else int(self.most_bins) // grids
        return AveragedGradientState(0.0, 0.0, [], basis=basis, records=records, most=most)
