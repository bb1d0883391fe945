"""Scaling of columns to a common range or variance, and of rows to unit norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Batch, Rows
from bochner.data.source import DataSource
from bochner.data.transforms.transform import (
    Transform,
    TransformedSource,
    floating,
    learning_batches,
    mapped,
    require_finite,
)
from bochner.records import Validated, require_sound
from bochner.validation import require_one_of


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean, scatter sum((x - mean)^2), minimum and maximum of each column, in float64.

    For rows with weights, the count is their weight, and mean and scatter are weighted.

    Parts are merged by the update of Chan, Golub and LeVeque, "Updating formulae and a pairwise
    algorithm for computing sample variances" (1979), which avoids cancellation:
    scatter = scatter_a + scatter_b + delta^2 count_a count_b / count.
    """

    count: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sparse: bool

    @staticmethod
    def of(X: Rows, weight: NDArray[np.float64] | None = None) -> Moments:
        """Return the moments of at least one row, of positive weight."""
        return _of_sparse(X, weight) if sp.issparse(X) else _of_dense(X, weight)

    @staticmethod
    def learn(source: DataSource) -> Moments:
        """Merge the moments of a source's batches, in order."""
        sums = MomentSums()
        for batch in learning_batches(source):
            sums.add(batch)
        return sums.total()

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the rows of both."""
        count = self.count + other.count
        delta = other.mean - self.mean
        return Moments(
            count,
            self.mean + delta * (other.count / count),
            self.scatter + other.scatter + delta**2 * (self.count * other.count / count),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.sparse,
        )

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The standard deviation of each column, exactly 0 where the column is constant."""
        return np.where(self.low == self.high, 0.0, np.sqrt(self.scatter / self.count))


class MomentSums:
    """Merges the moments of batches, in the order in which they come."""

    def __init__(self) -> None:
        self._total: Moments | None = None

    def add(self, batch: Batch) -> None:
        """Merge the moments of a batch."""
        if batch.weight is not None:
            batch = batch[batch.weight > 0]
        if len(batch) == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            new = Moments.of(batch.X, batch.weight)
            self._total = new if self._total is None else self._total.merge(new)

    def total(self) -> Moments:
        """Return the moments of all rows so far."""
        if self._total is None:
            raise ValueError("Learning from a source needs at least one row; it has none.")
        return self._total


def _of_dense(X: Rows, weight: NDArray[np.float64] | None) -> Moments:
    count = len(X) if weight is None else float(weight.sum())
    mean = weighted_mean(X, weight)
    rest = X - mean
    # The mean of the residuals is the rounding error of the mean; it corrects the scatter.
    error = weighted_mean(rest, weight)
    heavy = rest if weight is None else weight[:, None] * rest
    scatter = np.einsum("ij,ij->j", heavy, rest) - count * error**2
    return Moments(
        count,
        mean + error,
        np.maximum(scatter, 0.0),
        X.min(axis=0).astype(np.float64),
        X.max(axis=0).astype(np.float64),
        sparse=False,
    )


