"""Direct: exact kernel ridge regression by a Cholesky factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve, solve_lower
from bochner.data import Batch
from bochner.features import Basis, CenterBasis
from bochner.features.centers.whitened_basis import exact_matrix
from bochner.losses import Squared
from bochner.problem import Expansion, Problem
from bochner.solvers.passes.linear_system import BATCH_ROWS
from bochner.solvers.solver import Solver, SolverTags, State, require_weight, ridge_of

ROUNDING = 30  # multiples of the precision: a smaller ridge is lost in sums of kernel values
TINY = 1e-300
ENTRY = 16  # bytes for each pair of rows: a matrix in double precision, and work space


@dataclass
class DirectState(State):
    """Targets and weights of the rows by the numbers of their centres, and the solution.

    `weights` and `intercept` are the solution, 0 before the end of the first pass.
    """

    targets: NDArray[np.float64]
    row_weights: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.weights)

    @property
    def weighted_rows(self) -> int:
        """The number of rows of positive weight."""
        return int(np.count_nonzero(self.row_weights))


@dataclass
class Direct(Solver[DirectState], name="direct"):
    r"""Kernel ridge regression in closed form; all training rows are centres.

    The minimum of sum_i w_i |f(x_i) - y_i|^2 / (2 sum(w)) + alpha/2 |f|^2, w_i the rows' weights
    and |f| the norm in the space of the kernel, is f = k(., X) c + b with

        (K + alpha sum(w) diag(1 / w)) c = y - b 1,    1'c = 0

    (Saunders, Gammerman and Vovk 1998, Ridge regression learning algorithm in dual variables, with
    weights and an unpenalised intercept). Rows of weight 0 have the coefficient 0. The matrix is
    factorised in double precision, with n^3 / 3 multiplications for n rows and 8 n^2 bytes. The
    ridge is at least the rounding of the kernel's values, even if alpha is 0.

    See Also
    --------
    EigenPro : All rows as centres, without a matrix in memory.
    Nystroem : Fewer centres than rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(solver="direct", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.01), model.n_iter_
    (True, 1)
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=DirectState,
        loss_type=Squared,
        basis_type=CenterBasis,
        access="rows",
        evaluates="passes",
        iterates=False,
        takes_ridge=True,
        features="centers",
        default_alpha=ridge_of,
    )

    def validate(self, problem: Problem) -> None:
        """Raise ValueError if a row is not a centre, or the matrix exceeds the memory budget."""
        basis = require_all_rows(type(self).__name__, problem)
        needed = ENTRY * basis.end(None) ** 2
        if needed > basis.memory:
            raise ValueError(
                f"Direct needs {needed / 1e9:.3g} GB for the kernel matrix of "
                f"{basis.size} rows; the memory budget is {basis.memory / 1e9:.3g} GB. Give a "
                "larger memory_budget, solver='eigenpro', or fewer centres with "
                "solver='nystroem'."
            )

    def prepare_basis(self, problem: Problem, memory: int) -> Basis:
        """Return the basis itself: the kernel matrix is needed once, in double precision."""
        return problem.basis

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows of a batch; the result does not depend on it."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> DirectState:
        """Return the zero function."""
        shape = (problem.basis.end(None), problem.outputs)
        return initial_state(np.zeros(shape), np.zeros(problem.outputs))

    def advance(self, problem: Problem, state: DirectState, batch: Batch) -> DirectState:
        """Store targets and weights."""
        basis = centers_of(problem)
        numbers = basis.numbers(batch.index)
        require_same_rows(basis, numbers, batch.X)
        state.targets[numbers] = batch.y
        state.row_weights[numbers] = 1.0 if batch.weight is None else batch.weight
        return state

    def end_pass(self, problem: Problem, state: DirectState) -> DirectState:
        """Solve the system."""
        total = float(state.row_weights.sum())
        require_weight(total)
        some = np.flatnonzero(state.row_weights)
        rounding = ROUNDING * float(np.finfo(centers_of(problem).dtype).eps)
        ridge = problem.alpha * total / state.row_weights[some]
        lower, ridge = factorized(exact_matrix(centers_of(problem), some), ridge, rounding)
        found, state.intercept = solved(lower, state.targets[some], problem.intercept)
        state.weights = np.zeros_like(state.targets)
        state.weights[some] = found
        residual = ridge[:, None] * found
        state.loss = float(state.row_weights[some] @ np.square(residual).sum(axis=1)) / (2 * total)
        state.pass_losses.append(state.loss)
        state.moved, state.optimality = float(np.abs(found).max()), 0.0
        return state

    def expansion(self, problem: Problem, state: DirectState) -> Expansion:
        """Return the solution."""
        return Expansion(problem.basis, state.weights, state.intercept)

    def on_new_rows(self, problem: Problem, state: DirectState) -> DirectState:
        """Restart; the solution stays until the end of the next pass."""
        return initial_state(state.weights, state.intercept)

    def solved(self, state: DirectState) -> bool:
        """Whether the pass has ended."""
        return state.optimality == 0.0


