"""The base classes of kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, Self, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.kernels.prepared import PreparedKernel, PreparedTiles, evaluated
from bochner.kernels.rows import Array, Rows, centred, checked_pair, checked_rows, mean, tiled
from bochner.validation import FINITE, require_positive

TILE = 512  # rows and columns of the block that is computed at once: 1 MB in float32
MEDIAN_ROWS = 1000
Weight = NDArray[np.float64] | None  # of rows; None: all 1

# The functions that make kernels of functions and of other kernels, by name. The modules that
# define these kernels register them: they import this module, so it cannot import them.
CONSTRUCTORS: dict[str, Callable[..., Kernel]] = {}


def constructor(function: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """Register a function under its name, for the methods of `KernelAlgebra`."""
    CONSTRUCTORS[function.__name__] = function
    return function


class KernelAlgebra(Component):
    """How users make kernels: of a function, by + and *, of some columns, with column scales.

    No subclass overrides these methods.
    """

    __array_ufunc__: ClassVar[None] = None  # so that NumPy's numbers leave `*` to `__rmul__`

    @classmethod
    def resolve(cls, given: Any) -> Self:
        """Return a new kernel, given its name, a kernel to copy, or a function k(A, B).

        A class is refused: give an instance.
        """
        if callable(given) and not isinstance(given, (KernelAlgebra, type)):
            kernel = CONSTRUCTORS["from_function"](given)
            if isinstance(kernel, cls):
                return kernel
        return super().resolve(given)

    def __add__(self, other: Any) -> Kernel:
        if not isinstance(other, KernelAlgebra):
            return NotImplemented
        return CONSTRUCTORS["add"](self, other)

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, KernelAlgebra):
            return CONSTRUCTORS["multiply"](self, other)
        if not isinstance(other, Real):
            return NotImplemented
        return CONSTRUCTORS["scale"](self, float(other))

    __rmul__ = __mul__

    def on(self, columns: Any) -> Kernel:
        """Return this kernel of some columns: indices or names, one or several.

        >>> from bochner.kernels import Delta, Gaussian
        >>> kernel = Delta().on("tree") * Gaussian().on(["height", "age"])
        """
        return CONSTRUCTORS["on_columns"](self, columns)

    def with_column_indices(self, names: Collection[Any] | None) -> Self:
        """Return a copy in which columns given by name (`on`) are indices into `names`."""
        return cast(Self, CONSTRUCTORS["with_column_indices"](self, names))

    def column_scaled(self, scales: ArrayLike, groups: ArrayLike | None = None) -> Kernel:
        """Return the kernel of rows divided by `scales`, one for each column.

        With `groups`, the number 0, 1, ... of each column's group, there is one for each group.
        """
        return CONSTRUCTORS["scale_columns"](self, scales, groups)

    def stretched(self, scales: ArrayLike, groups: ArrayLike | None = None) -> Kernel:
        """Return `column_scaled(scales, groups)`; this is its older name."""
        return self.column_scaled(scales, groups)


class Kernel(KernelAlgebra, ABC, family="kernel"):
    """A symmetric positive semi-definite function k(a, b) of two rows.

    `kernel(A, B)` is the matrix of k between all rows of `A` and all rows of `B`. Kernels are
    added and multiplied, by each other and by positive numbers: ``2 * Gaussian(1.0) + Matern()``.

    A kernel implements `prepared`, from which `tile` follows, or `tile` or `matrix` alone.
    """

    def __init_subclass__(cls, family: str | None = None, name: str | None = None) -> None:
        super().__init_subclass__(family, name)
        own = vars(cls).get("resolved")
        if own is not None and not _takes_weights(own):
            cls.resolved = _without_weights(own)  # type: ignore[method-assign]

    def __call__(self, A: Rows, B: Rows | None = None) -> Array:
        """Return the matrix k(A, B), of shape (len(A), len(B)); k(A, A) without `B`."""
        self.check()
        A, B = checked_pair(A, B)
        self.require(A)
        if B is not A:
            self.require(B)
        return self.matrix(A, B)

    @property
    def centred(self) -> bool:
        """Whether k stays the same if all rows are shifted, so that they may be centred."""
        return False

    @abstractmethod
    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) of checked rows of one dtype; `B` may be `A` itself."""

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B), in the dtype of the rows, of few rows, centred if `centred` is true."""
        if type(self).prepared is Kernel.prepared:  # there is only `matrix`
            return self.matrix(A, B)
        return evaluated(self.prepared(B), A, B)

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) for many calls with the same rows `B`; by default it calls `tile`."""
        return PreparedTiles(self.tile, B)

    @abstractmethod
    def diagonal(self, A: Rows) -> Array:
        """Return k(a, a) of each row."""

    def check(self) -> None:
        """Raise a ValueError if a parameter cannot be used. Does nothing by default."""
        return

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy in which every default that depends on the data is a number.

        By default these are the defaults of its parts. A row of weight 2 counts as two equal rows;
        None means that all rows have the same weight. A kernel of yours may leave the argument out:
        ``resolved(self, X, rng)``.
        """
        self.check()
        resolved = {name: part.resolved(X, rng, weight) for name, part in parts(self).items()}
        return replace(self, **resolved)  # type: ignore[type-var]

    def require(self, X: Rows) -> None:
        """Raise a ValueError if the kernel is not defined for these checked rows."""
        for part in parts(self).values():
            part.require(X)

    def numeric_columns(self, n_columns: int) -> frozenset[int]:
        """Return the columns, out of `n_columns`, that are numbers and not categories."""
        if inner := parts(self).values():
            return frozenset[int]().union(*(part.numeric_columns(n_columns) for part in inner))
        return frozenset(range(n_columns))


def _takes_weights(resolved: Callable[..., Any]) -> bool:
    """Whether a method `resolved` takes the weights as a third argument."""
    try:
        signature(resolved).bind("self", "X", "rng", "weight")
    except TypeError:
        return False
    return True


def _without_weights(resolved: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method `resolved` that takes weights and ignores them."""

    @wraps(resolved)
    def method(self: Kernel, X: Rows, rng: Random, weight: Weight = None) -> Any:
        return resolved(self, X, rng)

    return method


