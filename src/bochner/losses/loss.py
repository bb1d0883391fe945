"""The base classes of losses: what a loss can compute, and how its targets are coded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component

Array = NDArray[np.floating[Any]]


class Loss(Component, ABC, family="loss"):
    """The cost of predicting `f` for a target `y`, convex in `f`.

    Targets and predictions have shape (rows, outputs); the loss of a row is a sum over its
    outputs. A loss derives from one or several codings, which define the columns of `y`:
    `Regression`, `Margin` or `Multinomial`.
    """

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each row, of shape (rows,)."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative with respect to `f`, or a subgradient, shaped as `f`."""

    @property
    def typical_curvature(self) -> float:
        """About the second derivative of the loss, by which alpha="auto" is multiplied."""
        return 1.0

    def with_deviations(self, deviations: NDArray[np.float64]) -> Self:
        """Return the loss for residuals of these deviations, one for each output."""
        return self

    def check(self) -> None:
        """Raise a ValueError if a hyperparameter is out of range."""


class Smooth(Loss):
    """A loss whose gradient is Lipschitz continuous.

    `curvature_bound` is the largest eigenvalue that its Hessian in `f` has anywhere, and
    `row_loop` the compiled form of `move`, or None. `model_is_above` says that the parabola of
    `model_product` lies above the loss everywhere, and `bound_is_far` that the curvature bound
    makes steps far too short.
    """

    curvature_bound: float
    model_is_above: ClassVar[bool] = False
    bound_is_far: ClassVar[bool] = False
    row_loop: ClassVar[Callable[..., None] | None] = None

    @abstractmethod
    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return each row's Hessian times the same row of `V`, shaped as `V`."""

    def diagonal_bound(self, y: Array, f: Array) -> Array:
        """Return a diagonal matrix that is at least each row's Hessian, shaped as `f`.

        By default it is the Hessian itself, for losses that are sums over the outputs.
        """
        return self.hessian_product(y, f, np.ones_like(f))

    def start(self, y: Array, weight: Array | None) -> Array:
        """Return a number for each output from which to search the best constant prediction."""
        return np.zeros(y.shape[1])

    def model_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return what Newton's method uses as the Hessian's product, by default that product."""
        return self.hessian_product(y, f, V)

    def row_parameters(self, outputs: int) -> tuple[Any, ...]:
        """Return the parameters of the loss for the compiled loop."""
        return ()

    def derivatives(self, y: Array, f: Array, floor: float) -> Array:
        """Return gradients and diagonal bounds >= `floor` side by side, (rows, 2 outputs)."""
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
        """Add `moves[bins]` to the predictions of `rows`, in place, and update `table` and `rises`.

        For rows that change, `table` gets the `derivatives` times the row's weight, and the
        increase of the loss is added to `rises` of the row's bin.
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


class ClippedLine(NamedTuple):
    """The derivative clip((f - place) / ridge, left, right) of a term of a loss.

    `left` <= 0 <= `right` are numbers or infinite; with a ridge of 0 it jumps at `place`. Each part
    is a number, or an array that broadcasts with the predictions.
    """

    place: Any
    left: Any
    right: Any
    ridge: Any


class PiecewiseQuadratic(Loss):
    """A loss that is a sum of terms whose derivatives are clipped lines, for each output.

    So it is piecewise linear or quadratic in `f`, and its dual is a quadratic program with bounds.
    """

    @abstractmethod
    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return the terms for these targets, as many for any targets."""


class Regression(Loss):
    """Coding of targets: the columns of `y` are the given real numbers."""


class Offset(Loss):
    """A loss with a cost of the intercept, whose best value for a given function is known.

    There are no targets. A solver that accepts such losses computes the offset of each batch; the
    problem itself has no intercept, since that would have no cost.
    """

    @abstractmethod
    def offset(self, h: Array, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the best number to add to the values `h`, for each output."""


class Margin(Loss):
    """Coding of labels: `y` is -1 or +1.

    Two classes are one column (+1 for the second class, in sorted order); three or more have one
    column each, one versus the rest.
    """


class Multinomial(Loss):
    """Coding of labels: `y` is one-hot, with one column for each class, also for two classes."""


class Probabilistic(Loss):
    """A loss of class labels whose predictions determine class probabilities."""

    @abstractmethod
    def probabilities(self, f: Array) -> Array:
        """Return the probability of each class, of shape (rows, classes).

        The most probable class is the one that the sign or the largest entry of `f` names.
        """


def row_sums(values: Array) -> Array:
    """Return the sum of each row."""
    return np.einsum("ij->i", values)  # type: ignore[no-any-return]