def weighted_mean(X: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the mean of dense rows in double precision, weighted if there are weights."""
    if weight is None:
        return np.asarray(np.mean(X, axis=0, dtype=np.float64))
    return np.asarray(weight @ X / weight.sum())


def _of_sparse(X: Rows, weight: NDArray[np.float64] | None) -> Moments:
    """Use the stored entries only; the zeros of a column add zeros * mean^2 to its scatter."""
    n_rows, n_columns = X.shape
    data = X.data.astype(np.float64)
    each = None if weight is None else np.repeat(weight, np.diff(X.indptr))
    count = n_rows if weight is None else float(weight.sum())
    mean = np.bincount(X.indices, data if each is None else each * data, n_columns) / count
    zeros = count - np.bincount(X.indices, each, minlength=n_columns)
    squares = (data - mean[X.indices]) ** 2
    scatter = np.bincount(X.indices, squares if each is None else each * squares, n_columns)
    return Moments(
        count,
        mean,
        scatter + zeros * mean**2,
        X.min(axis=0).toarray().ravel().astype(np.float64),
        X.max(axis=0).toarray().ravel().astype(np.float64),
        sparse=True,
    )


Mode = Literal["standard", "range"]


# A narrower column counts as constant: its factor would overflow in float32.
NARROWEST = float(np.finfo(np.float32).tiny)


@dataclass(eq=False)
class Scaling(Transform, Validated):
    """Columns (x - location) * factor.

    Parameters
    ----------
    location, factor : arrays of n_columns numbers
        Usually learned by `Scaling.learn`.

    Examples
    --------
    >>> from bochner.data import ArraySource
    >>> scaling = Scaling.learn(ArraySource(np.array([[0.0], [5.0], [10.0]])), "range")
    >>> scaling.rows(np.array([[2.5]]))
    array([[0.25]])
    """

    location: NDArray[np.float64]
    factor: NDArray[np.float64]

    def validate(self) -> None:
        """Check that each column has a location and a factor."""
        require_sound(self.location.ndim == 1, "its location is not 1-d")
        same = self.location.shape == self.factor.shape
        require_sound(same, "location and factor differ in length")

    @classmethod
    def learn(cls, source: DataSource, mode: Mode = "standard") -> Scaling:
        """Learn the scaling in one pass over the source, or from its sample if it is read once.

        Parameters
        ----------
        source : DataSource
            Weights of rows count, those of 0 are left out.
        mode : "standard" or "range"
            "standard": mean 0 and standard deviation 1; sparse rows are divided by the standard
            deviation but not centred. "range": training rows lie in [0, 1]; sparse rows are
            divided by the largest absolute value, so they lie in [-1, 1]. Zeros of sparse rows
            stay zeros. Constant columns have factor 1.
        """
        require_one_of("mode", mode, tuple(MODES))
        return cls.of(Moments.learn(source), mode)

    @classmethod
    def of(cls, moments: Moments, mode: Mode) -> Scaling:
        """Return the scaling of columns with these moments."""
        with np.errstate(over="ignore", invalid="ignore"):
            location, width = MODES[mode](moments)
        require_finite(width)
        narrow = width < NARROWEST
        return cls(location, 1.0 / np.where(narrow, 1.0, width))

    def without(self, columns: tuple[int, ...]) -> Scaling:
        """Return the scaling that does not change these columns."""
        location, factor = self.location.copy(), self.factor.copy()
        location[list(columns)], factor[list(columns)] = 0.0, 1.0
        return Scaling(location, factor)

    def rows(self, X: Rows) -> Rows:
        """Scale rows; sparse rows stay sparse and need a location of zeros."""
        dtype = floating(X.dtype)
        if sp.issparse(X):
            return self._sparse_rows(X.astype(dtype, copy=True))
        scaled = np.subtract(X, self.location.astype(dtype), dtype=dtype)
        scaled *= self.factor.astype(dtype)
        return scaled

    def _sparse_rows(self, X: Rows) -> Rows:
        if self.location.any():
            raise ValueError(
                "Sparse rows cannot be shifted without filling in zeros, but this scaling was "
                "learned from dense rows. Learn it from sparse rows, or give X.toarray()."
            )
        X.data *= self.factor.astype(X.dtype)[X.indices]
        return X


Summary = tuple[NDArray[np.float64], NDArray[np.float64]]


def _standard(moments: Moments) -> Summary:
    location = np.zeros_like(moments.mean) if moments.sparse else moments.mean
    # A column that is not finite must not count as constant.
    return location, moments.deviation + 0.0 * moments.scatter


def _range(moments: Moments) -> Summary:
    if moments.sparse:
        return np.zeros_like(moments.low), np.maximum(np.abs(moments.low), np.abs(moments.high))
    return moments.low, moments.high - moments.low


MODES: dict[str, Callable[[Moments], Summary]] = {"standard": _standard, "range": _range}


def scaled(source: DataSource, mode: Mode = "standard") -> TransformedSource:
    """Return the source with its columns scaled, as learned from it; see `Scaling.learn`.

    >>> from bochner.data import ArraySource
    >>> next(scaled(ArraySource(np.array([[1.0], [3.0]]))).batches(2)).X
    array([[-1.], [ 1.]])
    """
    return mapped(source, Scaling.learn(source, mode))


Norm = Literal["l2", "l1", "max"]


@dataclass(eq=False)
class RowNormalization(Transform, name="row_normalization"):
    """Rows x / ||x||; rows of zeros stay zeros, sparse rows stay sparse.

    Parameters
    ----------
    norm : "l2", "l1" or "max"
        The Euclidean norm, the sum or the largest of the absolute values.

    Examples
    --------
    >>> RowNormalization("l1").rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75], [0.  , 0.  ]])
    """

    norm: Norm = "l2"

    def rows(self, X: Rows) -> Rows:
        """Divide each row by its norm, which is summed in float64."""
        require_one_of("norm", self.norm, tuple(NORMS))
        X = X.astype(floating(X.dtype), copy=False)
        norms = NORMS[self.norm](X)
        norms[norms == 0.0] = 1.0
        return _divided(X, norms.astype(X.dtype))


def _divided(X: Rows, norms: NDArray[Any]) -> Rows:
    if not sp.issparse(X):
        return X / norms[:, None]
    X = X.copy()
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def _l2(X: Rows) -> NDArray[np.float64]:
    if sp.issparse(X):
        return np.sqrt(_sums(X, X.data.astype(np.float64) ** 2))
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.sqrt(squares)


def _l1(X: Rows) -> NDArray[np.float64]:
    if sp.issparse(X):
        return _sums(X, np.abs(X.data.astype(np.float64)))
    return np.asarray(np.abs(X).sum(axis=1, dtype=np.float64))


def _max(X: Rows) -> NDArray[np.float64]:
    largest = abs(X).max(axis=1).toarray() if sp.issparse(X) else np.abs(X).max(axis=1)
    return np.asarray(largest, dtype=np.float64).ravel()


def _sums(X: Rows, data: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(rows, data, X.shape[0]), dtype=np.float64)


NORMS: dict[str, Callable[[Rows], NDArray[np.float64]]] = {"l2": _l2, "l1": _l1, "max": _max}


def row_normalized(source: DataSource, norm: Norm = "l2") -> TransformedSource:
    """Return the source with each row divided by its norm; see `RowNormalization`.

    >>> from bochner.data import ArraySource
    >>> next(row_normalized(ArraySource(np.array([[3.0, 4.0]]))).batches(1)).X
    array([[0.6, 0.8]])
    """
    return mapped(source, RowNormalization(norm))
