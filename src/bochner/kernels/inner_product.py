"""Kernels that are power series of the inner product of two rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.kernels.distances import squared_norms
from bochner.kernels.kernel import Kernel, Weight, by_tiles, median, number_of, require_bandwidth
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, alike, checked_rows, fill_product
from bochner.validation import FINITE, require_count, require_not_negative, require_positive

POWERS = 64  # of the infinite series; up to a'a = 30 bandwidth^2 the rest is a millionth of it


class InnerProduct(Kernel):
    """A kernel of a'b, a'a and b'b: a rotation of all rows does not change it, but a shift does."""

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile."""
        K = by_tiles(self.tile, A, B)
        if A is B:
            np.einsum("ii->i", K)[:] = self.diagonal(A)
        return K


def median_square(X: Rows, weight: Weight = None) -> float:
    """Return the (weighted) median of |x|^2 over the rows that are not zero, 1 if all are."""
    squares = squared_norms(checked_rows(X).astype(np.float64))
    weight = None if weight is None else weight[squares > 0]
    squares = squares[squares > 0]
    return median(squares, weight) if len(squares) else 1.0


def checked_coefficients(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return coefficients as an array, or raise a ValueError if they do not make a kernel."""
    try:
        coefficients = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        coefficients = np.empty(0)
    usable = coefficients.ndim == 1 and np.isfinite(coefficients).all()
    if usable and (coefficients >= 0).all() and coefficients.any():
        return coefficients
    raise ValueError(
        f"The coefficients of {what} must be a list of finite numbers, none negative and not all "
        f"0, since it is no kernel otherwise; got {given!r}."
    )


class PowerSeries(InnerProduct):
    """A kernel k(a, b) = sum_n terms_n (a'b)^n, with terms_n >= 0.

    A power series of a'b is a kernel for rows of any number of columns exactly if no term is
    negative (Schoenberg 1942, Positive definite functions on spheres, Theorem 2).
    """

    @abstractmethod
    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return log(terms_n length^2n), n = 0, 1, 2, ..., the parts of k(x, x) at |x| = length.

        Logarithms, since the factors may overflow although their product does not. An infinite
        series is truncated.
        """

    @abstractmethod
    def evaluate(self, products: Array) -> None:
        """Replace each product a'b by the value of the kernel."""

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with B in contiguous memory."""
        return PreparedPowerSeries(self, B if sp.issparse(B) else np.ascontiguousarray(B))

    def diagonal(self, A: Rows) -> Array:
        """Return the kernel of |a|^2 of each row."""
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused
            squares = squared_norms(checked_rows(A))
            self.evaluate(squares)
        return finite(squares, self)


@dataclass(frozen=True, eq=False)
class PreparedPowerSeries(PreparedKernel):
    """The power series of inner products with fixed rows `B`."""

    kernel: PowerSeries
    B: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write inner products and replace them by kernel values."""
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused
            fill_product(alike(A, self.B), self.B[start:stop].T, out)
            self.kernel.evaluate(out)
        finite(out, self.kernel)


def finite(values: Array, kernel: PowerSeries) -> Array:
    """Return the values, or raise a ValueError if some overflow their dtype."""
    if np.isfinite(values).all():
        return values
    raise ValueError(
        f"The values of {kernel!r} must be finite; for some rows they are too large for "
        f"{values.dtype}. Scale the rows to similar lengths (Normalizer), or take a larger "
        "bandwidth, a smaller scale, a lower degree or smaller coefficients."
    )


@dataclass
class Polynomial(PowerSeries, name="polynomial"):
    """The polynomial kernel, k(a, b) = (scale a'b + constant)^degree.

    Its functions are the polynomials of at most this degree in the columns (Scholkopf and Smola
    2002, Learning with kernels, section 2.1); without a constant, those whose terms all have it.

    Parameters
    ----------
    degree : int
        The power, at least 1.
    constant : float
        At least 0. The larger it is, the more terms of a low degree count.
    scale : float or "median"
        Multiplies a'b. "median" takes 1 / (the median of |x|^2) from the data, so that the scaled
        products of most rows lie between -1 and 1.

    Examples
    --------
    >>> Polynomial(2, scale=1.0)([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]])
    array([[36.,  1.]])
    """

    degree: int = 3
    constant: float = 1.0
    scale: float | str = "median"

    def check(self) -> None:
        """Raise a ValueError unless this is a kernel."""
        require_count("The degree of Polynomial", self.degree)
        kind = "a finite number from 0 on, since it is no kernel otherwise"
        require_not_negative("The constant of Polynomial", self.constant, kind)
        require_positive("The scale of Polynomial", self.scale, FINITE, also=("median",))

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy whose scale is a number."""
        kernel = super().resolved(X, rng, weight)
        if self.scale != "median":
            return kernel
        return replace(kernel, scale=1 / median_square(X, weight))

    @property
    def factor(self) -> float:
        """The scale; raises a ValueError if it is not a number yet."""
        return number_of(self, "scale")

    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return the logarithms of binomial coefficients times powers of scale and constant."""
        p, n = self.degree, np.arange(self.degree + 1)
        binomials = gammaln(p + 1) - gammaln(n + 1) - gammaln(p - n + 1)
        powers = n * (log(self.factor) + 2 * log(length)) + xlogy(p - n, float(self.constant))
        return np.asarray(binomials + powers, np.float64)

    def evaluate(self, products: Array) -> None:
        """Take the power; multiplying is faster than a general power."""
        products *= products.dtype.type(self.factor)
        products += products.dtype.type(self.constant)
        base = products.copy()
        for _ in range(self.degree - 1):
            products *= base


