"""Spectrum: the top eigenpairs of a kernel matrix or of features, from a subsample of rows."""

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
from bochner.records import Validated, require_sound

LEAST_LENGTH = 100  # rounding errors: a shorter column has no direction
# Blocks of an eighth of the requested pairs, and 3 columns for each pair plus 48, leave residuals
# below a hundredth of the eigenvalues on kernel matrices of many kinds.
SHARE, NARROWEST = 8, 16
PER_PAIR, MORE = 3, 48
FLOOR = 1e-7  # of the largest eigenvalue: smaller ones are dropped
ACCURACY = 1e-2  # of an eigenvalue: the residual that its pair may have
ORTHOGONALITY = 1e-4
DENSE = 1024  # up to this side a decomposition takes a tenth of a second and is exact
MOST_ITERATED = 0.4  # of all directions: if iteration needs more, a decomposition is faster


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
    least = LEAST_LENGTH * np.finfo(block.dtype).eps * np.linalg.norm(block, axis=0)
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


@dataclass(frozen=True, eq=False)
class Spectrum(Validated):
    """The top eigenpairs of a positive semi-definite matrix: A e_i = lambda_i e_i.

    Eigenvalues of at most 1e-7 times the largest one are dropped.

    Parameters
    ----------
    values : array of shape (k,)
        lambda_1 >= ... >= lambda_k > 0, in float64.
    vectors : array of shape (side of A, k)
        e_1, ..., e_k, orthonormal, in the dtype of the given matrix.
    size : int
        The number of rows of the subsample that A was made from.
    tail : float
        lambda_{k+1}, the next eigenvalue, or 0 if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.compute.random.counter_based import Random
    >>> from bochner.spectra import eigenpairs
    >>> spectrum = eigenpairs(np.diag([8.0, 4.0, 2.0, 1.0]), 2, Random(0))
    >>> spectrum.values, spectrum.tail
    (array([2., 1.]), 0.5)
    """

    values: NDArray[np.float64]
    vectors: NDArray[Any]
    size: int
    tail: float

    def validate(self) -> None:
        """Check that each value has a vector."""
        sound = self.vectors.ndim == 2 and self.values.ndim == 1
        require_sound(sound, "its vectors are no matrix, or its values no list")
        require_sound(
            self.vectors.shape[1] == len(self.values), "values and vectors differ in number"
        )

    def __len__(self) -> int:
        return len(self.values)

    def first(self, count: int) -> Spectrum:
        """Return the largest `count` pairs; the tail is then the first eigenvalue left out."""
        if count >= len(self):
            return self
        tail = float(self.values[count])
        return Spectrum(self.values[:count], self.vectors[:, :count], self.size, tail)


def eigenpairs(matrix: NDArray[Any], count: int, rng: Random) -> Spectrum:
    """Return the top `count` eigenpairs of K / s for a kernel matrix K, (s, s).

    Small matrices have a dense decomposition, large ones block Krylov iteration from a random
    start, in the dtype of the matrix. If that is not accurate enough, as float32 may be for
    eigenvalues that fall steeply, it is repeated in float64.
    """
    matrix = _checked(matrix, count)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"A kernel matrix has as many columns as rows; got the shape {matrix.shape}. For "
            "features take singular(Phi, count, rng)."
        )
    return _spectrum(KernelOperator(matrix), count, rng)


def singular(
    Phi: NDArray[Any], count: int, rng: Random
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the top `count` eigenvalues and eigenvectors of Phi'Phi / s for features Phi, (s, d).

    The vectors, (d, count), are the right singular vectors of Phi, and lambda_i = sv_i^2 / s (Ma
    and Belkin 2017, Table 1, where its sqrt(n / M) sv_i is a misprint). Columns are not centred.
    There are fewer if eigenvalues are below the floor.
    """
    spectrum = _spectrum(Covariance(_checked(Phi, count)), count, rng)
    return spectrum.values, spectrum.vectors


def _spectrum(operator: Operator, count: int, rng: Random) -> Spectrum:
    wanted = min(count + 1, operator.rank)  # one more, for the tail
    with np.errstate(over="ignore", invalid="ignore"):
        pairs = _pairs(operator, wanted, rng, effort=1)
        if not is_accurate(pairs):
            pairs = _pairs(operator.in_double(), wanted, rng, effort=2)
    if not np.isfinite(pairs.values).all():
        raise ValueError(
            "Eigenpairs need numbers whose squares can be added; the largest is "
            f"{np.abs(operator.array).max():.1e}. Scale the columns first."
        )
    return _above_floor(pairs, count, operator)


def _pairs(operator: Operator, count: int, rng: Random, effort: int) -> EigenPairs:
    """Return the top pairs, by iteration if that is less work than a decomposition."""
    width, steps = block_shape(count, effort)
    if operator.rank <= DENSE or steps * width > MOST_ITERATED * operator.rank:
        return operator.exact(count)
    return krylov(operator, (width, steps), count, rng)


def is_accurate(pairs: EigenPairs) -> bool:
    """Whether pairs are finite and orthonormal and solve A e = lambda e.

    An eigenvalue that is negative by rounding has a residual of its own size.
    """
    values, vectors, images = pairs
    if not (np.isfinite(values).all() and np.isfinite(images).all()):
        return False
    scale = ACCURACY * np.maximum(values, FLOOR * values[0])
    residual = np.linalg.norm(images - vectors * values, axis=0)
    overlap = np.abs(gram(vectors) - np.eye(len(values))).max()
    return bool((residual <= scale).all() and overlap < ORTHOGONALITY)


def _above_floor(pairs: EigenPairs, count: int, operator: Operator) -> Spectrum:
    above = int(np.count_nonzero(pairs.values > FLOOR * pairs.values[0]))
    top = pairs.first(min(count, above))
    others = pairs.values[len(top.values) :]
    tail = max(float(others[0]), 0.0) if len(others) else 0.0
    vectors = np.ascontiguousarray(top.vectors, dtype=operator.dtype)
    return Spectrum(top.values, vectors, len(operator.array), tail)


def _checked(given: Any, count: int) -> NDArray[Any]:
    matrix: NDArray[Any] = np.asarray(given)
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64, copy=False)
    if matrix.ndim != 2 or matrix.size == 0 or count < 1:
        raise ValueError(
            "Eigenpairs need a matrix with rows and columns and a number of pairs from 1 on; got "
            f"the shape {matrix.shape} and {count!r} pairs."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(
            "Eigenpairs need finite numbers; the matrix has NaN or infinity in it. Check the rows "
            "that it was made from."
        )
    return matrix
