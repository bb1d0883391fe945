"""PowerSeries: kernels that are a power series of the inner product."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.kernels.against import Against
from bochner.kernels.distances import squared_norms
from bochner.kernels.inner_product import InnerProduct
from bochner.kernels.rows import Array, Rows, alike, checked_rows, dense


class PowerSeries(InnerProduct):
    """A kernel k(a, b) = sum_n terms_n (a'b)^n, with terms_n >= 0.

    A power series of a'b is a kernel for rows of any number of columns exactly if no term is
    negative (Schoenberg 1942, Positive definite functions on spheres, Theorem 2).
    """

    @abstractmethod
    def log_parts(self, length: float) -> NDArray[np.float64]:
        """Return log(terms_n length^2n), n = 0, 1, 2, ..., the parts of k(x, x) at |x| = length.

        Logarithms, since the factors may be beyond all numbers where their product is not. An
        endless series is cut.
        """

    @abstractmethod
    def evaluate(self, products: Array) -> None:
        """Replace each product a'b by the value of the kernel."""

    def against(self, B: Rows) -> Against:
        """Return k(., B), of which there is nothing to prepare but the place in memory."""
        return ProductsAgainst(self, B if sp.issparse(B) else np.ascontiguousarray(B))

    def diagonal(self, A: Rows) -> Array:
        """Return the kernel of |a|^2 of each row."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused
            squares = squared_norms(checked_rows(A))
            self.evaluate(squares)
        return finite(squares, self)


@dataclass(frozen=True, eq=False)
class ProductsAgainst(Against):
    """The power series of products with the rows `B`."""

    kernel: PowerSeries
    B: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write products and replace them by values."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused
            fill_products(alike(A, self.B), self.B[start:stop], out)
            self.kernel.evaluate(out)
        finite(out, self.kernel)


def finite(values: Array, kernel: PowerSeries) -> Array:
    """Return the values, or refuse those that are beyond the numbers of their dtype."""
    if np.isfinite(values).all():
        return values
    raise ValueError(
        f"The values of {kernel!r} must be finite; of some rows they are too large for "
        f"{values.dtype}. Scale the rows to similar lengths, by Normalizer for one, or take a "
        "larger bandwidth, a smaller scale, a lower degree or smaller coefficients."
    )


def fill_products(A: Rows, B: Rows, out: Array) -> None:
    """Write a'b of all rows of two dense or two sparse arrays."""
    if sp.issparse(A):
        out[...] = dense(A @ B.T)
    else:
        np.matmul(A, B.T, out=out)
