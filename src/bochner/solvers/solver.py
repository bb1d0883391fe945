"""Solver: the base class of the methods that fit the weights, and what several of them compute."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from bochner.component import Component
from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.products import gram
from bochner.data import Batch
from bochner.features import Basis, RandomBasis
from bochner.features.codes.kept_columns import with_kept_columns
from bochner.losses import Loss, Smooth
from bochner.problem import Expansion, Problem
from bochner.records import Validated, require_sound

DEFAULT_ALPHA = 1e-7
RIDGE = 0.1
CONSTANT_STEPS = 50


def ridge_of(total_weight: float | None) -> float:
    """Return the alpha that is a ridge of 0.1 on the weighted sum of the losses.

    `total_weight` is the number of rows or their total weight; 1e-7 if it is None.
    """
    return RIDGE / total_weight if total_weight else DEFAULT_ALPHA


@dataclass
class State(Validated):
    """What a solver carries from step to step: a plain record of arrays and numbers.

    `loss` is the mean loss of the last batch before its step and `moved` the norm of the last
    step; the loop raises if either is infinite. `pass_losses` holds the mean training loss of
    every pass that changed the weights, or this loss with the penalty. `optimality` is the relative
    distance to the minimum: about 1 at the start, 0 at the minimum, infinite if the solver cannot
    compute it. `best` holds weights and intercept of the best held-out evaluation; the loop sets it
    if the solver's tags ask for it.
    """

    loss: float
    moved: float
    pass_losses: list[float]
    optimality: float = field(default=math.inf, kw_only=True)
    best: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        """The number of basis functions in use. A subclass returns its own."""
        return 0

    def snapshot(self, batch: Batch | None) -> Callable[[], Self]:
        """Return a function that returns this state as it is now, however it has been changed.

        What changes it is `advance` with this batch, or `end_pass` if that is None. By default all
        is copied but bases, frozen records and `best`.
        """
        fixed = [part for part in vars(self).values() if _is_fixed(part)]
        copy = deepcopy(self, {id(part): part for part in (*fixed, self.best)})
        return lambda: copy

    @property
    def is_finite(self) -> bool:  # one override: `SummationState` evaluates no loss
        """Whether the last step left finite weights."""
        return math.isfinite(self.loss) and math.isfinite(self.moved)


def _is_fixed(part: Any) -> bool:
    parameters = getattr(part, "__dataclass_params__", None)
    return isinstance(part, Basis) or (parameters is not None and parameters.frozen)


def require_weights(basis: Basis, weights: NDArray[Any]) -> None:
    """Check that a stored state has a weight for each function, and perhaps an intercept."""
    if basis.size is not None:
        require_sound(weights.ndim == 2, "its weights are not a table")
        fits = len(weights) in (basis.size, basis.size + 1)
        require_sound(fits, "it has weights for other functions")


@dataclass
class PredictionCache:
    """What a solver keeps of the held-out rows between two evaluations.

    `code` is their encoding; `values` are sums that a solver updates instead of computing the
    predictions anew, valid at `step` and `area`.
    """

    code: Any = None
    step: int = -1
    area: float = 0.0
    values: NDArray[np.float64] | None = None

    def copied(self) -> PredictionCache:
        """Return a copy that the next evaluation does not change."""
        return replace(self, values=None if self.values is None else self.values.copy())


Memo = PredictionCache  # the name in earlier versions


def small_alpha(total_weight: float | None) -> float:
    """Return 1e-7, whatever the weight of the rows."""
    return DEFAULT_ALPHA


@dataclass(frozen=True)
class SolverTags:
    """What a solver needs and how the loop runs it, in the manner of scikit-learn's tags.

    Parameters
    ----------
    state_type, loss_type, basis_type : type
        The solver's state, and the losses and bases that it takes.
    loss_words : str or None
        How an error message names the losses; None means the name of `loss_type`.
    access : {"shuffled", "rows", "groups"}
        What a batch is. "shuffled": rows in a new random order each pass; every batch moves the
        weights. "rows": encoded rows in their order; the weights move at the end of a pass.
        "groups": `groups_per_batch` groups of functions (grids) at all rows.
    groups_per_batch : int
        Groups in a batch if `access` is "groups".
    evaluates : {"steps", "passes"}
        When the loop evaluates the held-out rows: every few steps, or after each pass.
    keeps_best : bool
        Whether the fit returns the function of the best held-out evaluation, and then learns the
        held-out rows in a last pass that starts from it.
    iterates : bool
        Whether the solver iterates. One that does not is never stopped early.
    patience : int
        Held-out evaluations without improvement that end a fit.
    takes_ridge : bool
        Whether alpha is that of kernel ridge regression.
    features : str or FeatureMap
        The features that the solver is made for.
    default_alpha : callable
        Returns the alpha for a number of rows (None if unknown) where the user gives none.
    """

    state_type: Any = State
    loss_type: Any = Loss
    basis_type: type[Any] = Basis
    loss_words: str | None = None
    access: Literal["shuffled", "rows", "groups"] = "shuffled"
    groups_per_batch: int = 1
    evaluates: Literal["steps", "passes"] = "steps"
    keeps_best: bool = False
    iterates: bool = True
    patience: int = 5
    takes_ridge: bool = False
    features: Any = "fourier"
    default_alpha: Callable[[float | None], float] = small_alpha

    @property
    def default_features(self) -> Any:
        """A copy of `features`, which the caller may change."""
        return deepcopy(self.features)


S = TypeVar("S", bound=State)


class Solver(Component, ABC, Generic[S], family="solver"):
    """A record of hyperparameters with `init`, `advance` and `end_pass` over an explicit state.

    `tags` says what the solver needs and how the loop runs it. A solver never sees a data source,
    a clock, a callback or a screen.
    """

    tags: ClassVar[SolverTags] = SolverTags()

    @final
    def check(self, problem: Problem) -> None:
        """Raise ValueError for a problem that this solver cannot solve."""
        tags = self.tags
        self._require(problem.loss, tags.loss_type, tags.loss_words, "loss")
        self._require(problem.basis.for_prediction, tags.basis_type, None, "feature map")
        self.validate(problem)

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for hyperparameters out of range, or that do not fit the problem."""

    def prepare_basis(self, problem: Problem, memory: int) -> Basis:
        """Return the basis to work with, which spans the same functions.

        By default a solver of encoded rows keeps the columns if they fit into `memory` bytes.
        """
        if self.tags.access == "shuffled":
            return problem.basis
        return with_kept_columns(problem.basis, problem.rows, memory)

    @abstractmethod
    def rows_per_batch(self, problem: Problem, state: S | None = None) -> int:
        """Return the number of rows in a batch; `state` is None before `init`."""

    @abstractmethod
    def init(self, problem: Problem, sample: Batch) -> S:
        """Return the state before the first step, from a sample of the rows."""

    @abstractmethod
    def advance(self, problem: Problem, state: S, batch: Batch) -> S:
        """Return the state after a batch; the given state may be modified."""

    @abstractmethod
    def end_pass(self, problem: Problem, state: S) -> S:
        """Return the state after a pass."""

    @abstractmethod
    def expansion(self, problem: Problem, state: S) -> Expansion:
        """Return the function that the state represents."""

    @abstractmethod
    def on_new_rows(self, problem: Problem, state: S) -> S:
        """Return the state to continue with on other rows, without what it holds for each row.

        It continues from `state.best`, if there is one.
        """

    def solved(self, state: S) -> bool:
        """Whether the weights are as close to the minimum as the hyperparameters ask."""
        return False

    def predictions(
        self, problem: Problem, state: S, rows: Batch, cache: PredictionCache
    ) -> NDArray[Any]:
        """Return the function at held-out rows; the cache belongs to these rows."""
        if cache.code is None:
            cache.code = problem.basis.encode(rows.X)
        return self.expansion(problem, state).evaluate(cache.code)

    def _require(self, part: Any, needed: Any, words: str | None, kind: str) -> None:
        if not isinstance(part, needed):
            raise ValueError(
                f"{type(self).__name__} needs a {words or needed.__name__}; got "
                f"{type(part).__name__}. Choose another solver or another {kind}."
            )


