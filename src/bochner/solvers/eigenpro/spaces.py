"""The function spaces of EigenPro: how a function is evaluated and how a gradient moves it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.features import Basis, CenterBasis, DenseBasis
from bochner.features.codes.kept_columns import KernelRows
from bochner.problem import Expansion, Problem
from bochner.solvers.eigenpro.preconditioner import (
    CenterPreconditioner,
    FeaturePreconditioner,
    Pace,
)
from bochner.solvers.solver import State, require_weights

Place = NDArray[np.int64] | slice


@dataclass
class Temporary:
    """Temporary centres until the next projection: codes of rows with their weights.

    `at_centers` are the values of their sum at the centres of the basis.
    """

    rows: list[Any] = field(default_factory=list)
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    at_centers: NDArray[np.float64] | None = None

    def with_centers(
        self, basis: CenterBasis, weights: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> Expansion:
        """Return the function of the weights of a basis and of these."""
        parts = [basis.centers, *self.rows]
        stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
        return Expansion(basis.at(stacked), np.concatenate([weights, *self.weights]), intercept)


@dataclass(frozen=True)
class Constant:
    """Weights at the first centres of a function that is about 1 at the rows.

    `weight_sum` bounds 1'(K + n alpha)^-1 1 from above, the decrease of the sum of the weights when
    the intercept rises by 1; the sum of `weights` is the part of it in the span of the
    eigenvectors.
    """

    weights: NDArray[np.float64]
    weight_sum: float


@dataclass
class EigenProState(State):
    """Weights and intercept, the preconditioner with its step size, and sums of the pass.

    The intercept multiplies a constant function whose square is `lift`; or it is fixed during a
    pass, whose end moves the part of f along `constant` to it. `rows` is the number of rows of the
    sample: all, where they are centres. `ahead` is the point of the next gradient with momentum,
    None without.
    """

    basis: Basis
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    preconditioner: CenterPreconditioner | FeaturePreconditioner
    pace: Pace
    lift: float
    constant: Constant | None
    mean_weight: float
    rows: int
    ahead: NDArray[np.float64] | None = None
    ahead_intercept: NDArray[np.float64] | None = None
    temporary: Temporary = field(default_factory=Temporary)
    rises: int = 0
    pass_loss: float = 0.0
    pass_weight: float = 0.0

    def validate(self) -> None:
        """Check that there is a weight for each function."""
        require_weights(self.basis, self.weights)

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.weights)

    @property
    def point(self) -> NDArray[np.float64]:
        """The weights at which the next gradient is taken."""
        return self.weights if self.ahead is None else self.ahead

    @property
    def rate(self) -> float:
        """The step size per row: 1 / sqrt(1 + `rises`) of the safe one.

        `rises` is the number of passes whose mean loss was above that of the pass before.
        """
        return self.pace.rate / math.sqrt(1 + self.rises)


@dataclass(frozen=True)
class PreconditionedGradient:
    """P times a gradient, as arrays that are added to parts of the weights."""

    parts: tuple[tuple[Place, NDArray[Any]], ...]

    def add_to(self, weights: NDArray[np.float64], factor: float) -> None:
        """Add a multiple of the gradient to the weights."""
        for place, values in self.parts:
            weights[place] += factor * values

    @property
    def norm(self) -> float:
        """The norm of the arrays."""
        total: float = sum(float(np.linalg.norm(part)) ** 2 for _, part in self.parts)
        return math.sqrt(total)


@dataclass(frozen=True)
class BatchRows:
    """Rows of a batch: their code and numbers.

    `head` are the columns of the preconditioner's subsample if it is part of the basis; values and
    gradient both use them.
    """

    code: Any
    index: NDArray[np.int64]
    head: KernelRows | None = None

    def __len__(self) -> int:
        return len(self.index)


class Space(ABC):
    """A function space: how f is evaluated, and how a gradient moves it.

    It is `noisy` if the steps of single batches do not vanish at the minimum.
    """

    noisy: ClassVar[bool] = True

    def rows(self, problem: Problem, state: EigenProState, batch: Batch) -> BatchRows:
        """Return the rows of a batch in the form that the other methods take."""
        basis = cast(DenseBasis, problem.basis)  # checked before training
        return BatchRows(basis.encode_batch(batch), batch.index)

    def values(self, problem: Problem, state: EigenProState, rows: BatchRows) -> NDArray[Any]:
        """Return f without its intercept, at the point of the next gradient."""
        return problem.basis.evaluate(rows.code, state.point)

    @abstractmethod
    def move(
        self, problem: Problem, state: EigenProState, rows: BatchRows, slopes: NDArray[Any]
    ) -> PreconditionedGradient:
        """Return P (sum_i slopes_i phi(x_i) + rows alpha f), an estimate of the full gradient."""

    def project_temporary(self, problem: Problem, state: EigenProState) -> None:
        """Project the temporary centres onto the span of the basis, if there are any."""
        return

    def move_constant(self, state: EigenProState) -> None:
        """Move the constant part of f to the intercept, where steps do not move that."""
        return


class RowSpace(Space):
    """The space of the kernel, all training rows being centres (Ma and Belkin 2017, Table 2).

    The gradient of alpha/2 |f|^2 is alpha f = alpha sum_i w_i k(x_i, .), of which the batch's part
    times n / m is an unbiased sample: n alpha w_i joins the slope of row i, and the minimum, where
    slope_i = -n alpha w_i for all rows, is unchanged: there no batch moves f.
    """

    noisy: ClassVar[bool] = False

    def rows(self, problem: Problem, state: EigenProState, batch: Batch) -> BatchRows:
        """Return the rows with the columns of the subsample, which are the first ones."""
        basis, size = _centers(problem), _of_centers(state).size
        code = basis.encode_batch(batch)
        if isinstance(code, KernelRows):
            return BatchRows(code, batch.index, code)
        columns = basis.columns(code, 0, size)
        return BatchRows(code, batch.index, KernelRows(columns, np.arange(len(batch))))

    def values(self, problem: Problem, state: EigenProState, rows: BatchRows) -> NDArray[Any]:
        """Return f without its intercept, by the same two sums whether values are stored or not."""
        basis, size = problem.basis, _of_centers(state).size
        head = basis.evaluate(rows.head, state.point[:size]).astype(np.float64)
        return np.asarray(head + basis.evaluate(rows.code, state.point[size:], size))

    def move(
        self, problem: Problem, state: EigenProState, rows: BatchRows, slopes: NDArray[Any]
    ) -> PreconditionedGradient:
        """Return the batch's slopes at its centres, less the top of the spectrum."""
        basis, preconditioner = _centers(problem), _of_centers(state)
        numbers = basis.numbers(rows.index)
        if problem.alpha > 0:
            slopes = slopes + problem.alpha * state.rows * state.point[numbers]
        projected = basis.project(rows.head, slopes, 0, preconditioner.size)
        flat = preconditioner.correction(projected)
        return PreconditionedGradient(((numbers, slopes), (slice(0, preconditioner.size), -flat)))

    def move_constant(self, state: EigenProState) -> None:
        """Make the weights sum to 0, as they do at the minimum over the intercept.

        The slopes of the loss sum to 0 there, and they are -n alpha w_i; as alpha goes to 0, too.
        """
        constant = state.constant
        if constant is None:
            return
        shift = state.weights.sum(axis=0) / constant.weight_sum
        change, some = np.outer(constant.weights, shift), slice(0, len(constant.weights))
        state.weights[some] -= change
        state.intercept = state.intercept + shift
        if state.ahead is not None and state.ahead_intercept is not None:
            state.ahead[some] -= change
            state.ahead_intercept = state.ahead_intercept + shift


