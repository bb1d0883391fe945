"""Spectrum: the top eigenpairs of a kernel matrix or of features, from a subsample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import gram
from bochner.compute.random.counter_based import Random
from bochner.records import Validated, require_sound
from bochner.spectra.operators import (
    Covariance,
    EigenPairs,
    KernelOperator,
    Operator,
    block_shape,
    krylov,
)

FLOOR = 1e-7  # of the largest eigenvalue: smaller ones are dropped
ACCURACY = 1e-2  # of an eigenvalue: the residual that its pair may have
ORTHOGONALITY = 1e-4
DENSE = 1024  # up to this side a decomposition takes a tenth of a second and is exact
MOST = 0.4  # of all directions: if iteration needs more, a decomposition is faster


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
    if operator.rank <= DENSE or steps * width > MOST * operator.rank:
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