class SamplingSolver(Solver[S]):
    """A solver that chooses how many rows it sees before its first step."""

    @abstractmethod
    def sample_rows(self, problem: Problem) -> int:
        """Return the number of rows of the sample that `init` gets."""

    def faster(self, problem: Problem) -> Self | None:
        """Return a solver of the same kind whose `init` takes less time; None if there is none."""
        return None


def require_weight(total_weight: float) -> None:
    """Raise ValueError if the total weight of the rows is 0."""
    if not total_weight > 0:
        raise ValueError(
            "All rows to learn from have weight 0, or there are none. Give at least one row a "
            "positive weight; if rows are held out, early_stopping=False uses all of them."
        )


def require_finite_basis(problem: Problem) -> None:
    """Raise ValueError for an infinite basis."""
    if problem.basis.size is None:
        raise ValueError(
            "This solver needs a finite number of features; got infinitely many. Give a size, "
            "such as features=Fourier(4096), or features='binning' or 'centers'."
        )


def curvature(loss: Loss) -> float:
    """Return the bound of a loss's curvature; 1 for a loss that is not smooth."""
    return loss.curvature_bound if isinstance(loss, Smooth) else 1.0


def best_constant(problem: Problem, sample: Batch) -> NDArray[np.float64]:
    """Return the constant prediction with the least loss on the sample; 0 without an intercept.

    Gradient steps of length 1 / curvature: one is exact for the squared loss; a smoothed
    loss starts at its quantile.
    """
    constant = np.zeros(problem.outputs)
    weight = sample.weight
    if not problem.intercept or not isinstance(problem.loss, Smooth) or sample.y is None:
        return constant
    if weight is not None and not weight.any():
        return constant
    constant = problem.loss.start(sample.y, weight).astype(np.float64)
    for _ in range(CONSTANT_STEPS):
        f = np.broadcast_to(constant, (len(sample), problem.outputs))
        mean = np.average(problem.loss.gradient(sample.y, f), axis=0, weights=weight)
        constant = constant - mean / problem.loss.curvature_bound
    return constant


def top_eigenvalue(basis: RandomBasis, sample: Batch, width: int) -> float:
    """Return the largest eigenvalue of Phi'Phi / n for a block at the sample."""
    columns = basis.columns(basis.encode(sample.X), 0, width)
    with single_blas():
        top = eigvalsh(gram(columns), subset_by_index=(width - 1, width - 1))[-1]
    return basis.gain(width) ** 2 * float(top) / len(sample)
