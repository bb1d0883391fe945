"""Step rules: the change of a block's weights, given the batch's gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack

from bochner.component import Component
from bochner.compute.blas import single_blas
from bochner.losses import Quadratic, Smooth
from bochner.solvers.doubly_stochastic.block_view import BlockView
from bochner.solvers.solver import curvature
from bochner.validation import require_positive

STEADY_STEPS = 256
LEAST_FREE_SHARE = 0.05
LEAST_CURVATURE = 1e-3
HALVINGS = 12  # of the initial range of a line search


@dataclass(frozen=True)
class StepLength:
    """The length gamma of a plain step, and the largest eigenvalue of a block's Phi'Phi / n."""

    length: float
    top: float


@dataclass(frozen=True)
class Move:
    """The change of the weights (F [+ 1], outputs), and the step for the decay of all others."""

    change: NDArray[np.float64]
    decay: float = 0.0


class StepRule(Component, ABC, family="step"):
    """A rule for the change of a block's weights."""

    @abstractmethod
    def length(self, step: int, safe: float) -> float:
        """Return gamma, the step of functional gradient descent; `safe` is the longest stable one.

        Steps are counted from 0. The check of old coordinates uses this length, too.
        """

    @abstractmethod
    def move(self, view: BlockView, pace: StepLength) -> Move:
        """Return the change of the weights."""

    def check(self) -> None:
        """Raise ValueError for values out of range."""


@dataclass
class PlainStep(StepRule, name="plain"):
    """Functional gradient descent: dW = -gamma_t Phi'g / n, gamma_t = min(safe, theta / t).

    Dai et al. 2014, Algorithm 1. The theory's theta = 1 / alpha diverges at first where alpha is
    small, so the step never exceeds the longest stable one, 1 / (curvature * top eigenvalue of
    Phi'Phi / n), which is taken from the sample. The intercept's gradient is multiplied by that
    eigenvalue: a constant is the steepest direction there is, and would slow all others down.

    Parameters
    ----------
    theta : float or "auto"
        "auto" keeps the safe step for 256 steps and falls like 1/t from there on.
    """

    theta: float | str = "auto"

    def __repr__(self) -> str:  # checkpoints hold a digest of this text
        return f"Plain(theta={self.theta!r})"

    def length(self, step: int, safe: float) -> float:
        """Return min(safe, theta / t)."""
        theta = STEADY_STEPS * safe if self.theta == "auto" else float(self.theta)
        return min(safe, theta / (step + 1))

    def move(self, view: BlockView, pace: StepLength) -> Move:
        """Return a step along the negative gradient."""
        change = -pace.length * view.gradient
        change[view.width :] *= pace.top
        return Move(change, pace.length)

    def check(self) -> None:
        """Raise ValueError for a theta that is not positive."""
        require_positive("theta", self.theta, also=("auto",))


Plain = PlainStep  # the name in earlier versions