class FeatureSpace(Space):
    """The weights of features (Ma and Belkin 2017, Table 1)."""

    def move(
        self, problem: Problem, state: EigenProState, rows: BatchRows, slopes: NDArray[Any]
    ) -> PreconditionedGradient:
        """Return the preconditioned gradient in the weights."""
        assert isinstance(state.preconditioner, FeaturePreconditioner)
        gradient = problem.basis.project(rows.code, slopes).astype(np.float64)
        if problem.alpha > 0:
            gradient += len(rows) * problem.alpha * state.point
        return PreconditionedGradient(((slice(None), state.preconditioner(gradient)),))


class CenterSpace(Space):
    """The span of fewer centres than rows, in the space of the kernel.

    A step leaves the span: it adds kernel functions at the rows of its batch, as temporary centres.
    Once they are as many as the centres Z of the basis, their sum is projected, given its values at
    Z: K_ZZ delta = k(Z, X) theta (Abedsoltan, Belkin and Pandit 2023, Toward large kernel models;
    delayed as in Abedsoltan et al. 2024, Fast training of large kernel models with delayed
    projections).
    """

    def values(self, problem: Problem, state: EigenProState, rows: BatchRows) -> NDArray[Any]:
        """Return f, temporary centres included."""
        basis, temporary = _centers(problem), state.temporary
        f = np.asarray(basis.evaluate(rows.code, state.weights), np.float64)
        for centers, weights in zip(temporary.rows, temporary.weights, strict=True):
            f += basis.at(centers).evaluate(rows.code, weights)
        return f

    def move(
        self, problem: Problem, state: EigenProState, rows: BatchRows, slopes: NDArray[Any]
    ) -> PreconditionedGradient:
        """Make the batch's rows temporary centres; return the change at those of the basis."""
        basis, preconditioner, temporary = _centers(problem), _of_centers(state), state.temporary
        rate = state.rate
        projected = basis.project(rows.code, slopes).astype(np.float64)
        temporary.rows.append(rows.code)
        temporary.weights.append(-rate * slopes)
        before = 0.0 if temporary.at_centers is None else temporary.at_centers
        temporary.at_centers = -rate * projected + before
        flat = preconditioner.correction(projected[: preconditioner.size])
        return PreconditionedGradient(((slice(0, preconditioner.size), -flat),))

    def project_temporary(self, problem: Problem, state: EigenProState) -> None:
        """Project the temporary centres, and shrink the weights by the penalty."""
        basis, temporary = _centers(problem), state.temporary
        if temporary.at_centers is None:
            return
        state.weights += basis.solved(temporary.at_centers)
        decay = problem.alpha * state.rate * sum(map(len, temporary.weights))
        state.temporary = Temporary()
        if decay > 0:
            self._decay(basis, state, decay)

    def is_full(self, problem: Problem, state: EigenProState) -> bool:
        """Whether there are as many temporary centres as centres of the basis."""
        return sum(map(len, state.temporary.weights)) >= problem.basis.end(None)

    @staticmethod
    def _decay(basis: CenterBasis, state: EigenProState, decay: float) -> None:
        preconditioner = _of_centers(state)
        size = preconditioner.size
        values = basis.evaluate(basis.centers[:size], state.weights)
        flat = preconditioner.correction(values)
        state.weights -= decay * state.weights
        state.weights[:size] += decay * flat


def space_of(basis: Basis) -> Space:
    """Return the function space of a basis."""
    if not isinstance(basis, CenterBasis):
        return FeatureSpace()
    return RowSpace() if basis.complete else CenterSpace()


def _centers(problem: Problem) -> CenterBasis:
    return cast(CenterBasis, problem.basis)


def _of_centers(state: EigenProState) -> CenterPreconditioner:
    return cast(CenterPreconditioner, state.preconditioner)
