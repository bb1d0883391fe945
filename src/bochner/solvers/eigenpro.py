"""EigenPro: stochastic gradients with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.features import Basis, CenterBasis, DenseBasis, RememberedBasis
from bochner.losses import Smooth
from bochner.problem import Expansion, Problem
from bochner.solvers.conjugate_gradient import require_finite_basis
from bochner.solvers.eigenpro_opening import MOST_BATCH, Opening
from bochner.solvers.eigenpro_spaces import CenterSpace, Move, space_of
from bochner.solvers.eigenpro_state import EigenProState, Temporary
from bochner.solvers.requirements import require_count, require_share
from bochner.solvers.solver import Memo, Solver

SUBSAMPLE, LARGE_SUBSAMPLE, MANY_ROWS = 2_000, 12_000, 100_000


@dataclass
class EigenPro(Solver[EigenProState], name="eigenpro"):
    r"""EigenPro iteration: f -= step P (gradient of the loss of a batch) in the kernel's space.

    P = I - sum_i (1 - tau (lambda_q / lambda_i)^0.95) e_i e_i' lowers the first q eigenvalues of
    the data's covariance H = mean of phi(x) phi(x)' to the level of the next one, so that steps
    can be lambda_1 / lambda_q times longer (Ma and Belkin 2017, Diving into the shallows, Eq. 17
    and Tables 1 and 2). Eigenpairs come from a subsample.

    The space is that of the basis: with all training rows as centres (`Centers()`) it is the
    kernel's own, of which the exact minimum is reached; with fewer (`Centers(5000)`) their span,
    through temporary centres that are projected now and then, so that rows may come as a stream;
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

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> model = KernelRegressor(
    ...     features="centers", solver="eigenpro", max_passes=20, random_state=0
    ... ).fit(X, np.sin(6 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(6 * X[:, 0])).mean() < 0.01)
    True
    """

    state_type: ClassVar[type[Any]] = EigenProState
    loss_type: ClassVar[type[Any]] = Smooth
    basis_type: ClassVar[type[Any]] = DenseBasis
    looks: ClassVar[Literal["steps", "passes"]] = "passes"
    patience: ClassVar[int] = 3
    learns_held_out_rows: ClassVar[bool] = True

    eigenvectors: int | str = "auto"
    subsample: int | str = "auto"
    batch_size: int | str = "auto"
    damping: float | str = "auto"
    step: float = 1.0
    momentum: bool = False

    def check(self, problem: Problem) -> None:
        """Refuse values out of range, and a basis without end."""
        super().check(problem)
        require_count("eigenvectors", self.eigenvectors, least=0)
        require_count("subsample", self.subsample, least=1)
        require_count("batch_size", self.batch_size, least=1)
        if self.damping != "auto":
            require_share("damping", self.damping)
        require_share("step", self.step, most=2.0)
        require_finite_basis(problem)
        if self.momentum and isinstance(space_of(problem.basis), CenterSpace):
            raise ValueError(
                "Momentum needs all training rows as centres, or features without temporary "
                "centres; got fewer centres than rows. Give momentum=False or features='centers'."
            )

    def prepared(self, problem: Problem, memory: int) -> Basis:
        """Return the basis, keeping the columns of features at the rows if they fit."""
        basis, rows = problem.basis, problem.rows
        if not isinstance(basis, DenseBasis) or isinstance(basis, CenterBasis) or rows is None:
            return basis
        fits = rows * basis.end(None) * basis.dtype.itemsize <= memory
        return RememberedBasis(basis, rows) if fits else basis

    def sample_rows(self, problem: Problem) -> int:
        """Return how many rows to see before the first step: all if they are centres."""
        basis = problem.basis
        if isinstance(basis, CenterBasis) and basis.complete:
            return basis.size
        return max(super().sample_rows(problem), self._subsample(problem))

    def home(self, rows: int | None) -> Any:
        """Return all rows as centres."""
        return "centers"

    def rows_per_batch(self, problem: Problem) -> int:
        """Return the batch size before the spectrum is known."""
        return MOST_BATCH if self.batch_size == "auto" else int(self.batch_size)

    def rows_per_step(self, problem: Problem, state: EigenProState) -> int:
        """Return the batch size that the spectrum allows."""
        return state.pace.batch

    def init(self, problem: Problem, sample: Batch) -> EigenProState:
        """Find the spectrum, choose batch and step, and start from the best constant."""
        return self._opening(problem).state(problem, sample)

    def advance(self, problem: Problem, state: EigenProState, batch: Batch) -> EigenProState:
        """Take a step against the preconditioned gradient of a batch."""
        space = space_of(problem.basis)
        rows = space.rows(problem, state, batch)
        at = state.intercept if state.ahead_intercept is None else state.ahead_intercept
        f = space.values(problem, state, rows) + at
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        assert batch.y is not None  # a batch without targets does not get this far
        slopes = problem.loss.gradient(batch.y, f) * (weight / state.mean_weight)[:, None]
        move = space.move(problem, state, rows, slopes)
        self._take(state, move, constant=slopes.sum(axis=0) * state.lift)
        if isinstance(space, CenterSpace) and space.is_full(problem, state):
            space.settle(problem, state)
        losses = problem.loss.value(batch.y, f)
        return _account(state, losses, weight, state.rate * move.norm)

    def end_pass(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Close the pass's mean loss."""
        space = space_of(problem.basis)
        space.settle(problem, state)
        space.level(state)
        if state.pass_weight > 0:
            state.pass_losses.append(state.pass_loss / state.pass_weight)
        state.pass_loss = state.pass_weight = 0.0
        rose = len(state.pass_losses) > 1 and state.pass_losses[-1] > state.pass_losses[-2]
        state.rises += rose and space.noisy
        return state

    def expansion(self, problem: Problem, state: EigenProState) -> Expansion:
        """Return the function that did best on held-out rows, or the present one."""
        if state.best is not None:
            return Expansion(state.basis, *state.best)
        return self._present(problem, state)

    def memo(self, problem: Problem, rows: Batch) -> Memo:
        """Return the rows as they are: their code may be part of a kernel matrix."""
        return Memo(rows)

    def predictions(self, problem: Problem, state: EigenProState, memo: Memo) -> NDArray[Any]:
        """Evaluate the present function at the rows of a memo."""
        return self._present(problem, state).evaluate(problem.basis.coded(memo.code))

    def on_best(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Keep the present function: none did better on the held-out rows."""
        now = self._present(problem, state)
        state.best = np.array(now.weights, np.float64), np.array(now.intercept, np.float64)
        return state

    def at_best(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Return the state with the function that did best on held-out rows."""
        if state.best is not None:
            state.weights, state.intercept = state.best
            state.best, state.temporary = None, Temporary()
        if state.ahead is not None:
            state.ahead, state.ahead_intercept = state.weights.copy(), state.intercept.copy()
        return state

    def on_new_rows(self, problem: Problem, state: EigenProState) -> EigenProState:
        """Go on from the best function; the preconditioner holds for rows of the same kind."""
        space_of(state.basis).settle(replace(problem, basis=state.basis), state)
        state.pass_loss = state.pass_weight = 0.0
        return self.at_best(problem, state)

    def size(self, state: EigenProState) -> int:
        """Return the number of weights."""
        return len(state.weights)

    def regularization(self, rows: int | None) -> float:
        """Return 0: the fit is regularised by its end."""
        return 0.0

    def _present(self, problem: Problem, state: EigenProState) -> Expansion:
        if state.temporary.reach is not None:  # a look must not change what it sees
            state = replace(state, weights=state.weights.copy())
            space_of(problem.basis).settle(problem, state)
        return Expansion(state.basis, state.weights, state.intercept)

    def _take(self, state: EigenProState, move: Move, constant: NDArray[np.float64]) -> None:
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

    def _opening(self, problem: Problem) -> Opening:
        damping = 1.0 if isinstance(problem.basis, CenterBasis) else 0.25
        return Opening(
            self._subsample(problem),
            None if self.eigenvectors == "auto" else int(self.eigenvectors),
            None if self.batch_size == "auto" else int(self.batch_size),
            damping if self.damping == "auto" else float(self.damping),
            self.step,
            self.momentum,
        )

    def _subsample(self, problem: Problem) -> int:
        if self.subsample != "auto":
            return int(self.subsample)
        rows = problem.rows or MANY_ROWS
        return min(rows, SUBSAMPLE if rows < MANY_ROWS else LARGE_SUBSAMPLE)


def _account(
    state: EigenProState, losses: NDArray[Any], weight: NDArray[Any], moved: float
) -> EigenProState:
    """Note the losses of rows before the step, and how far the weights moved."""
    total, mass = float(losses @ weight), float(weight.sum())
    state.loss, state.moved = total / mass if mass > 0 else 0.0, moved
    state.pass_loss += total
    state.pass_weight += mass
    return state


Solver.register("pegasos", lambda: EigenPro(eigenvectors=0))
