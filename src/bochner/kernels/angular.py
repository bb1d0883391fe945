"""Kernels of the lengths of two rows and of the angle between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import comb, pi

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bochner.kernels.distances import squared_norms
from bochner.kernels.inner_product import InnerProduct, checked_coefficients
from bochner.kernels.prepared import PreparedKernel
from bochner.kernels.rows import Array, Rows, alike, checked_rows, fill_product, tiles
from bochner.validation import require_count

# Cosines within this many rounding errors of 1 or -1 are computed again, from a - b or a + b: the
# angle is about sqrt(2 (1 - |cosine|)), which magnifies errors.
ROUNDINGS = 64


class Angular(InnerProduct):
    """A kernel k(a, b) = |a|^power |b|^power profile(cos angle(a, b)).

    A row of zeros has no direction: its values are 0.
    """

    @property
    @abstractmethod
    def power(self) -> int:
        """The power of the lengths."""

    @abstractmethod
    def profile(self, cosines: Array, n_columns: int) -> Array:
        """Return the values for rows of length 1 with these cosines, in `n_columns` columns."""

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with lengths and directions prepared."""
        return PreparedAngular(self, B)

    def diagonal(self, A: Rows) -> Array:
        """Return |a|^(2 power) profile(1)."""
        A = checked_rows(A)
        peak = self.profile(np.ones(1, A.dtype), A.shape[1])
        return peak * powers(lengths(A), self.power) ** 2