def left_out(problem: Problem, state: DirectState) -> NDArray[np.float64]:
    """Return f at each row by the machine of all other rows of the last pass.

    With S the matrix of the linear system, bordered by the equation of the intercept, the residual
    is c_i / (S^-1)_ii (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq.
    5.12, with an intercept). Rows of weight 0 have the value of f.
    """
    some = np.flatnonzero(state.row_weights)
    ridge = problem.alpha * float(state.row_weights.sum()) / state.row_weights[some]
    basis = centers_of(problem)
    rounding = ROUNDING * float(np.finfo(basis.dtype).eps)
    K = exact_matrix(basis, some)
    lower, _ = factorized(K, ridge, rounding)
    half = solve_lower(lower, np.eye(len(some)))
    inverse = np.square(half).sum(axis=0)
    if problem.intercept:
        of_ones = solve(lower, np.ones((len(some), 1)))[:, 0]
        inverse -= of_ones**2 / of_ones.sum()
    values = state.targets.copy()
    values[some] -= state.weights[some] / np.maximum(inverse, TINY)[:, None]
    return values


def initial_state(weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> DirectState:
    """Return a state without rows."""
    targets, row_weights = np.zeros_like(weights), np.zeros(len(weights))
    return DirectState(0.0, 0.0, [], targets, row_weights, weights, intercept)


def factorized(
    matrix: NDArray[np.float64], ridge: NDArray[np.float64], rounding: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factor of matrix + diag(ridge), and the ridge, raised where needed.

    With a ridge below the rounding of the kernel's values (relative to their mean), predictions
    would be differences of large numbers.
    """
    diagonal = np.einsum("ii->i", matrix)
    ridge = np.maximum(ridge, rounding * float(diagonal.mean()))
    diagonal += ridge
    mean = float(diagonal.mean())
    lower, jitter = jittered_cholesky(matrix, 0.0)
    return lower, ridge + jitter * mean


def solved(
    lower: NDArray[np.float64], y: NDArray[np.float64], intercept: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return c and b with L L' c = y - b 1 and, if there is an intercept, 1'c = 0."""
    both = solve(lower, np.column_stack([y, np.ones(len(y))]))
    of_y, of_ones = both[:, :-1], both[:, -1:]
    if not intercept:
        return of_y, np.zeros(y.shape[1])
    b = of_y.sum(axis=0) / of_ones.sum()
    return of_y - b * of_ones, b


def require_all_rows(solver: str, problem: Problem) -> CenterBasis:
    """Return the basis, or raise ValueError if a training row is not a centre."""
    basis = centers_of(problem)
    if not basis.complete:
        raise ValueError(
            f"{solver} needs all training rows as centres; got {basis.size} chosen ones. Give "
            "features=Centers(), or solver='nystroem', which is made for some centres."
        )
    return basis


def centers_of(problem: Problem) -> CenterBasis:
    """Return the basis, whose type `check` has tested."""
    assert isinstance(problem.basis, CenterBasis)
    return problem.basis


def require_same_rows(basis: CenterBasis, numbers: NDArray[np.int64], code: Any) -> None:
    """Raise ValueError for rows that are not the centres of these numbers."""
    same = not (numbers < 0).any() and _equal(basis.centers[numbers], code)
    if not same:
        raise ValueError(
            "This solver needs the rows that are the centres; got others. Fit anew, with "
            "warm_start=False."
        )


def _equal(centers: Any, code: Any) -> bool:
    if sp.issparse(code) or sp.issparse(centers):
        return bool((sp.csr_array(centers) != sp.csr_array(code)).nnz == 0)
    return np.array_equal(centers, code)
