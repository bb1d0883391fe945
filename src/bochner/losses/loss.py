"""The bases of losses: what a loss can do, and how it wants its targets coded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component

Array = NDArray[np.floating[Any]]


class Loss(Component, ABC, family="loss"):
    """How wrong the prediction `f` of a target `y` is, convex in `f`.

    Targets and predictions have shape (rows, outputs); the loss of a row is a sum over its
    outputs. What the columns of `y` are is said by a coding, which each loss has as a base:
    `Regression`, `Margin` or `Multinomial`. A loss may have several.
    """

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each row, of shape (rows,)."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative (a subgradient at kinks) with respect to `f`, shaped as `f`."""

    @property
    def stiffness(self) -> float:
        """What alpha is multiplied by where nobody gave it: about how curved the loss is."""
        return 1.0

    def settled(self, deviations: NDArray[np.float64]) -> Self:
        """Return the loss for targets of which these deviations, one an output, will be left."""
        return self

    def check(self) -> None:
        """Refuse hyperparameters out of range."""


class Smooth(Loss):
    """A loss whose gradient is Lipschitz continuous.

    `curvature_bound` is the largest eigenvalue that its Hessian in `f` has anywhere, and
    `row_loop` a compiled loop that does what `move` does; None if there is none. `model_is_above`
    says that `model_product` makes a parabola that lies above the loss everywhere, and
    `bound_is_far` that steps by the bound would be far too short.
    """

    curvature_bound: float
    model_is_above: ClassVar[bool] = False
    bound_is_far: ClassVar[bool] = False
    row_loop: ClassVar[Callable[..., None] | None] = None

    @abstractmethod
    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return each row's Hessian times the same row of `V`, shaped as `V`."""

    def diagonal_bound(self, y: Array, f: Array) -> Array:
        """Return a diagonal matrix above each row's Hessian, shaped as `f`.

        That is the Hessian itself where the outputs do not disturb each other.
        """
        return self.hessian_product(y, f, np.ones_like(f))

    def start(self, y: Array, weight: Array | None) -> Array:
        """Return a constant, a number for each output, to look for the best one from."""
        return np.zeros(y.shape[1])

    def model_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return what Newton's method takes for the Hessian's product: that itself, by default."""
        return self.hessian_product(y, f, V)

    def row_parameters(self, outputs: int) -> tuple[Any, ...]:
        """Return what the compiled loop has to know of the loss."""
        return ()

    def derivatives(self, y: Array, f: Array, floor: float) -> Array:
        """Return slopes and diagonal bounds from `floor` on side by side, (rows, 2 outputs)."""
        return np.hstack([self.gradient(y, f), np.maximum(self.diagonal_bound(y, f), floor)])

    def move(
        self,
        y: Array,
        f: Array,
        weight: Array,
        rows: NDArray[np.int32],
        bins: NDArray[np.int32],
        moves: Array,
        floor: float,
        table: Array,
        rises: Array,
    ) -> None:
        """Add `moves[bins]` to the predictions of `rows`, in place, and note what follows.

        Where something moves, the row's `derivatives` times its weight go to `table`, and the rise
        of its loss is added to its bin's of `rises`.
        """
        loop = type(self).row_loop
        if loop is not None:
            parameters = self.row_parameters(f.shape[1])
            return loop(y, f, weight, rows, bins, moves, floor, table, rises, *parameters)
        some = moves[bins].any(axis=1)
        rows, bins = rows[some], bins[some]
        before = self.value(y[rows], f[rows])
        f[rows] += moves[bins]
        table[rows] = weight[rows, None] * self.derivatives(y[rows], f[rows], floor)
        np.add.at(rises, bins, weight[rows] * (self.value(y[rows], f[rows]) - before))
        return None


class Quadratic(Smooth):
    """A loss whose Hessian does not depend on `f`: its minimum solves a linear system."""


class Regression(Loss):
    """Coding of targets: the columns of `y` are real numbers, as they were given."""


class Offset(Loss):
    """A loss beside a cost of the intercept: its best value for a given function is known.

    There are no targets. A solver that takes such losses asks for the offset of each batch; the
    problem itself has no intercept, since that one would be without a cost.
    """

    @abstractmethod
    def offset(self, h: Array, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return what is best added to the values `h`, a number for each output."""


class Margin(Loss):
    """Coding of labels: `y` is -1 or +1.

    Two classes are one column (+1 for the second class, in sorted order); three or more are a
    column a class, one against the rest.
    """


class Multinomial(Loss):
    """Coding of labels: `y` is one-hot, a column a class, also for two classes."""


class Probabilistic(Loss):
    """A loss of class labels whose predictions are probabilities in other words."""

    @abstractmethod
    def probabilities(self, f: Array) -> Array:
        """Return the probability of each class, of shape (rows, classes).

        The most probable class is the one that the sign or the largest entry of `f` names.
        """


def row_sums(values: Array) -> Array:
    """Return the sum of each row."""
    return np.einsum("ij->i", values)  # type: ignore[no-any-return]
