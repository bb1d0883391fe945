"""DoublyStochastic: stochastic gradients in the rows and in the functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import Basis, RandomBasis
from bochner.losses import Offset
from bochner.problem import Expansion, Problem
from bochner.solvers.doubly_stochastic.averaged_weights import AveragedWeights
from bochner.solvers.doubly_stochastic.block_view import BlockView, Residuals
from bochner.solvers.doubly_stochastic.coordinates import (
    BlockChoice,
    Checked,
    Coordinates,
    StepContext,
    Uniform,
)
from bochner.solvers.doubly_stochastic.lazy_predictions import LazyPredictions, evaluate
from bochner.solvers.doubly_stochastic.refinement import Refinement, frequencies_of, on_refined
from bochner.solvers.doubly_stochastic.step_rules import Move, StepLength, StepRule
from bochner.solvers.solver import (
    PredictionCache,
    Solver,
    SolverTags,
    State,
    best_constant,
    curvature,
    top_eigenvalue,
)
from bochner.validation import require, require_count

BATCH_ROWS = 16_384
BLOCK_COLUMNS = 1024
ROWS_A_COLUMN = 8  # in an automatic batch: separates a block's signal from its noise
MOST_FEATURES = 65_536
COORDINATES = 0xC002D  # separates these draws from others of the same seed
LATEST_ROWS, ENOUGH_ROWS = 4_096, 1_024  # most and fewest rows that define a threshold


@dataclass
class DoublyStochasticState(State):
    """Blocks of columns with their weights, the intercept, and the predictions of the rows.

    `blocks` are ranges of columns; `refused` is True if the last one was new and got no weights.
    `top` is the largest eigenvalue of a block's Phi'Phi / n on the sample. For a loss with an
    offset, `latest` holds the last rows, at most 4,096, and their weights. `frequencies` are the
    refined ones, by unit.
    """

    weights: AveragedWeights
    intercept: NDArray[np.float64]
    intercept_lag: NDArray[np.float64]
    row_predictions: LazyPredictions
    top: float
    step: int = 0
    refused: bool = False
    blocks: list[tuple[int, int]] = field(default_factory=list)
    pass_loss: float = 0.0
    pass_rows: float = 0.0
    latest: tuple[Any, NDArray[np.float64]] | None = None
    frequencies: dict[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of columns with a weight."""
        return self.weights.columns


def safe_step(problem: Problem, state: DoublyStochasticState) -> float:
    """Return 1 / (curvature * top eigenvalue), the eigenvalue doubled if there is an intercept."""
    return 1.0 / (curvature(problem.loss) * state.top * (1 + problem.intercept))


