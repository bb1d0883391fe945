"""The opening of EigenPro: from a sample to eigenfunctions, a batch, a step and a first state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import CenterBasis, DenseBasis
from bochner.features.dense_basis import ROWS
from bochner.losses import Smooth
from bochner.problem import Problem
from bochner.solvers.eigenfunctions import Eigenfunctions, of_centers, of_features
from bochner.solvers.eigenpro_spaces import RowSpace, space_of
from bochner.solvers.eigenpro_state import Constant, EigenProState
from bochner.solvers.opening import best_constant
from bochner.solvers.preconditioner import (
    CenterPreconditioner,
    FeaturePreconditioner,
    Flattening,
    Pace,
    critical,
)

SPECTRUM = 0xE16E2  # keeps these draws apart from others of the same seed
MOST_BATCH = 2_048
SHARE = 8  # rows of the subsample for each eigenvector that is taken from it
MOST_EIGENVECTORS = 512
CANDIDATES = 24
SMALLEST = 32  # precisions: of the largest eigenvalue, below which pairs are mostly rounding
ROUNDINGS = 4
# The intercept is a function more, constant and so high that it moves as the steepest of the
# others do: by this share of a batch's mean error.
LIFT = 0.25


@dataclass(frozen=True)
class Opening:
    """What was asked for; None where the spectrum is to say."""

    subsample: int
    eigenvectors: int | None
    batch_size: int | None
    damping: float
    step: float
    momentum: bool

    def state(self, problem: Problem, sample: Batch) -> EigenProState:
        """Return the state before the first step: the best constant."""
        found, size = self._spectrum(problem, sample)
        if len(found.values) == 0:
            raise ValueError(
                "The kernel, or every feature, is 0 at all rows of the subsample, so there is "
                "nothing to learn with. Give another kernel, or rows that are not all 0."
            )
        found = found.above(SMALLEST * _precision(problem))
        flat = Flattening.of(found.values, self._count(found, problem), self.damping)
        beta = max(found.beta(flat), _rounding(problem, found))
        pace = self._pace(problem, *_bounds(problem, beta, found.top(flat)))
        by_steps = problem.intercept and not isinstance(space_of(problem.basis), RowSpace)
        intercept = best_constant(problem, sample)
        state = EigenProState(
            loss=0.0,
            moved=0.0,
            pass_losses=[],
            basis=problem.basis,
            weights=np.zeros((problem.basis.end(None), problem.outputs)),
            intercept=intercept,
            preconditioner=_preconditioner(problem, found, flat, size),
            pace=pace,
            lift=LIFT / (pace.rate * pace.batch) if by_steps else 0.0,
            constant=_constant(problem, found, size),
            rows=len(sample),
            mean_weight=1.0 if sample.weight is None else float(sample.weight.mean()) or 1.0,
        )
        if self.momentum:
            state.ahead, state.ahead_intercept = state.weights.copy(), intercept.copy()
        return state

    def _spectrum(self, problem: Problem, sample: Batch) -> tuple[Eigenfunctions, int]:
        """Return eigenfunctions, and the number of rows they are from."""
        rng, basis = Random(problem.seed, SPECTRUM), cast(DenseBasis, problem.basis)
        on_centers = isinstance(basis, CenterBasis)
        size = min(self.subsample, basis.end(None) if on_centers else len(sample))
        most = max(1, min(MOST_EIGENVECTORS, size // SHARE))
        count = min(most if self.eigenvectors is None else self.eigenvectors, size - 1)
        if isinstance(basis, CenterBasis):
            return of_centers(basis, sample, size, count, rng), size
        return of_features(basis, sample, size, count, rng), size

    def _count(self, found: Eigenfunctions, problem: Problem) -> int:
        """Return the number of eigenvectors: the largest whose critical batch is not too long."""
        most = len(found.values) - 1
        if self.eigenvectors is not None:
            return min(self.eigenvectors, most)
        longest = MOST_BATCH if self.batch_size is None else self.batch_size
        longest = min(longest, max(1, problem.rows // 4)) if problem.rows else longest
        for count in np.unique(np.geomspace(1, max(most, 1), CANDIDATES).astype(int))[::-1]:
            flat = Flattening.of(found.values, min(int(count), most), self.damping)
            if critical(found.beta(flat), found.top(flat)) <= longest:
                return min(int(count), most)
        return 0

    def _pace(self, problem: Problem, beta: float, top: float) -> Pace:
        batch = whole_tiles(min(critical(beta, top), MOST_BATCH))
        batch = batch if self.batch_size is None else self.batch_size
        batch = batch if problem.rows is None else min(batch, problem.rows)
        pace = Pace.of(beta, top, batch)
        if self.momentum:
            pace = Pace.accelerated(beta, top, batch, problem.rows or MOST_BATCH * batch)
        return replace(pace, rate=self.step * pace.rate)


def whole_tiles(batch: int) -> int:
    """Return a batch that is not longer, of as many tiles as keep some threads equally busy."""
    step = 2 * ROWS if batch >= 2 * ROWS else ROWS
    return batch // step * step if batch >= ROWS else batch


def _rounding(problem: Problem, found: Eigenfunctions) -> float:
    """Return how large the rounding of a kernel matrix may look, times a margin.

    Where little is left of the kernel, steps would be so long that they follow its rounding.
    """
    rows = problem.rows or len(found.matrix)
    return ROUNDINGS * rows * _precision(problem) * float(np.max(np.diagonal(found.matrix)))


def _precision(problem: Problem) -> float:
    return float(np.finfo(cast(DenseBasis, problem.basis).dtype).eps)


def _bounds(problem: Problem, beta: float, top: float) -> tuple[float, float]:
    """Return both bounds with the loss's curvature, the intercept and the penalty in them."""
    curvature = cast(Smooth, problem.loss).curvature_bound
    if isinstance(space_of(problem.basis), RowSpace):
        # A slope of the penalty is sampled with its row, so it has that row's whole weight.
        return curvature * beta + (problem.rows or 0) * problem.alpha, (
            curvature * top + problem.alpha
        )
    if problem.intercept:
        beta, top = beta + top, 2 * top
    return curvature * beta + problem.alpha, curvature * top + problem.alpha


def _preconditioner(
    problem: Problem, found: Eigenfunctions, flat: Flattening, size: int
) -> CenterPreconditioner | FeaturePreconditioner:
    count = len(flat.shrink)
    vectors = np.ascontiguousarray(found.vectors[:, :count], np.float32)
    if not isinstance(problem.basis, CenterBasis):
        return FeaturePreconditioner(vectors, flat.shrink)
    if count == 0:
        return CenterPreconditioner(vectors[:0], flat.shrink)
    return CenterPreconditioner(vectors, flat.shrink / (size * found.values[:count]))


def _constant(problem: Problem, found: Eigenfunctions, size: int) -> Constant | None:
    """Return a function on the subsample that stands for a constant, if f is to do without."""
    on_rows = isinstance(space_of(problem.basis), RowSpace)
    if not (problem.intercept and problem.alpha > 0 and on_rows):
        return None
    ridge = problem.alpha / cast(Smooth, problem.loss).curvature_bound
    parts = found.vectors.sum(axis=0)
    weights = found.vectors @ (parts / (size * (found.values + ridge)))
    rest = max(0.0, 1.0 - float(parts @ parts) / size)  # what the eigenvectors leave of it
    return Constant(np.asarray(weights), float(weights.sum()) + rest / ridge)
