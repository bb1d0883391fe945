"""Operators: symmetric matrices whose top eigenpairs are wanted, known by their products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.products import gram, product, transposed_product


class Pairs(NamedTuple):
    """Eigenvalues in descending order, eigenvectors in columns, and their images."""

    values: NDArray[np.float64]
    vectors: NDArray[Any]
    images: NDArray[np.float64]

    def first(self, count: int) -> Pairs:
        """Return the largest `count` of them."""
        return Pairs(self.values[:count], self.vectors[:, :count], self.images[:, :count])


@dataclass(frozen=True, eq=False)
class Operator(ABC):
    """A positive semi-definite matrix made from an array, in whose precision it is applied."""

    array: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products."""
        return self.array.dtype

    @property
    def side(self) -> int:
        """The number of its columns."""
        return int(self.array.shape[1])

    @property
    def rank(self) -> int:
        """The largest rank that it can have."""
        return int(min(self.array.shape))

    def in_double(self) -> Self:
        """Return the same operator in float64."""
        return type(self)(self.array.astype(np.float64, copy=False))

    def exact(self, count: int) -> Pairs:
        """Return the largest pairs by the decomposition of a dense matrix."""
        values, vectors = self.decomposed(count)
        return Pairs(values, vectors, self(vectors))

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
        """Return eigenpairs by way of Phi'Phi or Phi Phi', whichever is smaller."""
        rows, columns = self.array.shape
        if columns <= rows:
            values, vectors = top_pairs(gram(self.array), count)
            return values / rows, vectors
        values, left = top_pairs(gram(self.array.T), count)
        return values / rows, orthonormal(transposed_product(self.array, left.astype(self.dtype)))


def top_pairs(matrix: NDArray[Any], count: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the largest eigenpairs of a dense matrix; NaN if it is not finite.

    LAPACK works on one thread: on several its last bits depend on their number.
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