def parts(kernel: Kernel) -> dict[str, Kernel]:
    """Return the fields of a kernel that are kernels themselves."""
    values = {field.name: getattr(kernel, field.name) for field in fields(kernel)}  # type: ignore[arg-type]
    return {name: value for name, value in values.items() if isinstance(value, Kernel)}


class ShiftInvariant(Kernel):
    """A kernel of the difference of two rows, k(a, b) = k(a - b).

    By Bochner's theorem it is the characteristic function of its spectral measure,
    k(a - b) = variance * E cos(omega'(a - b)) (Rahimi and Recht 2007, Random features for
    large-scale kernel machines, Eq. 2). A subclass implements `tile` or `prepared`.
    """

    @property
    def centred(self) -> bool:
        """True."""
        return True

    @property
    @abstractmethod
    def variance(self) -> float:
        """The value at 0: k(a, a) of every row."""

    @abstractmethod
    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw angular frequencies omega from the spectral measure, shape (n_columns, size)."""

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile."""
        centre = mean(A)
        K = by_tiles(lambda a, b: self.tile(centred(a, centre), centred(b, centre)), A, B)
        if A is B:
            np.fill_diagonal(K, self.variance)
        return K

    def diagonal(self, A: Rows) -> Array:
        """Return the variance for each row."""
        A = checked_rows(A)
        return np.full(A.shape[0], self.variance, A.dtype)


def by_tiles(tile: Callable[[Rows, Rows], Array], A: Rows, B: Rows) -> Array:
    """Return the matrix made of tiles of `A` and `B`; of k(A, A) only one half is computed."""
    return tiled(lambda rows, columns: tile(A[rows], B[columns]), A, B, TILE)


