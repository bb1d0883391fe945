"""The kernel of a polynomial of the inner product that is given by its coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.inner_product import checked_coefficients
from bochner.kernels.power_series import PowerSeries
from bochner.kernels.rows import Array, Rows


@dataclass
class DotProduct(PowerSeries, name="dot_product"):
    """A kernel given by its Maclaurin coefficients, k(a, b) = sum_n coefficients_n (a'b)^n.

    A function f(a'b) is a kernel exactly if no coefficient of its Maclaurin series is negative
    (Kar and Karnick 2012, Random feature maps for dot product kernels, Theorem 1). Cut an
    endless series where the rows' products make its terms small.

    Parameters
    ----------
    coefficients : array-like of shape (terms,)
        Numbers from 0 on, those of the powers 0, 1, 2, .... By default this is the linear kernel.

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

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        self.check()
        return replace(self)

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
