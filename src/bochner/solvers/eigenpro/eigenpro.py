"""EigenPro: stochastic gradients with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import SAMPLE_ROWS, Basis, CenterBasis, DenseBasis, RememberedBasis
from bochner.features.dense_basis import TILE_ROWS
from bochner.losses import Smooth
from bochner.problem import Expansion, Problem
from bochner.solvers.eigenpro.preconditioner import (
    CenterPreconditioner,
    Eigenfunctions,
    FeaturePreconditioner,
    Flattening,
    Pace,
    critical,
    of_centers,
    of_features,
)
from bochner.solvers.eigenpro.spaces import (
    CenterSpace,
    Constant,
    EigenProState,
    PreconditionedGradient,
    RowSpace,
    space_of,
)
from bochner.solvers.solver import (
    PredictionCache,
    SamplingSolver,
    Solver,
    SolverTags,
    State,
    best_constant,
    require_finite_basis,
)
from bochner.validation import require_at_most, require_count

SPECTRUM = 0xE16E2  # separates these draws from others of the same seed
MOST_BATCH = 2_048
SHARE = 8  # rows of the subsample for each eigenvector that is taken from it
MOST_EIGENVECTORS = 512
CANDIDATES = 24
SMALLEST = 32  # precisions of the largest eigenvalue: smaller pairs are mostly rounding
ROUNDINGS = 4
SUBSAMPLE, LARGE_SUBSAMPLE, MANY_ROWS = 2_000, 12_000, 100_000
FACTORISED_AT_ONCE = 2_000  # centres: that takes a tenth of a second
SUBSAMPLES = (2_000, 500, 125)  # where time is short; more rows may take one long call
# The intercept is one more function, a constant scaled so that it moves as the steepest others:
# by this share of a batch's mean error.
LIFT = 0.25


def whole_tiles(batch: int) -> int:
    """Round a batch size down to whole tiles, an even number of them if possible."""
    step = 2 * TILE_ROWS if batch >= 2 * TILE_ROWS else TILE_ROWS
    return batch // step * step if batch >= TILE_ROWS else batch


def _rounding(problem: Problem, found: Eigenfunctions) -> float:
    """Return a bound of the rounding of a kernel matrix, times a margin.

    Where little of the kernel is left, longer steps would follow its rounding.
    """
    rows = problem.rows or len(found.matrix)
    return ROUNDINGS * rows * _precision(problem) * float(np.max(np.diagonal(found.matrix)))


def _precision(problem: Problem) -> float:
    return float(np.finfo(cast(DenseBasis, problem.basis).dtype).eps)


def _bounds(problem: Problem, beta: float, top: float) -> tuple[float, float]:
    """Return both bounds with the loss's curvature, the intercept and the penalty in them."""
    curvature, alpha = cast(Smooth, problem.loss).curvature_bound, problem.alpha
    if isinstance(space_of(problem.basis), RowSpace):
        # The penalty is sampled with its row, so it has that row's whole weight.
        return curvature * beta + (problem.rows or 0) * alpha, curvature * top + alpha
    if problem.intercept:
        beta, top = beta + top, 2 * top
    return curvature * beta + alpha, curvature * top + alpha


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
    """Return a function on the subsample close to a constant, if the intercept needs it."""
    on_rows = isinstance(space_of(problem.basis), RowSpace)
    if not (problem.intercept and problem.alpha > 0 and on_rows):
        return None
    ridge = problem.alpha / cast(Smooth, problem.loss).curvature_bound
    parts = found.vectors.sum(axis=0)
    weights = found.vectors @ (parts / (size * (found.values + ridge)))
    rest = max(0.0, 1.0 - float(parts @ parts) / size)  # outside the eigenvectors
    return Constant(np.asarray(weights), float(weights.sum()) + rest / ridge)


def no_alpha(total_weight: float | None) -> float:
    """Return 0: early stopping regularises the fit."""
    return 0.0


