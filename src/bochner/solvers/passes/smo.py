"""SMO: sequential minimal optimisation of the dual, for losses that are not differentiable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.box_quadratic import pair_steps, single_steps
from bochner.data import Batch
from bochner.features import Basis, CenterBasis
from bochner.losses import ClippedLine, PiecewiseQuadratic
from bochner.problem import Expansion, Problem
from bochner.records import require_sound
from bochner.solvers.passes.direct import centers_of, require_all_rows, require_same_rows
from bochner.solvers.passes.linear_system import BATCH_ROWS
from bochner.solvers.solver import Solver, SolverTags, State, require_weight, ridge_of
from bochner.validation import require_positive

WORKING_SET = 512  # variables that move in one pass
INNER_TOL = 0.1  # of the largest violation: below it another working set gains more
MOST_STEPS = 20  # in a pass, for each variable of the working set
LARGEST_BOUND = 1e12  # alpha is at least this number's inverse, divided by the rows

Array = NDArray[np.float64]


@dataclass
class SMOState(State):
    """Targets, weights and dual variables of the rows by the numbers of their centres.

    `beta`, (terms, rows, outputs), has a variable for each term of
    the loss; a row's coefficient is their sum. `values` are the sums of k(x_i, x_j) beta_j, and
    `working` the last working set of each output.
    """

    targets: Array
    row_weights: Array
    beta: Array
    values: Array
    intercept: Array
    working: list[NDArray[np.int64]]

    @property
    def size(self) -> int:
        """The number of rows with a coefficient, the support vectors."""
        return int(np.count_nonzero(self.weights.any(axis=1)))

    @property
    def weights(self) -> Array:
        """The coefficients of the rows, (rows, outputs)."""
        return np.asarray(self.beta.sum(axis=0))

    def validate(self) -> None:
        """Check that all arrays are of the same rows and outputs."""
        require_sound(self.beta.ndim == 3, "its variables are no array of three axes")
        terms, rows, outputs = self.beta.shape
        same = self.targets.shape == self.values.shape == (rows, outputs)
        require_sound(same and self.row_weights.shape == (rows,), "its arrays are of other rows")
        require_sound(len(self.working) == outputs, "it has no working set for each output")
        for chosen in self.working:
            inside = chosen.ndim == 1 and ((chosen >= 0) & (chosen < terms * rows)).all()
            require_sound(inside, "its working sets have impossible numbers")


class Dual(NamedTuple):
    """The dual of one output, b'(K + diag(ridge)) b / 2 - place'b with low <= b <= high.

    There are as many variables for each row as the loss has terms.
    """

    place: Array
    low: Array
    high: Array
    ridge: Array

    def gradient(self, beta: Array, values: Array) -> Array:
        """Return Kb + ridge b - place, given the values Kb at the rows."""
        terms = len(beta) // len(values)
        return np.tile(values, terms) + self.ridge * beta - self.place

    def loss(self, f: Array) -> Array:
        """Return the terms of the loss times their weights, at predictions f of the rows.

        The derivative of a term is -clip((place - f) / ridge, low, high).
        """
        distance = self.place - np.tile(f, len(self.place) // len(f))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(self.ridge > 0, distance / self.ridge, np.sign(distance) * np.inf)
            slope = np.where(distance == 0, 0.0, np.clip(slope, self.low, self.high))
        return np.asarray(slope * (distance - self.ridge * slope / 2))


@dataclass
class SMO(Solver[SMOState], name="smo"):
    r"""Sequential minimal optimisation of the dual; all training rows are centres.

    The minimum of sum_i w_i l(y_i, f(x_i)) / sum(w) + alpha/2 |f|^2, w_i the rows' weights, is
    f = k(., X) b + intercept where b minimises

        b'(K + diag(ridge / C)) b / 2 - place'b,   -C_i right_i <= b_i <= -C_i left_i,

    with C_i = w_i / (alpha sum(w)), for a loss whose derivative is clip((f - place) / ridge, left,
    right): it jumps at `place` if the ridge is 0. For the hinge loss this is the support vector
    machine (Cortes and Vapnik 1995, Support-vector networks). A loss with two jumps has two
    variables for each row. With an intercept, the variables sum to 0.

    A pass chooses 512 variables, half of them those of the last pass and half those that violate
    the optimality conditions most (Joachims 1999, Making large-scale SVM learning practical), and
    minimises over these, two at a time (Platt 1999, Fast training of support vector machines using
    sequential minimal optimization) by the second order rule of Fan, Chen and Lin (2005), or one
    at a time if there is no intercept. `optimality` is the duality gap, relative to the objective.
    All is in double precision; rows of the kernel matrix are stored within the memory budget.

    Parameters
    ----------
    tol : float
        Ends the fit when the duality gap is at most this fraction of the objective.

    See Also
    --------
    Direct : The squared loss in closed form.
    Nystroem : Smooth losses, with fewer centres than rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelClassifier
    >>> X = np.linspace(-2, 2, 500)[:, None]
    >>> y = np.abs(X[:, 0]) < 1
    >>> model = KernelClassifier(loss="hinge", solver="smo", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99), bool(np.count_nonzero(model.dual_coef_) < 100)
    (True, True)
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=SMOState,
        loss_type=PiecewiseQuadratic,
        loss_words="loss that is piecewise linear or quadratic",
        basis_type=CenterBasis,
        access="rows",
        evaluates="passes",
        iterates=False,
        takes_ridge=True,
        features="centers",
        default_alpha=ridge_of,
    )

    tol: float = 1e-4

    def validate(self, problem: Problem) -> None:
        """Raise ValueError for a tolerance out of range, or if a row is not a centre."""
        require_positive("tol", self.tol)
        require_all_rows(type(self).__name__, problem)

    def prepare_basis(self, problem: Problem, memory: int) -> Basis:
        """Return the basis itself: rows of the kernel matrix are computed when they are needed."""
        return problem.basis

    def rows_per_batch(self, problem: Problem, state: State | None = None) -> int:
        """Return the rows of a batch; the result does not depend on it."""
        return BATCH_ROWS

    def init(self, problem: Problem, sample: Batch) -> SMOState:
        """Return the zero function."""
        terms = len(_loss(problem).derivative_terms(np.ones((1, problem.outputs))))
        beta = np.zeros((terms, problem.basis.end(None), problem.outputs))
        return initial_state(beta, np.zeros(problem.outputs))

    def advance(self, problem: Problem, state: SMOState, batch: Batch) -> SMOState:
        """Store targets and weights."""
        basis = centers_of(problem)
        numbers = basis.numbers(batch.index)
        require_same_rows(basis, numbers, batch.X)
        state.targets[numbers] = batch.y
        state.row_weights[numbers] = batch.weights
        return state

    def end_pass(self, problem: Problem, state: SMOState) -> SMOState:
        """Minimise over a working set of each output."""
        require_weight(float(state.row_weights.sum()))
        before = state.weights
        duals = list(_duals(problem, state))
        if not state.pass_losses:
            _add_values(problem, state, duals)
        gaps, losses = np.zeros(problem.outputs), np.zeros(problem.outputs)
        for k, dual in enumerate(duals):
            gap = _Gap.of(problem, dual, _variables(state, k), state.values[:, k])
            if gap.relative > self.tol:
                _move(problem, state, dual, k)
                gap = _Gap.of(problem, dual, _variables(state, k), state.values[:, k])
            state.intercept[k] = gap.intercept
            gaps[k], losses[k] = gap.relative, gap.loss
        scale = _strength(problem, state) / float(state.row_weights.sum())
        state.loss, state.optimality = float(losses.sum() * scale), float(gaps.max())
        state.moved = float(np.abs(state.weights - before).max())
        state.pass_losses.append(state.loss)
        return state

    def expansion(self, problem: Problem, state: SMOState) -> Expansion:
        """Return the function of the present variables."""
        return Expansion(problem.basis, state.weights, state.intercept.copy())

    def on_new_rows(self, problem: Problem, state: SMOState) -> SMOState:
        """Continue with the same variables, which belong to the centres."""
        return initial_state(state.beta, state.intercept)

    def solved(self, state: SMOState) -> bool:
        """Whether the duality gap is small enough."""
        return state.optimality <= self.tol