def set_intercept(
    problem: Problem,
    state: DoublyStochasticState,
    code: Any,
    values: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> None:
    """Set the intercept to the best one for the batch, if the loss has an offset.

    A batch of fewer than 1,024 rows is extended by the rows before it.
    """
    loss = problem.loss
    if not isinstance(loss, Offset):
        return
    state.latest = _pooled(state.latest, code, np.ones(len(values)) if weight is None else weight)
    if len(values) < ENOUGH_ROWS:
        code, weight = state.latest
        values = state.weights.scale * evaluate(problem.basis, code, state.weights.v)
    move_intercept(state, loss.offset(values, weight) - state.intercept)


def _pooled(
    before: tuple[Any, NDArray[np.float64]] | None, code: Any, weight: NDArray[np.float64]
) -> tuple[Any, NDArray[np.float64]]:
    """Append rows to the latest ones."""
    if before is None or len(weight) >= LATEST_ROWS:
        return code, weight
    rows = [before[0], code]
    joined = sp.vstack(rows, "csr") if sp.issparse(code) else np.concatenate(rows)
    return joined[-LATEST_ROWS:], np.concatenate([before[1], weight])[-LATEST_ROWS:]


def offset_of_mean(
    problem: Problem, loss: Offset, state: DoublyStochasticState, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best offset of the averaged iterate on the latest rows.

    It is not the mean of the offsets: quantiles may differ much between similar iterates.
    """
    if state.latest is None:
        return state.intercept
    code, weight = state.latest
    return loss.offset(evaluate(problem.basis, code, weights), weight)


def move_intercept(state: DoublyStochasticState, change: NDArray[np.float64]) -> None:
    """Add to the intercept, and to its lag behind the averaged iterate."""
    state.intercept_lag = state.intercept_lag + state.weights.total * change
    state.intercept = state.intercept + change


def view_block(
    state: DoublyStochasticState,
    residuals: Residuals,
    code: Any,
    number: int | None,
    start: int,
    stop: int,
) -> BlockView:
    """Return the view of a batch at the columns start, ..., stop - 1."""
    basis = cast(RandomBasis, residuals.problem.basis)
    gain = basis.gain(stop - start)
    weights = np.zeros((stop - start, residuals.problem.outputs))
    old = state.weights.current(start, stop)
    weights[: len(old)] = old / gain
    columns = basis.columns(code, start, stop)
    blocks = (basis.size or max(stop, state.weights.columns)) / (stop - start)
    return BlockView(residuals, columns, gain, weights, start, number, blocks)


def apply_move(
    state: DoublyStochasticState, view: BlockView, code: Any, known: NDArray[np.float64], move: Move
) -> NDArray[np.float64]:
    """Decay the weights and move the block; return the rows' new Phi v."""
    problem = view.residuals.problem
    if state.weights.decay(max(0.0, 1.0 - move.decay * problem.alpha)):
        state.row_predictions.forget_until(state.step)
        known = evaluate(problem.basis, code, state.weights.v)
    block, constant = move.change[: view.width], move.change[view.width :].sum(axis=0)
    move_intercept(state, constant)
    if view.number is None:
        state.blocks.append((view.start, view.start + view.width))
    state.refused = view.number is None and not block.any()
    moved = state.weights.move(view.start, view.gain * block)
    if not block.any():
        return known
    state.row_predictions.record(state.step, view.start, moved, state.weights.area)
    return known + view.evaluate(block) / state.weights.scale


def updated_predictions(
    basis: Basis, state: DoublyStochasticState, cache: PredictionCache
) -> NDArray[np.float64]:
    """Return Phi v and Phi u / area side by side at the rows of a cache, and store them there.

    Areas grow like a power of the step, beyond the range of float32; their ratios do not.
    """
    area = state.weights.area
    if cache.values is None or cache.step < state.row_predictions.horizon:
        both = np.hstack([state.weights.v, state.weights.u / area])
        cache.values = evaluate(basis, cache.code, both)
    else:
        cache.values[:, state.weights.outputs :] *= cache.area / area
        for (start, _), changes in state.row_predictions.since(cache.step).items():
            total = sum(np.hstack([c.values, c.area / area * c.values]) for c in changes)
            cache.values += evaluate(basis, cache.code, np.asarray(total), start)
    cache.step, cache.area = state.step, area
    return cache.values


def record_losses(
    state: DoublyStochasticState, residuals: Residuals, move: Move
) -> DoublyStochasticState:
    """Record the loss before the step, and the norm of the step."""
    losses = residuals.problem.loss.value(residuals.y, residuals.f)
    weight = residuals.batch.weight
    rows = float(len(losses) if weight is None else weight.sum())
    total = float(losses.sum() if weight is None else losses @ weight)
    state.loss, state.moved = total / rows, float(np.linalg.norm(move.change))
    state.pass_loss += total
    state.pass_rows += rows
    return state


@dataclass
class DoublyStochastic(Solver[DoublyStochasticState], name="dsg"):
    r"""Doubly stochastic gradients: each step takes a batch of rows and a block of functions.

    For f = sum over blocks of phi_b(.)'w_b and a batch of n rows with loss gradients g, a step
    chooses a block b and moves its weights by the step rule: plainly, w_b -= gamma Phi_b'g / n, all
    weights decaying by w <- (1 - gamma alpha) w. Phi_b is scaled so that the block alone
    approximates the kernel, which makes the step an unbiased one on the function (Dai et al.
    2014, Algorithms 1 and 2; in line 6 of Algorithm 1 gamma_j should be gamma_i). Predictions
    come from the mean of the iterates, late ones weighted more.

    Parameters
    ----------
    step : str or StepRule
        "preconditioned" (a Newton step on the block) or "plain" (Algorithm 1).
    coordinates : str or Coordinates
        "new" (DSG), "uniform" (UDSG) or "checked" (CDSG).
    batch_size : int or "auto"
        Rows of a batch; "auto" means 16,384, or all rows if there are fewer.
    feature_block : int or "auto"
        Columns of a block, even; "auto" means 1,024, and at most an eighth of the batch's rows.
    max_features : int, "auto" or None
        Columns after which old blocks are revisited instead of drawing new ones; "auto" means
        65,536, None no limit. A finite feature map sets a limit of its own.
    averaging : float or None
        Iterate t has importance t^averaging in the mean; 0 is the plain mean of the paper,
        None takes the last iterate.
    refinement : Refinement or None
        Gradient steps on the frequencies of each new block of Fourier features, which a model then
        stores; None leaves them as they were drawn.

    See Also
    --------
    AveragedGradient : Streams with bins.
    EigenPro : A fixed number of features, preconditioned.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> from bochner.solvers import DoublyStochastic
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> solver = DoublyStochastic(coordinates="uniform", feature_block=32)
    >>> model = KernelRegressor(solver=solver, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.02)
    True
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=DoublyStochasticState, basis_type=RandomBasis
    )

    step: StepRule | str = "preconditioned"
    coordinates: Coordinates | str = "new"
    batch_size: int | str = "auto"
    feature_block: int | str = "auto"
    max_features: int | str | None = "auto"
    averaging: float | None = 8.0
    refinement: Refinement | None = None

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for values out of range."""
        _resolved(StepRule, self.step).check()
        _resolved(Coordinates, self.coordinates).check()
        require_count("batch_size", self.batch_size, also=("auto",))
        require_count("feature_block", self.feature_block, 2, also=("auto",), even=True)
        if self.max_features is not None:
            require_count("max_features", self.max_features, 2, also=("auto",), even=True)
        valid = self.averaging is None or self.averaging >= 0
        require(valid, "averaging", self.averaging, "None or at least 0")
        if self.refinement is not None:
            valid = isinstance(self.refinement, Refinement)
            require(valid, "refinement", self.refinement, "None or Refinement(steps, rate)")
            self.refinement.check(problem)

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the batch size; small sets are one batch."""
        most = BATCH_ROWS if self.batch_size == "auto" else int(self.batch_size)
        return most if problem.rows is None else min(most, problem.rows)

    def init(self, problem: Problem, sample: Batch) -> DoublyStochasticState:
        """Return the constant that fits the sample best, with no block yet."""
        batch = sample[:: -(-len(sample) // self.rows_per_batch(problem))]
        width = min(self._width(len(batch)), self._most_columns(problem))
        return DoublyStochasticState(
            loss=0.0,
            moved=0.0,
            pass_losses=[],
            weights=AveragedWeights(problem.outputs),
            intercept=best_constant(problem, sample),
            intercept_lag=np.zeros(problem.outputs),
            row_predictions=LazyPredictions.empty(problem.rows or 0, problem.outputs),
            top=top_eigenvalue(cast(RandomBasis, problem.basis), batch, width),
        )

    def advance(
        self, problem: Problem, state: DoublyStochasticState, batch: Batch
    ) -> DoublyStochasticState:
        """Return the state after a step on one block."""
        if batch.weight is not None and not batch.weight.any():
            return state
        problem = on_refined(problem, state.frequencies)
        code = problem.basis.encode(batch.X)
        known = state.row_predictions.predict(problem.basis, code, batch.index, state.weights.v)
        values = state.weights.scale * known
        set_intercept(problem, state, code, values, batch.weight)
        residuals = Residuals(problem, batch, values + state.intercept)
        rule: StepRule = _resolved(StepRule, self.step)
        length = rule.length(state.step, safe_step(problem, state))
        choice = self._choose(state, residuals, code, length)
        decide = partial(rule.move, pace=StepLength(choice.factor * length, state.top))
        view, move = self._refined(state, choice.view, decide(choice.view), code, decide)
        state.step += 1
        known = apply_move(state, view, code, known, move)
        state.row_predictions.store(batch.index, known, state.step)
        state.weights.include(float(state.step) ** (self.averaging or 0.0))
        return record_losses(state, residuals, move)

    def end_pass(self, problem: Problem, state: DoublyStochasticState) -> DoublyStochasticState:
        """Record the mean loss of the pass; drop the changes that all rows have seen."""
        if state.pass_rows > 0:
            state.pass_losses.append(state.pass_loss / state.pass_rows)
        state.pass_loss = state.pass_rows = 0.0
        state.row_predictions.forget()
        return state

    def expansion(self, problem: Problem, state: DoublyStochasticState) -> Expansion:
        """Return the mean of the iterates, or the last one if there is no averaging."""
        problem = on_refined(problem, state.frequencies)
        weights, intercept = state.weights.current(), state.intercept
        if self.averaging is not None and state.step > 0:
            weights = state.weights.mean()
            intercept = intercept - state.intercept_lag / state.weights.total
        if isinstance(problem.loss, Offset):
            intercept = offset_of_mean(problem, problem.loss, state, weights)
        return Expansion(problem.basis, weights, intercept)

    def on_new_rows(self, problem: Problem, state: DoublyStochasticState) -> DoublyStochasticState:
        """Return the state without the predictions of the old rows."""
        state.row_predictions = LazyPredictions.empty(problem.rows or 0, problem.outputs)
        state.row_predictions.forget_until(state.step)
        state.pass_loss = state.pass_rows = 0.0
        return state

    def predictions(
        self, problem: Problem, state: DoublyStochasticState, rows: Batch, cache: PredictionCache
    ) -> NDArray[Any]:
        """Update Phi v and Phi u / area, and combine them as the weights are."""
        if cache.code is None:
            cache.code = problem.basis.encode(rows.X)
        sums = updated_predictions(on_refined(problem, state.frequencies).basis, state, cache)
        outputs, weights = problem.outputs, state.weights
        values, lag = sums[:, :outputs], sums[:, outputs:]
        if self.averaging is None:
            return weights.scale * values + state.intercept
        mean = (weights.area / weights.total) * (values - lag)
        return mean + state.intercept - state.intercept_lag / weights.total

    def _refined(
        self,
        state: DoublyStochasticState,
        view: BlockView,
        move: Move,
        code: Any,
        decide: Callable[[BlockView], Move],
    ) -> tuple[BlockView, Move]:
        """Refine the frequencies of a new block, if asked for; return it with its move."""
        if self.refinement is None or view.number is not None or not move.change.any():
            return view, move
        view, move = self.refinement.refined(view, move, code, decide)
        state.frequencies = frequencies_of(view.residuals.problem)
        return view, move

    def _choose(
        self, state: DoublyStochasticState, residuals: Residuals, code: Any, length: float
    ) -> BlockChoice:
        view = partial(view_block, state, residuals, code)
        context = StepContext(
            step=state.step,
            blocks=len(state.blocks),
            refused=state.refused,
            length=length,
            rng=Random(residuals.problem.seed, COORDINATES, state.step),
            view=lambda number: view(number, *state.blocks[number]),
            new_block=lambda: self._new_block(state, residuals, view),
        )
        policy: Coordinates = _resolved(Coordinates, self.coordinates)
        return policy.choose(context)

    def _new_block(
        self, state: DoublyStochasticState, residuals: Residuals, view: Callable[..., BlockView]
    ) -> BlockView | None:
        """Return the view of the next block, which may be narrower, or None if there is no room."""
        columns = state.weights.columns
        room = self._most_columns(residuals.problem) - columns
        width = min(self._width(residuals.rows), room)
        return view(None, columns, columns + width) if width >= 2 else None

    def _width(self, rows: int) -> int:
        if self.feature_block != "auto":
            return int(self.feature_block)
        return max(2, min(BLOCK_COLUMNS, rows // ROWS_A_COLUMN) // 2 * 2)

    def _most_columns(self, problem: Problem) -> int:
        most = MOST_FEATURES if self.max_features == "auto" else self.max_features
        limits = [int(limit) for limit in (most, problem.basis.size) if limit is not None]
        return min(limits, default=int(np.iinfo(np.int64).max))


Solver.register("udsg", lambda: DoublyStochastic(coordinates=Uniform()))
Solver.register("cdsg", lambda: DoublyStochastic(coordinates=Checked()))


def _resolved(family: Any, given: Any) -> Any:
    """Return a component; that of a name is made once, since every step needs it."""
    if isinstance(given, family):
        return given
    return _named(family, given) if isinstance(given, str) else family.resolve(given)


@cache
def _named(family: Any, name: str) -> Any:
    return family.resolve(name)