@dataclass
class EigenPro(SamplingSolver[EigenProState], name="eigenpro"):
    r"""EigenPro iteration: f -= step P (gradient of the loss of a batch) in the kernel's space.

    P = I - sum_i (1 - tau (lambda_q / lambda_i)^0.95) e_i e_i' lowers the first q eigenvalues of
    the data's covariance H = mean of phi(x) phi(x)' to the level of the next one, so that steps
    can be lambda_1 / lambda_q times longer (Ma and Belkin 2017, Diving into the shallows, Eq. 17
    and Tables 1 and 2). Eigenpairs come from a subsample.

    The space is that of the basis: with all training rows as centres (`Centers()`) it is the
    kernel's own, of which the exact minimum is reached; with fewer (`Centers(5000)`) their span,
    through temporary centres with delayed projections, so that rows may come as a stream;
    with random features (`Fourier(30_000)`) that of their weights.

    Parameters
    ----------
    eigenvectors : int or "auto"
        q; "auto" takes as many as keep the critical batch below 2,048 rows, at most one for 8
        rows of the subsample. 0 is the plain stochastic gradient ("pegasos").
    subsample : int or "auto"
        Rows from which eigenpairs are found; "auto": 2,000, of 100,000 rows or more 12,000.
    batch_size : int or "auto"
        Rows of a batch; "auto" is the critical size, beyond which longer batches gain nothing.
    damping : float or "auto"
        tau, in (0, 1]: how far below the next eigenvalue the first ones are lowered, since those
        of a subsample are not exact. "auto" means 1 for centres, 1/4 for other features.
    step : float
        A multiple of the longest safe step; below 1 for noisy targets.
    momentum : bool
        Whether to accelerate the steps as AxlePro does (for a quadratic loss).

    See Also
    --------
    Direct : The exact solution, for rows whose kernel matrix fits into memory.
    Nystroem : Fewer centres than rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(solver="eigenpro", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.01)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=EigenProState,
        loss_type=Smooth,
        basis_type=DenseBasis,
        evaluates="passes",
        keeps_best=True,
        patience=3,
        features="centers",
        default_alpha=no_alpha,
    )

    eigenvectors: int | str = "auto"
    subsample: int | str = "auto"
    batch_size: int | str = "auto"
    damping: float | str = "auto"
    step: float = 1.0
    momentum: bool = False

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for values out of range, and for an infinite basis."""
        require_count("eigenvectors", self.eigenvectors, 0, also=("auto",))
        require_count("subsample", self.subsample, also=("auto",))
        require_count("batch_size", self.batch_size, also=("auto",))
        if self.damping != "auto":
            require_at_most("damping", self.damping, 1.0)
        require_at_most("step", self.step, 2.0)
        require_finite_basis(problem)
        if self.momentum and isinstance(space_of(problem.basis), CenterSpace):
            raise ValueError(
                "Momentum needs all training rows as centres, or features without temporary "
                "centres; got fewer centres than rows. Give momentum=False or features='centers'."
            )

    def prepare_basis(self, problem: Problem, memory: int) -> Basis:
        """Return the basis, with the features of the rows kept if they fit into memory."""
        basis, rows = problem.basis, problem.rows
        if not isinstance(basis, DenseBasis) or isinstance(basis, CenterBasis) or rows is None:
            return basis
        fits = rows * basis.end(None) * basis.dtype.itemsize <= memory
        return RememberedBasis(basis, rows) if fits else basis

    def sample_rows(self, problem: Problem) -> int:
        """Return the size of the sample: all rows if they are centres."""
        basis = problem.basis
        if isinstance(basis, CenterBasis) and basis.complete:
            return basis.size
        return max(SAMPLE_ROWS, self._subsample(problem))

    def faster(self, problem: Problem) -> EigenPro | None:
        """Return the solver with a smaller subsample, down to 125 rows."""
        rows = next((size for size in SUBSAMPLES if size < self._subsample(problem)), None)
        return None if rows is None else replace(self, subsample=rows)

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the batch size that the spectrum allows, once it is known."""
        if isinstance(state, EigenProState):
            return state.pace.batch
        return MOST_BATCH if self.batch_size == "auto" else int(self.batch_size)

    def init(self, problem: Problem, sample: Batch) -> EigenProState:
        """Find the spectrum, choose batch and step, and start from the best constant."""
        found, size = self._spectrum(problem, sample)
        if len(found.values) == 0:
            raise ValueError(
                "The kernel, or every feature, is 0 at all rows of the subsample, so there is "
                "nothing to learn with. Give another kernel, or rows that are not all 0."
            )
        found = found.above(SMALLEST * _precision(problem))
        flat = self._flattened(problem, found, self._count(problem, found))
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

    def continue_from(self, problem: Problem, sample: Batch, expansion: Expansion) -> EigenProState:
        """Return the state before the first step from another solver's function of the basis."""
        state = self.init(problem, sample)
        state.weights = np.array(expansion.weights, np.float64)
        state.intercept = np.array(
            np.broadcast_to(expansion.intercept, problem.outputs), np.float64
        )
        if self.momentum:
            state.ahead, state.ahead_intercept = state.weights.copy(), state.intercept.copy()
        return state

    def advance(self, problem: Problem, state: EigenProState, batch: Batch) -> EigenProState:
        """Take a step along the preconditioned gradient of a batch."""
        space = space_of(problem.basis)
        rows = space.rows(problem, state, batch)
        at = state.intercept if state.ahead_intercept is None else state.ahead_intercept
        f = space.values(problem, state, rows) + at
        y, weight = batch.targets, batch.weights
        slopes = problem.loss.gradient(y, f) * (weight / state.mean_weight)[:, None]
        move = space.move(problem, state, rows, slopes)
        self._take(state, move, constant=slopes.sum(axis=0) * state.lift)
        if isinstance(space, CenterSpace) and space.is_full(problem, state):
            space.project_temporary(problem, state)
        total, total_weight = float(problem.loss.value(y, f) @ weight), float(weight.sum())
        state.loss = total / total_weight if total_weight > 0 else 0.0
        state.moved = state.rate * move.norm
        state.pass_loss += total
        state.pass_weight += total_weight
        return state

    def end_pass(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Record the mean loss of the pass."""
        space = space_of(problem.basis)
        space.project_temporary(problem, state)
        space.move_constant(state)
        if state.pass_weight > 0:
            state.pass_losses.append(state.pass_loss / state.pass_weight)
        state.pass_loss = state.pass_weight = 0.0
        rose = len(state.pass_losses) > 1 and state.pass_losses[-1] > state.pass_losses[-2]
        state.rises += rose and space.noisy
        return state

    def expansion(self, problem: Problem, state: EigenProState) -> Expansion:
        """Return the present function; the state is not changed.

        Where a projection would have to factorise a large kernel matrix first, for which a time
        limit leaves no time, the temporary centres are centres of the function.
        """
        basis, temporary = state.basis, state.temporary
        if temporary.at_centers is not None and isinstance(basis, CenterBasis):
            if basis.size > FACTORISED_AT_ONCE and not basis.is_factorized:
                return temporary.with_centers(basis, state.weights, state.intercept)
            state = replace(state, weights=state.weights.copy())
            space_of(problem.basis).project_temporary(problem, state)
        return Expansion(state.basis, state.weights, state.intercept)

    def predictions(
        self, problem: Problem, state: EigenProState, rows: Batch, cache: PredictionCache
    ) -> NDArray[Any]:
        """Return the function at the rows; their code may be part of a kept kernel matrix."""
        basis = cast(DenseBasis, problem.basis)  # checked before training
        return self.expansion(problem, state).evaluate(basis.encode_batch(rows))

    def on_new_rows(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Continue from the best function; the preconditioner holds for rows of the same kind."""
        space_of(state.basis).project_temporary(replace(problem, basis=state.basis), state)
        state.pass_loss = state.pass_weight = 0.0
        if state.best is not None:
            state.weights, state.intercept = state.best
            state.best = None
        if state.ahead is not None:
            state.ahead, state.ahead_intercept = state.weights.copy(), state.intercept.copy()
        return state

    def _take(
        self, state: EigenProState, move: PreconditionedGradient, constant: NDArray[np.float64]
    ) -> None:
        rate = state.rate
        if state.ahead is None or state.ahead_intercept is None:
            move.add_to(state.weights, -rate)
            state.intercept = state.intercept - rate * constant
            return
        momentum = state.pace.momentum
        before, before_intercept = state.weights, state.intercept
        state.weights, state.intercept = state.ahead.copy(), state.ahead_intercept - rate * constant
        move.add_to(state.weights, -rate)
        state.ahead = momentum.ahead(state.weights, before)
        move.add_to(state.ahead, momentum.correction * rate)
        state.ahead_intercept = momentum.ahead(state.intercept, before_intercept)
        state.ahead_intercept += momentum.correction * rate * constant

    def _spectrum(self, problem: Problem, sample: Batch) -> tuple[Eigenfunctions, int]:
        """Return eigenfunctions, and the number of rows they are from."""
        rng, basis = Random(problem.seed, SPECTRUM), cast(DenseBasis, problem.basis)
        on_centers = isinstance(basis, CenterBasis)
        size = min(self._subsample(problem), basis.end(None) if on_centers else len(sample))
        most = max(1, min(MOST_EIGENVECTORS, size // SHARE))
        count = min(most if self.eigenvectors == "auto" else int(self.eigenvectors), size - 1)
        if isinstance(basis, CenterBasis):
            return of_centers(basis, sample, size, count, rng), size
        return of_features(basis, sample, size, count, rng), size

    def _count(self, problem: Problem, found: Eigenfunctions) -> int:
        """Return the largest number of eigenvectors whose critical batch is not too long."""
        most = len(found.values) - 1
        if self.eigenvectors != "auto":
            return min(int(self.eigenvectors), most)
        longest = MOST_BATCH if self.batch_size == "auto" else int(self.batch_size)
        longest = min(longest, max(1, problem.rows // 4)) if problem.rows else longest
        for candidate in np.unique(np.geomspace(1, max(most, 1), CANDIDATES).astype(int))[::-1]:
            count = min(int(candidate), most)
            flat = self._flattened(problem, found, count)
            if critical(found.beta(flat), found.top(flat)) <= longest:
                return count
        return 0

    def _flattened(self, problem: Problem, found: Eigenfunctions, count: int) -> Flattening:
        damping = 1.0 if isinstance(problem.basis, CenterBasis) else 0.25
        damping = damping if self.damping == "auto" else float(self.damping)
        return Flattening.of(found.values, count, damping)

    def _pace(self, problem: Problem, beta: float, top: float) -> Pace:
        batch = whole_tiles(min(critical(beta, top), MOST_BATCH))
        batch = batch if self.batch_size == "auto" else int(self.batch_size)
        batch = batch if problem.rows is None else min(batch, problem.rows)
        pace = Pace.of(beta, top, batch)
        if self.momentum:
            pace = Pace.accelerated(beta, top, batch, problem.rows or MOST_BATCH * batch)
        return replace(pace, rate=self.step * pace.rate)

    def _subsample(self, problem: Problem) -> int:
        if self.subsample != "auto":
            return int(self.subsample)
        rows = problem.rows or MANY_ROWS
        return min(rows, SUBSAMPLE if rows < MANY_ROWS else LARGE_SUBSAMPLE)


Solver.register("pegasos", lambda: EigenPro(eigenvectors=0))
