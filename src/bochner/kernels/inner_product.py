"""InnerProduct: kernels that know rows by their inner products only."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.kernels.distances import squared_norms
from bochner.kernels.kernel import Kernel, by_tiles
from bochner.kernels.rows import Array, Rows, checked_rows


class InnerProduct(Kernel):
    """A kernel of a'b, a'a and b'b: a rotation of all rows does not change it, but a shift does."""

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) tile by tile."""
        K = by_tiles(self.tile, A, B)
        if A is B:
            np.einsum("ii->i", K)[:] = self.diagonal(A)
        return K

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return k(A, B) of few rows."""
        out = np.empty((A.shape[0], B.shape[0]), A.dtype)
        self.against(B).fill(A, 0, B.shape[0], out)
        return out


def median_square(X: Rows) -> float:
    """Return the median of |x|^2 over the rows that are not zero, 1 if all are."""
    squares = squared_norms(checked_rows(X).astype(np.float64))
    squares = squares[squares > 0]
    return float(np.median(squares)) if len(squares) else 1.0


def checked_coefficients(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return coefficients as an array, or refuse negative ones, by which k is no kernel."""
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


def whole_number(given: Any, what: str, least: int, most: int | None = None) -> int:
    """Return the number, or refuse one that is not whole or out of range."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if whole and given >= least and (most is None or given <= most):
        return int(given)
    until = "on" if most is None else f"to {most}"
    raise ValueError(f"{what} must be a whole number from {least} {until}; got {given!r}.")