class Separable(Kernel):
    """A kernel k(a, b) = variance * prod_j k_j(|a_j - b_j|) with convex k_j, k_j(0) = 1.

    If a column is cut into intervals of width `pitch` with a random offset, a_j and b_j are in the
    same interval with probability max(0, 1 - |a_j - b_j| / pitch). If the pitch has the density
    pitch * k_j''(pitch), the mean of that probability is k_j (Rahimi and Recht 2007, Random
    features for large-scale kernel machines, section 4).
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The value at 0: k(a, a) of every row."""

    @property
    def has_pitches(self) -> bool:
        """Whether pitches can be drawn; a composite kernel has them if its parts have."""
        return True

    @abstractmethod
    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw the pitches of `size` grids, shape (n_columns, size)."""


def is_separable(kernel: Any) -> TypeGuard[Separable]:
    """Whether a kernel has a distribution of pitches."""
    return isinstance(kernel, Separable) and kernel.has_pitches


def separable(kernel: Any) -> Separable:
    """Return the kernel, or raise a ValueError if it has no distribution of pitches."""
    if is_separable(kernel):
        return kernel
    raise ValueError(
        "Random binning needs a kernel that is a product over the columns and has a distribution "
        "of pitches: 'laplacian', or sums, multiples and column scales (ColumnScaled) of such "
        f"kernels; got {kernel!r}."
    )


class BandwidthKernel(Kernel):
    """A kernel of a length, such as |a - b|, divided by a bandwidth.

    The bandwidth is a number, or "median": `multiplier` times the median of the positive lengths
    among at most 1,000 rows of the sample, or `multiplier` itself if no length is positive. The
    multiplier does not apply to a bandwidth given as a number. `rules` are the texts that the
    bandwidth may be.
    """

    bandwidth: float | str
    multiplier: float
    rules: ClassVar[tuple[str, ...]] = ("median",)

    @abstractmethod
    def lengths(self, A: Rows, B: Rows) -> Array:
        """Return the lengths between few rows, which the bandwidth divides."""

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        require_bandwidth(self, self.rules)

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy whose bandwidth is a number."""
        kernel = super().resolved(X, rng, weight)
        if not isinstance(self.bandwidth, str):
            return kernel
        return replace(kernel, bandwidth=self.multiplier * kernel._median(X, rng, weight))  # type: ignore[type-var]

    def _median(self, X: Rows, rng: Random, weight: Weight) -> float:
        X = checked_rows(X)
        self.require(X)
        places = _some(X.shape[0], rng)
        some = X[places].astype(np.float64)
        pairs = np.triu_indices(some.shape[0], 1)
        lengths = self.lengths(some, some)[pairs]
        weights = None
        if weight is not None:
            share = weight[places] / weight.max()  # products of tiny weights would vanish
            weights = (share[pairs[0]] * share[pairs[1]])[lengths > 0]
        lengths = lengths[lengths > 0]
        return median(lengths, weights) if len(lengths) else 1.0

    def _number(self) -> float:
        return number_of(self, "bandwidth")


def require_bandwidth(kernel: Any, rules: tuple[str, ...] = ("median",)) -> None:
    """Require a bandwidth that is a number or one of the rules, and a multiplier."""
    name = type(kernel).__name__
    require_positive(f"The bandwidth of {name}", kernel.bandwidth, FINITE, also=rules)
    require_positive(f"The multiplier of {name}", kernel.multiplier, FINITE)


def number_of(kernel: Kernel, parameter: str) -> float:
    """Return a parameter, or raise a ValueError if it is still a rule such as "median"."""
    value = getattr(kernel, parameter)
    if isinstance(value, str):
        raise ValueError(
            f"{kernel!r} needs a {parameter} that is a number before it can be evaluated; got "
            f"{value!r}. Give a number, or take kernel.resolved(X, rng), which measures it on the "
            "rows X."
        )
    return float(value)


def median(values: NDArray[Any], weight: Weight) -> float:
    """Return the median of values, each counted as often as its weight says.

    Where a value ends at exactly half of the weight, it is the mean of this value and the next, as
    the median of an even number of values is.

    >>> median(np.array([1.0, 2.0, 5.0, 9.0]), np.array([1.0, 1.0, 2.0, 0.0]))
    3.5
    """
    if weight is None or (weight == weight[0]).all():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    sums = np.cumsum(weight[order])
    first, last = (np.searchsorted(sums, sums[-1] / 2, side=side) for side in ("left", "right"))
    last = min(last, len(order) - 1)
    return float((values[order[first]] + values[order[last]]) / 2)


def _some(rows: int, rng: Random) -> slice | NDArray[np.int64]:
    """Return the places of at most `MEDIAN_ROWS` of the rows, sampled without replacement."""
    return slice(None) if rows <= MEDIAN_ROWS else np.sort(rng.permutation(rows)[:MEDIAN_ROWS])