class PreparedAngular(PreparedKernel):
    """An angular kernel with fixed rows `B`, whose lengths and directions are computed."""

    def __init__(self, kernel: Angular, B: Rows) -> None:
        self.kernel, self.directions = kernel, directions(B)
        self.powers = powers(lengths(B), kernel.power)

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write cosines and replace them by kernel values."""
        A = alike(A, self.directions)
        fill_cosines(directions(A), self.directions[start:stop], out)
        values = self.kernel.profile(out, A.shape[1])
        np.multiply(values, powers(lengths(A), self.kernel.power)[:, None], out=out)
        out *= self.powers[start:stop]


def lengths(X: Rows) -> Array:
    """Return |x| of each row."""
    return np.sqrt(squared_norms(X))


def powers(lengths: Array, power: int) -> Array:
    """Return the power of lengths, and 0 for a row of zeros even if the power is 0."""
    return np.where(lengths > 0, lengths**power, 0).astype(lengths.dtype, copy=False)


def directions(X: Rows) -> Rows:
    """Return the rows divided by their lengths; a row of zeros stays as it is."""
    known = lengths(X)
    return _times(X, np.divide(1, known, out=np.zeros_like(known), where=known > 0))


def fill_cosines(A: Rows, B: Rows, out: Array) -> None:
    """Write the cosines of the angles between rows of length 1, exact for parallel rows."""
    fill_product(A, B.T, out)
    near = np.flatnonzero(np.abs(out) > 1 - ROUNDINGS * np.finfo(out.dtype).eps)
    for pairs in tiles(len(near), 4096):
        a, b = np.divmod(near[pairs], out.shape[1])
        side = np.sign(out[a, b])
        out[a, b] = side * (1 - squared_norms(A[a] - _times(B[b], side)) / 2)


def _times(X: Rows, factors: Array) -> Rows:
    """Return each row times its factor."""
    return X.multiply(factors[:, None]).tocsr() if sp.issparse(X) else X * factors[:, None]


@dataclass
class ArcCosine(Angular, name="arc_cosine"):
    """The arc-cosine kernel, k(a, b) = |a|^order |b|^order J(angle) / pi.

    J is pi - t for the order 0, sin t + (pi - t) cos t for 1, and 3 sin t cos t +
    (pi - t) (1 + 2 cos^2 t) for 2 (Cho and Saul 2009, Kernel methods for deep learning, section
    2.1). It is the limit of a layer of infinitely many neurons with steps, ramps or
    squared ramps: 2 E h(w'a) h(w'b) for normal w and h(t) = max(t, 0)^order. k of a row of zeros
    and any other is 0.

    Parameters
    ----------
    order : int
        0, 1 or 2.

    Examples
    --------
    >>> ArcCosine(0)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[1. , 0.5, 0. ]])
    """

    order: int = 1

    def check(self) -> None:
        """Raise a ValueError unless the order is known."""
        require_count("The order of ArcCosine", self.order, 0, 2)

    @property
    def power(self) -> int:
        """The order."""
        return self.order

    def profile(self, cosines: Array, n_columns: int) -> Array:
        """Return J / pi."""
        angles = np.arccos(cosines)
        rest = pi - angles
        if self.order == 0:
            return rest / pi
        sines = np.sin(angles)
        if self.order == 1:
            return (sines + rest * cosines) / pi
        return (3 * sines * cosines + rest * (1 + 2 * cosines**2)) / pi


@dataclass
class Zonal(Angular, name="zonal"):
    """A kernel of the angle alone, k(a, b) = sum_l coefficients_l P_l(cos angle(a, b)).

    P_l is the Legendre polynomial of the sphere in as many dimensions as there are columns: the
    Gegenbauer polynomial with P_l(1) = 1. A continuous function of the angle is a kernel on that
    sphere exactly if it has such a series without negative coefficients (Schoenberg 1942, Positive
    definite functions on spheres, Theorem 1). Rows are divided by their lengths; k of a row of
    zeros and any other is 0.

    Parameters
    ----------
    coefficients : array-like of shape (degrees,)
        Non-negative numbers; their sum is k(a, a).

    Examples
    --------
    >>> Zonal([0.5, 0.5])([[1.0, 0.0]], [[3.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[1. , 0.5, 0. ]])
    """

    coefficients: ArrayLike = (0.4, 0.3, 0.2, 0.1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Zonal):
            return NotImplemented
        return np.array_equal(self.coefficients, other.coefficients)  # type: ignore[arg-type]

    def check(self) -> None:
        """Raise a ValueError unless this is a kernel."""
        checked_coefficients(self.coefficients, "Zonal")

    @property
    def power(self) -> int:
        """0: lengths do not matter."""
        return 0

    def profile(self, cosines: Array, n_columns: int) -> Array:
        """Return the sum over the degrees."""
        coefficients = np.asarray(self.coefficients, cosines.dtype)
        values = np.zeros_like(cosines)
        polynomials = islice(legendre(cosines, n_columns), len(coefficients))
        for coefficient, polynomial in zip(coefficients, polynomials, strict=True):
            values += coefficient * polynomial
        return values


def legendre(cosines: Array, n_columns: int) -> Iterator[Array]:
    """Yield P_0, P_1, P_2, ... of the sphere in `n_columns` dimensions, infinitely many.

    (l + d - 2) P_{l+1}(t) = (2l + d - 2) t P_l(t) - l P_{l-1}(t) in d dimensions (Mueller 1966,
    Spherical harmonics).
    """
    require_sphere(n_columns)
    one = cosines.dtype.type
    before, now, degree = np.ones_like(cosines), cosines, 1
    yield before
    while True:
        yield now
        whole = degree + n_columns - 2
        rise, fall = one((whole + degree) / whole), one(degree / whole)
        before, now, degree = now, rise * cosines * now - fall * before, degree + 1


def harmonics(n_columns: int, degree: int) -> int:
    """Return the number of spherical harmonics of a degree in `n_columns` dimensions."""
    require_sphere(n_columns)
    if degree == 0:
        return 1
    return (2 * degree + n_columns - 2) * comb(degree + n_columns - 3, degree - 1) // degree


def require_sphere(n_columns: int) -> None:
    """Raise a ValueError if rows have fewer than two columns."""
    if n_columns < 2:
        raise ValueError(
            "A zonal kernel needs rows of at least 2 columns, since there is no sphere in one "
            f"dimension; got {n_columns}. Add a column, such as one of ones."
        )