@dataclass
class Preconditioned(StepRule, name="preconditioned"):
    r"""A Newton step on the block, shortened by what the batch's noise explains of it.

    With G = Phi'Phi / n and c the loss's curvature bound, the direction is

        D = (c G + (N alpha + ridge) I)^-1 (Phi'g / n + N alpha w).

    Preconditioning by the block's covariance is what the authors of Dai et al. 2014 ran. w are
    the block's present weights and N is the number of blocks: N blocks, each of which alone
    approximates the kernel, are together sqrt(N) times too long, so |f|^2 = N sum |w_b|^2. The
    step thus leads to the minimum over the block of a quadratic above the objective. The other
    blocks need no decay.

    A full step refits the noise of each batch. Of the energy E = |c Phi D|^2 / n that the block
    takes from the gradients, pure noise of variance s^2 = |g - c Phi D|^2 / (n - p) would yield
    p s^2 / n, where p = trace of c G (c G + N alpha + ridge)^-1 counts the free directions. The
    share 1 - p s^2 / (n E) is signal (James and Stein 1961), and the minimum along D of the loss
    expected on other rows lies at

        step = min(1, max(0, 1 - caution p s^2 / (n E)) * c |Phi D|^2 / <Phi D, H Phi D>),

    H being the loss's Hessian; for a smoothed loss it is that of parabolas above it, and
    each output has its own length, which may exceed 1. So the step is about 1 for clean targets and
    falls like 1/t for noisy ones, without a schedule; a block with nothing but noise does not move.
    Where the bound is far above the curvature (an exponential loss), c is the mean curvature at the
    batch instead, and the share of signal multiplies the length that minimises the batch's
    objective.

    Parameters
    ----------
    ridge : float
        Added to alpha in the block's linear system; keeps it solvable in float32.
    caution : float
        The factor on the noise. 1 minimises the expected loss on other rows; on a small set it
        stops before the minimum of the training objective. 0 minimises the objective itself.
    """

    ridge: float = 1e-6
    caution: float = 1.0

    def length(self, step: int, safe: float) -> float:
        """Return the safe step: the check of old coordinates needs one."""
        return safe

    def move(self, view: BlockView, pace: StepLength) -> Move:
        """Return the shortened Newton step."""
        direction, freedom = self._solve(view)
        return Move(-self._share(view, direction, freedom) * direction)

    def check(self) -> None:
        """Raise ValueError for values out of range."""
        if not self.ridge > 0 or not self.caution >= 0:
            raise ValueError(
                "Preconditioned needs a positive ridge and caution >= 0; got "
                f"{self.ridge!r} and {self.caution!r}."
            )

    def _solve(self, view: BlockView) -> tuple[NDArray[np.float64], float]:
        """Return the direction D and the degrees of freedom p."""
        problem = view.residuals.problem
        penalty = view.blocks * problem.alpha
        gradient = view.gradient.copy()
        gradient[: view.width] += penalty * view.weights
        ridge = np.full(len(gradient), self.ridge)
        ridge[: view.width] += penalty
        factor, ridge = factorised(view.residuals.curvature * view.covariance(), ridge)
        with single_blas():
            direction = cho_solve((factor, True), gradient, check_finite=False)
            inverse, _ = lapack.dtrtri(factor, lower=1)
        return direction, len(ridge) - float(np.sum(inverse**2 * ridge[None, :]))

    def _share(
        self, view: BlockView, direction: NDArray[np.float64], freedom: float
    ) -> NDArray[np.float64]:
        """Return the step length along D, given the degrees of freedom.

        Where the quadratic model lies above the loss, each output goes to its own minimum.
        """
        residuals, values = view.residuals, view.evaluate(direction)
        bound, rows = residuals.curvature, residuals.effective_rows
        taken = bound**2 * residuals.means(values**2)
        left = residuals.means((residuals.slopes - bound * values) ** 2)
        noise = left / max(1 - freedom / rows, LEAST_FREE_SHARE) * freedom / rows
        explained = np.divide(noise, taken, out=np.full_like(taken, np.inf), where=taken > 0)
        signal = np.maximum(0.0, 1.0 - self.caution * explained) * (taken > 0)
        loss = residuals.problem.loss
        if isinstance(loss, Smooth) and loss.bound_is_far:
            return signal * least_along(view, direction, values)
        longest = np.inf if isinstance(loss, Smooth) and loss.model_is_above else 1.0
        return np.minimum(longest, signal / relative_curvature(view, values))


def relative_curvature(view: BlockView, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return <z, H z> / (c |z|^2): the curvature along the direction, relative to the bound."""
    residuals = view.residuals
    loss, squares = residuals.problem.loss, residuals.means(values**2)
    if not isinstance(loss, Smooth) or isinstance(loss, Quadratic):
        return np.ones_like(squares)
    along = residuals.means(values * loss.model_product(residuals.y, residuals.f, values))
    squares = np.where(squares > 0, squares, 1.0)
    return np.maximum(along / (curvature(loss) * squares), LEAST_CURVATURE)


def least_along(
    view: BlockView, direction: NDArray[np.float64], values: NDArray[np.float64]
) -> float:
    """Return the length s that minimises the batch's objective at f - s Phi D.

    f moves by at most 1 in the root mean square: along some directions a loss has no minimum.
    """
    residuals, problem, step = view.residuals, view.residuals.problem, direction[: view.width]

    def falls(length: float) -> bool:
        slopes = np.asarray(problem.loss.gradient(residuals.y, residuals.f - length * values))
        shrinking = float(np.sum(step * (view.weights - length * step)))
        return residuals.mean(slopes * values) + view.blocks * problem.alpha * shrinking > 0

    low, high = 0.0, 1.0 / max(np.sqrt(residuals.mean(values**2)), np.finfo(float).tiny)
    if falls(high):
        return float(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return float(low)


def factorised(
    matrix: NDArray[np.float64], ridge: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower Cholesky factor of matrix + diag(ridge); the ridge grows until there is one.

    Rounding in the float32 columns can make the smallest eigenvalues negative.
    """
    while True:
        with single_blas():
            factor, failed = lapack.dpotrf(matrix + np.diag(ridge), lower=1, clean=1)
        if not failed:
            return factor, ridge
        if not np.isfinite(matrix).all():
            return np.full_like(matrix, np.nan), ridge
        ridge = 10 * ridge
