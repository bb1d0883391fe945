"""Losses of numbers that grow like absolute values, smoothed where they are not differentiable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins import loss_rows
from bochner.losses.loss import Array, ClippedLine, PiecewiseQuadratic, Regression, Smooth, row_sums
from bochner.validation import require_fraction, require_not_negative, require_positive

QUARTILES = 1.349  # standard deviations between the quartiles of a normal variable
WIDTH = 0.3  # of the deviation of the residuals
LEAST_WIDTH = 1e-6  # of a constant target


class Shape(NamedTuple):
    """The parameters of a smoothed loss, each a number or one for each output."""

    slope: Any  # b
    scale: Any  # a
    epsilon: Any
    width: Any  # h
    lift: Any


class SmoothedAbsolute(PiecewiseQuadratic, Smooth, Regression):
    r"""Tilted absolute values of r = f - y, smoothed at -epsilon and epsilon, summed over outputs.

        b r + a (s(r - epsilon) + s(r + epsilon)) / 2 + lift,   s(r) = r^2 / (2 h) for |r| <= h,
                                                                |r| - h / 2 beyond.

    h is the smoothing width. Up to the constant h / 2, s is the mean of |r| over r - h to r + h, so
    that a minimum moves by only h^2 (Fernandes, Guerre and Horta 2021, Smoothing quantile
    regressions; He et al. 2023, Smoothed quantile regression with large-scale inference).
    `RoundedAbsolute` is an older name of this class.

    Of the parabolas that touch |r| at one point and lie above it everywhere, the flattest has the
    curvature 1 / |r| (Hunter and Lange 2000, Quantile regression via an MM algorithm, section 2).
    That is `diagonal_bound`. A quadratic model with the Hessian, which is 0 beyond h, would take
    steps far beyond the region where it is accurate.
    """

    row_loop: ClassVar[Callable[..., None] | None] = loss_rows.smoothed_absolute

    model_is_above: ClassVar[bool] = True

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Slope, scale, epsilon and width."""

    @property
    def curvature_bound(self) -> float:  # type: ignore[override]
        """The curvature a / h of the parabola, half of it if there are two apart."""
        shape = self.shape
        share = np.where(np.less(shape.epsilon, shape.width), 1.0, 0.5)
        return float(np.max(share * shape.scale / shape.width))

    def value(self, y: Array, f: Array) -> Array:
        """Return b r + a (s(r - epsilon) + s(r + epsilon)) / 2 + lift."""
        r, (slope, scale, epsilon, width, lift) = f - y, self._shape_in(f)
        both = _smoothed(r - epsilon, width) + _smoothed(r + epsilon, width)
        return row_sums(slope * r + scale * both / 2 + lift)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return b + a (s'(r - epsilon) + s'(r + epsilon)) / 2, s' being r / h within -1 and 1."""
        r, (slope, scale, epsilon, width, _) = f - y, self._shape_in(f)
        both = np.clip((r - epsilon) / width, -1, 1) + np.clip((r + epsilon) / width, -1, 1)
        return np.asarray(slope + scale * both / 2)

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return a / h V if r is within h of epsilon or -epsilon, half of it if epsilon > 0."""
        r, (_, scale, epsilon, width, _) = f - y, self._shape_in(f)
        near = (np.abs(r - epsilon) < width).astype(f.dtype) + (np.abs(r + epsilon) < width)
        return np.asarray(V * near * scale / (2 * width))

    def diagonal_bound(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola above the loss that touches it at f."""
        r, (_, scale, epsilon, width, _) = f - y, self._shape_in(f)
        far = 1 / np.maximum(np.abs(r - epsilon), width)
        return np.asarray(scale * (far + 1 / np.maximum(np.abs(r + epsilon), width)) / 2)

    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return the derivative b + a s', or two of half the height if epsilon > 0."""
        slope, scale, epsilon, _, _ = self.shape
        if not np.any(epsilon):
            return (_clipped_line(y, slope, scale, self.dual_width),)
        low = _clipped_line(y - epsilon, (slope - scale) / 2, scale / 2, self.dual_width)
        return low, _clipped_line(y + epsilon, (slope + scale) / 2, scale / 2, self.dual_width)

    @property
    def dual_width(self) -> Any:
        """The smoothing width in the dual problem."""
        return self.shape.width

    def start(self, y: Array, weight: Array | None) -> Array:
        """Return the quantile 1/2 - b / (2 a) of each column: the minimum without smoothing."""
        shape = self.shape
        shares = np.broadcast_to(0.5 - np.divide(shape.slope, 2 * shape.scale), y.shape[1])
        return np.array([quantile_of(y[:, k], share, weight) for k, share in enumerate(shares)])

    def model_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return the diagonal bound times V."""
        return self.diagonal_bound(y, f) * V

    def _shape_in(self, f: Array) -> Shape:
        return Shape(*(np.asarray(part, f.dtype) for part in self.shape))

    def row_parameters(self, outputs: int) -> tuple[Any, ...]:
        """Return the shape, a row for each part and a column for each output."""
        parts = [np.broadcast_to(np.asarray(part, np.float64), outputs) for part in self.shape]
        return (np.array(parts),)


RoundedAbsolute = SmoothedAbsolute  # the name of earlier versions


class Smoothed(SmoothedAbsolute):
    """A loss that is not differentiable everywhere, which most solvers smooth within a `width`.

    A width "auto" is 0.3 of the expected `deviation` of the residuals, which a fit sets by
    `with_deviations`; solvers of the dual problem need none. If outputs have different widths, the
    weight of each is its width divided by their mean: then all have the same curvature, and one
    alpha suits all. (The squared loss, too, gives more weight to outputs of a larger deviation.)
    alpha="auto" depends on the width, even if it is given.
    """

    width: Any
    deviation: Any

    @property
    def smoothing_width(self) -> Any:
        """The width h as a number, or one for each output."""
        return WIDTH * np.asarray(self.deviation) if isinstance(self.width, str) else self.width

    @property
    def dual_width(self) -> Any:
        """The width if it is given; 0 for "auto", since the dual problem needs no smoothing."""
        return 0.0 if isinstance(self.width, str) else self.width

    @property
    def typical_curvature(self) -> float:  # type: ignore[override]
        """About the mean curvature, a over the deviation of the residuals."""
        return WIDTH * float(np.max(np.divide(self.shape.scale, self.shape.width)))

    def _shape(self, slope: Any, scale: float, epsilon: float) -> Shape:
        """Return a shape whose loss equals the exact one wherever it is not smoothed."""
        width = np.asarray(self.smoothing_width)
        share = width / width.mean()
        lift = scale * share * (width / 2 - epsilon)
        return Shape(share * slope, share * scale, epsilon, width, lift)

    def with_deviations(self, deviations: NDArray[np.float64]) -> Self:
        """Return the loss with widths for residuals of these deviations."""
        if not isinstance(self.width, str):
            return self
        same = (deviations == deviations[0]).all()
        deviation = float(deviations[0]) if same else tuple(deviations.tolist())
        return replace(self, deviation=deviation)  # type: ignore[type-var]

    def check(self) -> None:
        """Raise a ValueError if a width or a deviation is not positive."""
        if self.width != "auto":
            for width in each(self.width):
                require_positive("width", width)
        for deviation in each(self.deviation):
            require_positive("deviation", deviation)


def each(given: Any) -> list[Any]:
    """Return a list of the given number, or of the numbers for each output."""
    return list(given) if isinstance(given, tuple | list | np.ndarray) else [given]


def quantile_of(values: Array, share: Any, weight: Array | None) -> Any:
    """Return the smallest value at or below which at least this share of the weight lies."""
    return np.quantile(values, share, weights=weight, method="inverted_cdf")


def deviations(y: Array, weight: Array | None) -> Array:
    """Return the deviation of each column by its quartiles, on which outliers have no effect.

    It is the standard deviation if half of the values or more are equal, and a millionth of the
    value if all are equal, so that smoothing has no visible effect.
    """
    weight = None if weight is None or not weight.any() else weight
    low, high = (
        np.array([quantile_of(column, share, weight) for column in y.T]) for share in (0.25, 0.75)
    )
    robust = (high - low) / QUARTILES
    mean = np.average(y, axis=0, weights=weight)
    standard = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
    found = np.where(robust > 0, robust, standard)
    found = np.maximum(found, LEAST_WIDTH * np.abs(mean))
    return np.where(found > 0, found, LEAST_WIDTH**2)


def _clipped_line(y: Array, middle: Any, height: Any, width: Any) -> ClippedLine:
    """Return the derivative middle + height r / width, r = f - y, within middle -/+ height."""
    ridge = np.divide(width, height)
    return ClippedLine(y - middle * ridge, middle - height, middle + height, ridge)


def _smoothed(r: Array, width: Array) -> Array:
    """Return r^2 / (2 h) for |r| <= h, and |r| - h / 2 beyond."""
    distance = np.abs(r)
    inside = np.minimum(distance, width)
    return np.asarray(inside * (distance - inside / 2) / width)


@dataclass
class Huber(SmoothedAbsolute, name="huber"):
    """The Huber loss, r^2 / 2 for |r| <= delta and delta |r| - delta^2 / 2 beyond, r = f - y.

    The gradient of an outlier is at most delta (Huber 1964, Robust estimation of a location
    parameter). It is delta times the absolute deviation, smoothed within delta.

    Parameters
    ----------
    delta : float
        Where the square ends, in units of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(1.0).value(np.array([[0.0], [0.0]]), np.array([[0.5], [10.0]]))
    array([0.125, 9.5  ])
    """

    delta: float = 1.0

    def check(self) -> None:
        """Raise a ValueError if delta is not positive."""
        require_positive("delta", self.delta)

    @property
    def shape(self) -> Shape:
        """An absolute value of slope delta, smoothed within delta."""
        return Shape(0.0, self.delta, 0.0, self.delta, 0.0)


@dataclass
class EpsilonInsensitive(Smoothed, name="epsilon_insensitive"):
    """max(0, |f - y| - epsilon), summed over outputs, smoothed (`SmoothedAbsolute`).

    The loss of support vector regression (Drucker et al. 1997, Support vector regression
    machines): residuals below epsilon cost nothing.

    Parameters
    ----------
    epsilon : float
        In units of the targets; with 0 it is the absolute deviation.
    width : float, tuple of floats or "auto"
        The smoothing width: the loss is changed where |f - y| is this close to epsilon. In units
        of the targets; "auto" is 0.3 of the expected deviation of the residuals.
    deviation : float or tuple of floats
        The expected deviation of the residuals, which a fit sets.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(0.5).value(np.array([[0.0], [0.0]]), np.array([[0.125], [-2.0]]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1
    width: Any = "auto"
    deviation: Any = field(default=1.0, repr=False)

    def check(self) -> None:
        """Raise a ValueError if epsilon is negative."""
        super().check()
        require_not_negative("epsilon", self.epsilon)

    @property
    def shape(self) -> Shape:
        """Absolute values at -epsilon and epsilon."""
        return self._shape(0.0, 1.0, self.epsilon)


@dataclass
class Absolute(Smoothed, name="absolute"):
    """The absolute deviation |f - y|, summed over outputs: f estimates the median.

    It is smoothed at 0 (`SmoothedAbsolute`).

    Parameters
    ----------
    width : float, tuple of floats or "auto"
        The smoothing width: the loss is changed where |f - y| is below it. In units of the
        targets; "auto" is 0.3 of the expected deviation of the residuals.
    deviation : float or tuple of floats
        The expected deviation of the residuals, which a fit sets.

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().value(np.array([[1.0, 2.0]]), np.array([[3.0, 3.0]]))
    array([3.])
    """

    width: Any = "auto"
    deviation: Any = field(default=1.0, repr=False)

    @property
    def shape(self) -> Shape:
        """An absolute value at 0."""
        return self._shape(0.0, 1.0, 0.0)


@dataclass
class SquaredEpsilonInsensitive(
    PiecewiseQuadratic, Smooth, Regression, name="squared_epsilon_insensitive"
):
    """max(0, |f - y| - epsilon)^2 / 2, summed over outputs.

    Parameters
    ----------
    epsilon : float
        In units of the targets; with 0 it is the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(1.0).value(np.array([[0.0]]), np.array([[3.0]]))
    array([2.])
    """

    curvature_bound = 1.0

    epsilon: float = 0.1

    def check(self) -> None:
        """Raise a ValueError if epsilon is negative."""
        require_not_negative("epsilon", self.epsilon)

    def value(self, y: Array, f: Array) -> Array:
        """Return the sum of max(0, |f - y| - epsilon)^2 / 2."""
        return row_sums(np.maximum(np.abs(f - y) - self.epsilon, 0) ** 2) / 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return f - y moved towards 0 by epsilon."""
        residual = f - y
        return np.asarray(np.sign(residual) * np.maximum(np.abs(residual) - self.epsilon, 0))

    def hessian_product(self, y: Array, f: Array, V: Array) -> Array:
        """Return V where |f - y| is beyond epsilon, else 0."""
        return np.asarray(V * (np.abs(f - y) > self.epsilon))

    def derivative_terms(self, y: Array) -> tuple[ClippedLine, ...]:
        """Return a line on each side."""
        low = ClippedLine(y - self.epsilon, -np.inf, 0.0, 1.0)
        return low, ClippedLine(y + self.epsilon, 0.0, np.inf, 1.0)


@dataclass
class Quantile(Smoothed, name="quantile"):
    """The pinball loss: tau (y - f) above f and (1 - tau) (f - y) below, summed over outputs.

    Its minimum is the quantile tau of y (Koenker and Bassett 1978, Regression quantiles); for the
    median it is half the absolute deviation. It is smoothed at 0 (`SmoothedAbsolute`).

    Parameters
    ----------
    quantile : float or tuple of floats
        tau, between 0 and 1; several are those of the outputs, repeated if there are more outputs.
    width : float, tuple of floats or "auto"
        The smoothing width: the loss is changed where |f - y| is below it. In units of the
        targets; "auto" is 0.3 of the expected deviation of the residuals.
    deviation : float or tuple of floats
        The expected deviation of the residuals, which a fit sets.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(0.9).value(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]]))
    array([0.9, 0.1])
    """

    quantile: float | tuple[float, ...] = 0.5
    width: Any = "auto"
    deviation: Any = field(default=1.0, repr=False)

    def check(self) -> None:
        """Raise a ValueError if a quantile is out of range."""
        super().check()
        for share in each(self.quantile):
            require_fraction("quantile", share)

    def with_deviations(self, deviations: NDArray[np.float64]) -> Self:
        """Return the loss with a width and a quantile for each of these outputs."""
        shares, outputs = each(self.quantile), len(deviations)
        if outputs % len(shares):
            raise ValueError(
                f"quantile needs one number, or one for each output; got {len(shares)} for "
                f"{outputs} output(s). Give one, or use KernelQuantileRegressor for several "
                "quantiles of the same target."
            )
        quantile = tuple(shares) * (outputs // len(shares)) if len(shares) > 1 else shares[0]
        return replace(super().with_deviations(deviations), quantile=quantile)

    @property
    def shape(self) -> Shape:
        """Slope 1/2 - tau and scale 1/2."""
        return self._shape(0.5 - np.asarray(self.quantile), 0.5, 0.0)