@dataclass
class Exponential(PowerSeries, name="exponential"):
    """The exponential kernel, k(a, b) = exp(a'b / bandwidth^2).

    It is exp(|a|^2 / (2 bandwidth^2)) exp(|b|^2 / (2 bandwidth^2)) times the Gaussian kernel of
    the same bandwidth (Steinwart 2001, On the influence of the kernel on the consistency of
    support vector machines). Rows much longer than others dominate it: scale rows
    to similar lengths first.

    Parameters
    ----------
    bandwidth : float or "median"
        The length of a row with k(a, a) = e; "median" takes the median length of the rows.
    multiplier : float
        Multiplies the median, but not a bandwidth given as a number.

    Examples
    --------
    >>> Exponential(2.0)([[2.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]).round(4)
    array([[2.7183, 1.    ]])
    """

    bandwidth: float | str = "median"
    multiplier: float = 1.0

    def check(self) -> None:
        """Raise a ValueError unless the bandwidth and the multiplier can be used."""
        require_bandwidth(self)

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy whose bandwidth is a number."""
        kernel = super().resolved(X, rng, weight)
        if self.bandwidth != "median":
            return kernel
        return replace(kernel, bandwidth=self.multiplier * sqrt(median_square(X, weight)))

    @property
    def length(self) -> float:
        """The bandwidth; raises a ValueError if it is not a number yet."""
        return number_of(self, "bandwidth")

    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return the logarithms of (length / bandwidth)^2n / n! for the first powers."""
        n = np.arange(POWERS)
        return 2 * n * np.log(length / self.length) - gammaln(n + 1.0)  # type: ignore[no-any-return]

    def evaluate(self, products: Array) -> None:
        """Take the exponential."""
        products *= products.dtype.type(self.length**-2)
        exponential(products)


@dataclass
class DotProduct(PowerSeries, name="dot_product"):
    """A kernel given by its Maclaurin coefficients, k(a, b) = sum_n coefficients_n (a'b)^n.

    A function f(a'b) is a kernel exactly if no coefficient of its Maclaurin series is negative
    (Kar and Karnick 2012, Random feature maps for dot product kernels, Theorem 1). Truncate
    an infinite series where the products of rows make its terms small.

    Parameters
    ----------
    coefficients : array-like of shape (terms,)
        Non-negative numbers, for the powers 0, 1, 2, .... The default is the linear kernel.

    Examples
    --------
    >>> DotProduct([1.0, 0.0, 0.5])([[1.0, 2.0]], [[0.0, 1.0], [2.0, 0.0]])
    array([[3., 3.]])
    """

    coefficients: ArrayLike = (0.0, 1.0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DotProduct):
            return NotImplemented
        return np.array_equal(self.coefficients, other.coefficients)  # type: ignore[arg-type]

    def check(self) -> None:
        """Raise a ValueError unless this is a kernel."""
        checked_coefficients(self.coefficients, "DotProduct")

    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return the logarithms of the coefficients times the powers of length^2."""
        terms = np.asarray(self.coefficients, np.float64)
        logs = np.log(terms, out=np.full(len(terms), -np.inf), where=terms > 0)
        return logs + 2 * np.log(length) * np.arange(len(terms))  # type: ignore[no-any-return]

    def evaluate(self, products: Array) -> None:
        """Sum the series from its end (Horner)."""
        base = products.copy()
        products[...] = 0
        for coefficient in np.asarray(self.coefficients, products.dtype)[::-1]:
            products *= base
            products += coefficient