def initial_state(beta: Array, intercept: Array) -> SMOState:
    """Return a state without rows."""
    shape = beta.shape[1:]
    working = [np.empty(0, np.int64) for _ in range(shape[1])]
    return SMOState(
        0.0, 0.0, [], np.zeros(shape), np.zeros(shape[0]), beta, np.zeros(shape), intercept, working
    )


@dataclass(frozen=True)
class _Gap:
    """The best intercept for some variables, the loss of all rows, and the duality gap."""

    intercept: float
    loss: float
    relative: float

    @classmethod
    def of(cls, problem: Problem, dual: Dual, beta: Array, values: Array) -> _Gap:
        """Compare the objective of the dual with that of the function."""
        intercept = _intercept(dual, beta, values) if problem.intercept else 0.0
        loss = float(dual.loss(values + intercept).sum())
        norm = float(beta @ np.tile(values, len(beta) // len(values)))
        primal = norm / 2 + loss
        negative_dual = norm / 2 + float(beta @ (dual.ridge * beta / 2 - dual.place))
        gap = primal + negative_dual
        return cls(intercept, loss, gap / primal if primal > 0 else 0.0)


def _intercept(dual: Dual, beta: Array, values: Array) -> float:
    """Return the mean over variables within their bounds, else the middle of what is allowed."""
    wanted = -dual.gradient(beta, values)
    rises, falls = beta < dual.high, beta > dual.low
    if (rises & falls).any():
        return float(wanted[rises & falls].mean())
    least = wanted[rises].max() if rises.any() else None
    most = wanted[falls].min() if falls.any() else least
    return float((most if least is None else least) + most) / 2 if most is not None else 0.0


def _duals(problem: Problem, state: SMOState) -> list[Dual]:
    """Return the dual of each output."""
    bounds = state.row_weights / _strength(problem, state)
    terms = _loss(problem).derivative_terms(state.targets)
    return [_dual_of(terms, bounds, k, state.targets.shape) for k in range(problem.outputs)]


def _dual_of(
    terms: tuple[ClippedLine, ...], bounds: Array, output: int, shape: tuple[int, ...]
) -> Dual:
    """Return the dual of an output; rows of weight 0 have the bounds 0."""
    some = bounds > 0

    def each(part: Any, factor: Array) -> Array:
        values = np.broadcast_to(np.asarray(part, np.float64), shape)[:, output]
        return np.where(some, np.where(some, factor, 1.0) * values, 0.0)

    ones, inverse = np.ones(shape[0]), np.divide(1.0, bounds, out=np.zeros(shape[0]), where=some)
    parts = [
        (each(t.place, ones), each(t.right, -bounds), each(t.left, -bounds), each(t.ridge, inverse))
        for t in terms
    ]
    return Dual(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _strength(problem: Problem, state: SMOState) -> float:
    """Return alpha times the total weight, by which the weights of the rows are divided."""
    total = float(state.row_weights.sum())
    return total * max(problem.alpha, 1.0 / (LARGEST_BOUND * len(state.row_weights)))


def _add_values(problem: Problem, state: SMOState, duals: list[Dual]) -> None:
    """Compute the values of variables that are not 0, in a fit that is continued."""
    feasible = all(
        ((d.low <= b) & (b <= d.high)).all() for d, b in zip(duals, _columns(state), strict=True)
    )
    if not feasible:
        state.beta[:] = 0.0
    state.values[:] = 0.0
    weights, rows = state.weights, centers_of(problem).exact_rows
    some = np.flatnonzero(weights.any(axis=1))
    for top in range(0, len(some), WORKING_SET):
        part = some[top : top + WORKING_SET]
        rows.add_products(part, weights[part], state.values)


def _move(problem: Problem, state: SMOState, dual: Dual, output: int) -> None:
    """Choose a working set and minimise over it."""
    rows, size = centers_of(problem).exact_rows, len(state.row_weights)
    beta = _variables(state, output)
    gradient = dual.gradient(beta, state.values[:, output])
    rises = np.where(beta < dual.high, -gradient, -np.inf)
    falls = np.where(beta > dual.low, gradient, -np.inf)
    if problem.intercept:
        violation = rises.max() + falls.max()
    else:
        violation = max(rises.max(), falls.max())
        rises = falls = np.maximum(rises, falls)
    chosen = _working_set(rises, falls, state.working[output])
    matrix = rows.square(chosen % size)
    np.einsum("ii->i", matrix)[:] += dual.ridge[chosen]
    moved, slopes = beta[chosen], gradient[chosen]
    steps = pair_steps if problem.intercept else single_steps
    bounds = dual.low[chosen], dual.high[chosen]
    most = MOST_STEPS * WORKING_SET
    steps(matrix, *bounds, moved, slopes, INNER_TOL * float(violation), most)
    changes = np.zeros(size)
    np.add.at(changes, chosen % size, moved - beta[chosen])  # a row can have two variables
    some = np.flatnonzero(changes)
    rows.add_products(some, changes[some, None], state.values[:, output : output + 1])
    beta[chosen] = moved
    state.beta[:, :, output] = beta.reshape(state.beta.shape[:2])
    state.working[output] = chosen


def _working_set(rises: Array, falls: Array, last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return half of the last working set, and the variables that should rise or fall most."""
    if len(rises) <= WORKING_SET:
        return np.arange(len(rises))
    kept = last[-WORKING_SET // 2 :]
    free = np.ones(len(rises), np.bool_)
    free[kept] = False
    half = (WORKING_SET - len(kept)) // 2
    up = _largest(np.where(free, rises, -np.inf), half)
    free[up] = False
    down = _largest(np.where(free, falls, -np.inf), half)
    return np.concatenate([kept, up, down])


def _largest(values: Array, count: int) -> NDArray[np.int64]:
    """Return the places of the largest values above minus infinity, the largest last."""
    found = np.argsort(values, kind="stable")[-count:]
    return found[values[found] > -np.inf]


def _variables(state: SMOState, output: int) -> Array:
    return state.beta[:, :, output].flatten()


def _columns(state: SMOState) -> list[Array]:
    return [_variables(state, k) for k in range(state.beta.shape[2])]


def _loss(problem: Problem) -> PiecewiseQuadratic:
    """Return the loss, whose type `check` has tested."""
    assert isinstance(problem.loss, PiecewiseQuadratic)
    return problem.loss
