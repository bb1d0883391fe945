"""WhitenedBasis: centre functions, transformed so that |w| is the norm in the kernel's space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import (
    jittered_cholesky,
    lower_gram,
    solve_lower,
    solve_upper,
)
from bochner.compute.linear_algebra.products import add_column_products, add_row_products
from bochner.compute.pool import each_tile, sum_tiles
from bochner.features.basis import Basis, TransformedBasis, WrappedBasis
from bochner.features.centers.center_basis import CenterBasis
from bochner.features.codes.kept_columns import TabulatedBasis, with_kept_columns
from bochner.features.dense_basis import BLOCK, TILE_ROWS, DenseBasis, cuts, padded
from bochner.kernels import Precomputed
from bochner.records import require_sound

FEW_OUTPUTS = 32  # with these, products do not convert values to double precision first
WIDTH = 256  # columns that are converted to double precision at a time: they fit the L2 cache
FLOOR = 1e-7  # ridge of the preconditioner relative to the mean of k(x, x): less takes more steps
# The pivot of the intercept may be as small as rounding.
CORNER, JITTER = 1e-5, 1e-3


@dataclass(init=False, eq=False, repr=False)
class WhitenedBasis(WrappedBasis, TransformedBasis):
    """phi(x) = L^-1 k(Z, x) for centres Z with k(Z, Z) = L L'.

    The function phi(x)'w is k(x, Z) c with c = L^-T w, and |w|^2 = c'k(Z, Z) c is its norm in the
    space of the kernel, which kernel ridge regression penalises; the weights of `CenterBasis` do
    not have it (Rudi, Carratino and Rosasco 2017, FALKON: an optimal large scale kernel method,
    section 3).

    Parameters
    ----------
    inner : CenterBasis or TabulatedBasis
        The functions k(., Z); codes are its codes.
    jitter : float
        Added to the diagonal of k(Z, Z), relative to its mean; more if the Cholesky factor fails.
    """

    size: int
    inner: DenseBasis
    jitter: float

    def __init__(self, inner: DenseBasis, jitter: float) -> None:
        self.inner, self.size, self.jitter = inner, inner.end(None), jitter
        self._clear()

    def _clear(self) -> None:
        self._lower: NDArray[np.float64] | None = None
        self._factor: tuple[Any, NDArray[np.float32]] | None = None

    def validate(self) -> None:
        """Check that the other basis is one of centres, with as many functions."""
        require_sound(self.size == self.inner.size, "its size is not that of its inner basis")
        require_sound(isinstance(self.inner.for_prediction, CenterBasis), "it has no centres")

    @property
    def centers(self) -> CenterBasis:
        """The basis k(., Z) that computes its columns."""
        centers = self.inner.for_prediction
        assert isinstance(centers, CenterBasis)  # `validate` checks it
        return centers

    @property
    def for_prediction(self) -> Basis:
        """The basis k(., Z)."""
        return self.inner.for_prediction

    @property
    def lower(self) -> NDArray[np.float64]:
        """The Cholesky factor L."""
        if self._lower is None:
            self._lower = jittered_cholesky(exact_matrix(self.centers), self.jitter)[0]
        return self._lower

    def evaluate(self, code: Any, weights: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return k(x, Z) L^-T w."""
        whole = np.zeros((self.size, weights.shape[1]))
        whole[start : start + len(weights)] = weights
        whole, out = self.prediction_weights(whole), np.zeros((code.shape[0], weights.shape[1]))
        transposed = np.ascontiguousarray(whole.T)

        def add(top: int, bottom: int) -> None:
            if len(transposed) > FEW_OUTPUTS:
                for begin, end, block in self.tiles(code, top, bottom):
                    out[top:bottom] += (block @ whole[begin:end])[: bottom - top]
                return
            numbers = np.arange(bottom - top)
            for begin, end, matrix, start in self._single(code, top, bottom):
                some = np.ascontiguousarray(transposed[:, begin:end])
                add_row_products(matrix, numbers, start, some, out[top:bottom])

        each_tile(add, len(out), TILE_ROWS)
        return out

    def columns(self, code: Any) -> NDArray[np.float64]:
        """Return L^-1 k(Z, x) of all rows, (rows, size)."""
        return solve_lower(self.lower, self.inner.columns(code).T).T

    def project(
        self, code: Any, G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return L^-1 k(Z, X) G."""
        G, shape = np.asarray(G, np.float64), (self.size, G.shape[1])

        def part(top: int, bottom: int) -> NDArray[np.float64]:
            out = np.zeros(shape)
            if shape[1] > FEW_OUTPUTS:
                values = padded(G, top, bottom)
                for begin, end, block in self.tiles(code, top, bottom):
                    out[begin:end] = block.T @ values
                return out
            values = np.ascontiguousarray(G[top:bottom])
            for begin, end, matrix, start in self._single(code, top, bottom):
                some = np.zeros((shape[1], end - begin))
                add_column_products(matrix, np.arange(len(values)), start, values, some)
                out[begin:end] = some.T
            return out

        total = sum_tiles(part, len(G), TILE_ROWS, shape)
        return solve_lower(self.lower, total)[start : self.end(stop)]

    def _single(
        self, code: Any, top: int, bottom: int
    ) -> Iterator[tuple[int, int, NDArray[Any], int]]:
        """Yield begin, end, and an array with k(x, z_j) of a tile from some column on."""
        tile = padded(code, top, bottom)
        if isinstance(self.inner, TabulatedBasis):
            whole = np.ascontiguousarray(tile)
            yield from ((begin, end, whole, begin) for begin, end in cuts(0, self.size, BLOCK))
            return
        for begin, end, block in self.inner.blocks(tile, 0, self.size):
            yield begin, end, block, 0

    def tiles(
        self, code: Any, top: int, bottom: int
    ) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Yield begin, end and k(x, z_j) of a tile of rows for these j, in double precision.

        Where k(Z, Z) is all but singular the coefficients L^-T w are large and cancel; sums in
        single precision would leave more of the rounding than of the function.
        """
        space = np.empty((TILE_ROWS, WIDTH))
        for first, last, block in self.inner.blocks(padded(code, top, bottom), 0, self.size):
            for begin, end in cuts(first, last, WIDTH):
                part = space[:, : end - begin]
                part[:] = block[:, begin - first : end - first]
                yield begin, end, part

    def squares(self, code: Any, weight: NDArray[Any] | None, total: NDArray[Any]) -> None:
        """Add sum_i weight_i phi_j(x_i)^2; each row takes as long as a product with L."""
        weight = np.ones(code.shape[0]) if weight is None else weight
        for top, bottom in cuts(0, code.shape[0], TILE_ROWS):
            columns = self.columns(code[top:bottom])
            total += np.einsum("ij,ij,i->j", columns, columns, weight[top:bottom])

    def embed_weights(self, weights: NDArray[Any], before: Basis) -> NDArray[Any]:
        """Return the weights of the same function: L'c for weights c of the centres."""
        if isinstance(before, WhitenedBasis) and before.alike(self):
            return weights
        plain = np.asarray(super().embed_weights(weights, before), np.float64)
        lower, out = self.lower, np.empty_like(plain)

        def multiply(top: int, bottom: int) -> None:
            out[top:bottom] = lower[top:, top:bottom].T @ plain[top:]

        each_tile(multiply, self.size, TILE_ROWS)
        return out

    def prediction_weights(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Return L^-T w; zero weights need no factor."""
        if not weights.any():
            return np.zeros(weights.shape)
        return solve_upper(self.lower, weights)

    def with_kept_columns(self, rows: int | None, memory: int) -> WhitenedBasis:
        """Return this basis with stored columns k(x, Z), if they and two factors fit."""
        inner = with_kept_columns(self.inner, rows, memory - 12 * self.size**2)
        if inner is self.inner or not isinstance(inner, DenseBasis):
            return self
        basis = WhitenedBasis(inner, self.jitter)
        basis._lower, basis._factor = self._lower, self._factor
        return basis

    def factor(self, curvature: float, ridge: float, intercept: bool) -> NDArray[np.float32]:
        """Return the Cholesky factor of curvature Phi'Phi / n + ridge I, as if Z were the rows.

        Then Phi'Phi / n = L'L / M for M centres (the same, Eq. 13), and the mean L'1 / M is beside
        it for the intercept, whose row is the last. It only preconditions conjugate gradients,
        which take as many steps as with double precision.
        """
        key = curvature, ridge, intercept
        if self._factor is None or self._factor[0] != key:
            self._factor = None  # free the old one first
            self._factor = key, jittered_cholesky(self._moments(*key), 0.0, JITTER)[0]
        return self._factor[1]

    def clear_cache(self) -> None:
        """Free what can be computed again."""
        self._clear()
        self.inner.clear_cache()

    def alike(self, other: WhitenedBasis) -> bool:
        """Whether another basis has the same functions."""
        if self.jitter != other.jitter or self.centers is other.centers:
            return self.jitter == other.jitter
        mine, others = self.centers.index, other.centers.index
        return mine is not None and others is not None and np.array_equal(mine, others)

    def _moments(self, curvature: float, ridge: float, intercept: bool) -> NDArray[np.float32]:
        size, scale = self.size, curvature / max(self.size, 1)
        out = np.zeros((size + 1, size + 1), np.float32)
        lower_gram(self.lower, out[:size, :size])
        out *= scale
        np.einsum("ii->i", out)[:size] += max(ridge, FLOOR * float(np.trace(out)))
        if intercept:
            out[size, :size] = out[:size, size] = scale * self.lower.sum(axis=0)
        out[size, size] = (1 + CORNER) * curvature
        return out

    def __deepcopy__(self, memo: Any) -> WhitenedBasis:
        return self  # it does not change

    def __getstate__(self) -> dict[str, Any]:
        return {"inner": self.inner, "size": self.size, "jitter": self.jitter}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._clear()


def exact_matrix(basis: CenterBasis, chosen: Any = slice(None)) -> NDArray[np.float64]:
    """Return k between chosen centres in double precision."""
    if isinstance(basis.kernel, Precomputed):
        columns = basis.columns(basis.centers[chosen]).astype(np.float64)
        return np.ascontiguousarray(columns[:, chosen])
    rows = basis.centers[chosen].astype(np.float64)
    return np.asarray(basis.kernel.matrix(rows, rows), np.float64)
