"""Symmetric operators, defined by their products, and iterations for their top eigenpairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.products import gram, product, transposed_product
from bochner.compute.random.counter_based import Random

LEAST = 100  # rounding errors: a shorter column has no direction


class EigenPairs(NamedTuple):
    """Eigenvalues in descending order, eigenvectors in columns, and the operator times those."""

    values: NDArray[np.float64]
    vectors: NDArray[Any]
    images: NDArray[np.float64]

    def first(self, count: int) -> EigenPairs:
        """Return the largest `count` of them."""
        return EigenPairs(self.values[:count], self.vectors[:, :count], self.images[:, :count])


@dataclass(frozen=True, eq=False)
class Operator(ABC):
    """A positive semi-definite operator made from an array, applied in its precision."""

    array: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products."""
        return self.array.dtype

    @property
    def side(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    @property
    def rank(self) -> int:
        """An upper bound of the rank."""
        return int(min(self.array.shape))

    def in_double(self) -> Self:
        """Return the same operator in float64."""
        return type(self)(self.array.astype(np.float64, copy=False))

    def exact(self, count: int) -> EigenPairs:
        """Return the largest pairs by the decomposition of a dense matrix."""
        values, vectors = self.decomposed(count)
        return EigenPairs(values, vectors, self(vectors))

    @abstractmethod
    def __call__(self, V: NDArray[Any]) -> NDArray[np.float64]:
        """Return the product with the columns of V."""

    @abstractmethod
    def decomposed(self, count: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the largest eigenvalues, in descending order, and their eigenvectors."""


class KernelOperator(Operator):
    """K / s of a kernel matrix K, (s, s)."""

    def __call__(self, V: NDArray[Any]) -> NDArray[np.float64]:
        """Return K V / s."""
        return product(self.array, V.astype(self.dtype, copy=False)) / self.side

    def decomposed(self, count: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return eigenpairs of K / s."""
        values, vectors = top_pairs(self.array, count)
        return values / self.side, vectors


class Covariance(Operator):
    """Phi'Phi / s of features Phi, (s, d), without centring."""

    def __call__(self, V: NDArray[Any]) -> NDArray[np.float64]:
        """Return Phi'(Phi V) / s."""
        at_rows = product(self.array, V.astype(self.dtype, copy=False))
        return transposed_product(self.array, at_rows.astype(self.dtype)) / len(self.array)

    def decomposed(self, count: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return eigenpairs computed from Phi'Phi or Phi Phi', whichever is smaller."""
        rows, columns = self.array.shape
        if columns <= rows:
            values, vectors = top_pairs(gram(self.array), count)
            return values / rows, vectors
        values, left = top_pairs(gram(self.array.T), count)
        return values / rows, orthonormal(transposed_product(self.array, left.astype(self.dtype)))


def top_pairs(matrix: NDArray[Any], count: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the largest eigenpairs of a dense matrix; NaN if it is not finite.

    LAPACK runs on one thread, since its last bits depend on the number of threads.
    """
    if not np.isfinite(matrix).all():
        return np.full(count, np.nan), np.full((len(matrix), count), np.nan)
    span = (len(matrix) - count, len(matrix) - 1)
    with single_blas():
        values, vectors = eigh(matrix, subset_by_index=span, check_finite=False)
    return values[::-1].astype(np.float64), np.ascontiguousarray(vectors[:, ::-1])


def factors(A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Q with orthonormal columns and the triangular R of A = Q R, for a tall A."""
    with single_blas():
        return qr(A, mode="economic", check_finite=False)  # type: ignore[no-any-return]


def orthonormal(A: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis whose first columns span the first columns of a tall A."""
    return factors(A)[0]


# Blocks of an eighth of the requested pairs, and 3 columns for each pair plus 48, leave residuals
# below a hundredth of the eigenvalues on kernel matrices of many kinds.
SHARE, NARROWEST = 8, 16
PER_PAIR, MORE = 3, 48


def krylov(operator: Operator, shape: tuple[int, int], count: int, rng: Random) -> EigenPairs:
    """Return approximate top eigenpairs of an operator A by block Krylov iteration.

    They are the best ones in the span of B, A B, ..., A^(steps - 1) B, where B is a random block
    and shape = (its width, steps) (Musco and Musco 2015, Randomized block Krylov methods for
    stronger and faster approximate singular value decomposition, Algorithm 2). Randomised range
    finding (Halko, Martinsson and Tropp 2011, Algorithm 4.4) uses the last block alone, which is
    then as wide as the number of pairs; using all of several narrow blocks is much more accurate
    with as many columns, also if eigenvalues are close to each other.
    """
    b, steps = shape
    Q = np.empty((operator.side, steps * b), operator.dtype)
    images = np.empty(Q.shape)
    Q[:, :b] = orthonormal(rng.normal((operator.side, b)).astype(operator.dtype))
    for end in range(b, steps * b, b):
        images[:, end - b : end] = operator(Q[:, end - b : end])
        Q[:, end : end + b] = _beyond(Q[:, :end], images[:, end - b : end], rng)
    images[:, -b:] = operator(Q[:, -b:])
    return _ritz(Q, images, count)


def block_shape(count: int, effort: int = 1) -> tuple[int, int]:
    """Return the width of the block and the number of steps for `count` pairs."""
    width = max(-(-count // SHARE), NARROWEST)
    return width, -(-effort * (PER_PAIR * count + MORE) // width)


def _beyond(known: NDArray[Any], image: NDArray[Any], rng: Random) -> NDArray[Any]:
    """Return an orthonormal basis of the part of an image that is orthogonal to known directions.

    The projection is repeated, since rounding errors of the first leave it not quite orthogonal.
    Random columns replace those of which only rounding errors are left, once the rank is reached.
    """
    block = image.astype(known.dtype)
    least = LEAST * np.finfo(block.dtype).eps * np.linalg.norm(block, axis=0)
    block, R = factors(_without(known, block))
    empty = np.abs(np.diagonal(R)) <= least
    if empty.any():
        block[:, empty] = rng.normal((len(block), int(empty.sum())))
    return orthonormal(_without(known, block))


def _without(known: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
    """Return the part of a block that is orthogonal to the known directions."""
    shares = transposed_product(known, block).astype(known.dtype)
    return (block - product(known, shares)).astype(known.dtype)


def _ritz(Q: NDArray[Any], image: NDArray[np.float64], count: int) -> EigenPairs:
    """Return the Rayleigh-Ritz pairs of an operator in the span of orthonormal columns Q."""
    T = transposed_product(Q.astype(np.float64, copy=False), image)
    values, U = top_pairs((T + T.T) / 2, count)
    vectors = product(Q, U.astype(Q.dtype)).astype(Q.dtype)
    return EigenPairs(values, vectors, product(image, U))
