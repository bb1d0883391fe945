"""Kernels on the sphere that do not see rotations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import comb
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.compute.random.counter_based import Random
from bochner.kernels.angular import Angular
from bochner.kernels.inner_product import checked_coefficients
from bochner.kernels.rows import Array, Rows


@dataclass
class Zonal(Angular, name="zonal"):
    """A kernel of the angle alone, k(a, b) = sum_l coefficients_l P_l(cos angle(a, b)).

    P_l is the Legendre polynomial of the sphere in as many dimensions as there are columns: the
    Gegenbauer polynomial with P_l(1) = 1. A continuous function of the angle is a kernel on that
    sphere exactly if it has such a series without negative coefficients (Schoenberg 1942, Positive
    definite functions on spheres, Theorem 1). Rows are divided by their lengths; a row of zeros
    has the value 0 with all others.

    Parameters
    ----------
    coefficients : array-like of shape (degrees,)
        Numbers from 0 on; their sum is k(a, a).

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

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        self.check()
        return replace(self)

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
    """Yield P_0, P_1, P_2, ... of the sphere in so many dimensions, without end.

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
    """Return how many spherical harmonics of a degree there are in so many dimensions."""
    require_sphere(n_columns)
    if degree == 0:
        return 1
    return (2 * degree + n_columns - 2) * comb(degree + n_columns - 3, degree - 1) // degree


def require_sphere(n_columns: int) -> None:
    """Refuse rows without a sphere."""
    if n_columns < 2:
        raise ValueError(
            "A zonal kernel needs rows of at least 2 columns, since there is no sphere in one "
            f"dimension; got {n_columns}. Add a column, such as one of ones."
        )
