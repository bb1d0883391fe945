"""Nystroem: a kernel machine on some centres, preconditioned by their kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bochner.data import Batch
from bochner.features import Basis, CenterBasis, Centers, WhitenedBasis
from bochner.losses import Quadratic, Smooth
from bochner.problem import Problem
from bochner.solvers.passes.conjugate_gradient import ConjugateGradient, ConjugateGradientState
from bochner.solvers.passes.linear_system import SystemSolver
from bochner.solvers.passes.newton import Newton, NewtonState
from bochner.solvers.solver import Solver, SolverTags, ridge_of

CENTERS = 5_000
ROUNDINGS = 30
SMALLEST = 1e-15  # the least jitter that double precision resolves
LEAST_RIDGE = 0.1  # multiples of the kernel's precision times the loss's curvature

NystroemState = ConjugateGradientState | NewtonState


@dataclass
class Nystroem(SystemSolver[NystroemState], name="nystroem"):
    r"""Conjugate gradients for functions of centres, preconditioned by two Cholesky factors.

    The minimum of mean loss + alpha/2 |f|^2, |f| the norm in the space of the kernel, over
    f = k(., Z) L^-T w + b with M centres Z and L L' = k(Z, Z). If the centres represent the rows,
    the Hessian in w is about A A' = curvature L'L / M + alpha I, with the curvature of the loss,
    and A is the preconditioner (Rudi, Carratino and Rosasco 2017, FALKON: an optimal large scale
    kernel method, Algorithm 1). The intercept, unpenalised, has a row of its own in A.

    For the squared loss this is one system, each of whose steps takes a pass; other smooth losses
    are minimised by Newton's method, which solves such systems (Marteau-Ferey, Bach and Rudi 2019,
    Globally convergent Newton methods for ill-conditioned generalized self-concordant losses).

    Parameters
    ----------
    tol : float
        Ends the fit when the gradient, in the norm of the inverse preconditioner, is at most this
        fraction of the first one.

    See Also
    --------
    Direct : The exact solution, for fewer rows.
    EigenPro : Stochastic gradients on centres.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> from bochner.features import Centers
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = KernelRegressor(features=Centers(50), solver="nystroem", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.01), model.n_iter_ < 20
    (True, True)
    """

    tags: ClassVar[SolverTags] = SolverTags(
        state_type=NystroemState,
        loss_type=Smooth,
        basis_type=CenterBasis,
        access="rows",
        evaluates="passes",
        patience=6,  # the loss may rise on the way to a distant minimum
        takes_ridge=True,
        features=Centers(CENTERS),
        default_alpha=ridge_of,
    )

    tol: float = 1e-3

    def prepare_basis(self, problem: Problem, memory: int) -> Basis:
        """Return the basis whose weights have the norm of the kernel.

        Values of the kernel that are rounded by eps let f = k(x, Z) c vary by about eps |c|, which
        raises a loss of curvature 1 by eps^2 |c|^2 / 2. A jitter of eps^2 / alpha adds as much to
        the penalty.
        """
        centers = problem.basis
        if isinstance(centers, CenterBasis):
            rounding = np.finfo(centers.dtype).eps ** 2 * problem.loss.typical_curvature
            jitter = ROUNDINGS * rounding / self._regularised(problem).alpha
            whitened = WhitenedBasis(centers, max(float(jitter), SMALLEST))
            return whitened.with_kept_columns(problem.rows, memory)
        return super().prepare_basis(problem, memory)

    def init(self, problem: Problem, sample: Batch) -> NystroemState:
        """Return the best constant."""
        if not isinstance(problem.basis, WhitenedBasis):
            raise ValueError(
                "Nystroem needs codes of a WhitenedBasis; got those of a "
                f"{type(problem.basis).__name__}. Encode the rows by what `prepare_basis` "
                "returns, or give them as they are."
            )
        return self._method(problem).init(self._regularised(problem), sample)

    def advance(self, problem: Problem, state: NystroemState, batch: Batch) -> NystroemState:
        """Add the batch's part of the gradient, or of the product with the direction."""
        return self._method(problem).advance(self._regularised(problem), state, batch)

    def end_pass(self, problem: Problem, state: NystroemState) -> NystroemState:
        """Take a step of conjugate gradients, or of Newton's method."""
        return self._method(problem).end_pass(self._regularised(problem), state)

    def on_new_rows(self, problem: Problem, state: NystroemState) -> NystroemState:
        """Restart from the present weights."""
        return self._method(problem).on_new_rows(problem, state)

    def _regularised(self, problem: Problem) -> Problem:
        """Return the problem with a ridge above the rounding of the kernel."""
        basis = problem.basis.for_prediction
        assert isinstance(basis, CenterBasis)
        least = LEAST_RIDGE * float(np.finfo(basis.dtype).eps) * problem.loss.typical_curvature
        return replace(problem, alpha=max(problem.alpha, least))

    def _method(self, problem: Problem) -> Solver[NystroemState]:
        method: Solver[Any] = Newton(self.tol)
        if isinstance(problem.loss, Quadratic):
            method = ConjugateGradient(self.tol)
        return method
