"""Angular: kernels of the lengths of two rows and of the angle between them."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp

from bochner.kernels.against import Against
from bochner.kernels.distances import squared_norms
from bochner.kernels.inner_product import InnerProduct
from bochner.kernels.power_series import fill_products
from bochner.kernels.rows import Array, Rows, alike, checked_rows, tiles

# Cosines within this many roundings of 1 or -1 are computed again, from a - b or a + b: the angle
# is a root of what is left of them.
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
        """Return the values at rows of length 1, of so many columns, with these cosines."""

    def against(self, B: Rows) -> Against:
        """Return k(., B) with lengths and directions prepared."""
        return AngularAgainst(self, B)

    def diagonal(self, A: Rows) -> Array:
        """Return |a|^(2 power) profile(1)."""
        A = checked_rows(A)
        peak = self.profile(np.ones(1, A.dtype), A.shape[1])
        return peak * heights(lengths(A), self.power) ** 2


class AngularAgainst(Against):
    """The values with rows `B`, whose directions are known."""

    def __init__(self, kernel: Angular, B: Rows) -> None:
        self.kernel, right = kernel, lengths(B)
        self.directions, self.heights = directions(B), heights(right, kernel.power)

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write cosines and replace them by values."""
        A = alike(A, self.directions)
        fill_cosines(directions(A), self.directions[start:stop], out)
        values = self.kernel.profile(out, A.shape[1])
        np.multiply(values, heights(lengths(A), self.kernel.power)[:, None], out=out)
        out *= self.heights[start:stop]


def lengths(X: Rows) -> Array:
    """Return |x| of each row."""
    return np.sqrt(squared_norms(X))


def heights(lengths: Array, power: int) -> Array:
    """Return the power of lengths, and 0 for a row of zeros also where the power is 0."""
    return np.where(lengths > 0, lengths**power, 0).astype(lengths.dtype, copy=False)


def directions(X: Rows) -> Rows:
    """Return the rows divided by their lengths; a row of zeros stays one."""
    known = lengths(X)
    return _times(X, np.divide(1, known, out=np.zeros_like(known), where=known > 0))


def fill_cosines(A: Rows, B: Rows, out: Array) -> None:
    """Write the cosines of the angles between rows of length 1, exact for rows of one line."""
    fill_products(A, B, out)
    near = np.flatnonzero(np.abs(out) > 1 - ROUNDINGS * np.finfo(out.dtype).eps)
    for pairs in tiles(len(near), 4096):
        a, b = np.divmod(near[pairs], out.shape[1])
        side = np.sign(out[a, b])
        out[a, b] = side * (1 - squared_norms(A[a] - _times(B[b], side)) / 2)


def _times(X: Rows, factors: Array) -> Rows:
    """Return the rows times a number for each of them."""
    return X.multiply(factors[:, None]).tocsr() if sp.issparse(X) else X * factors[:, None]
