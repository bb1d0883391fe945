"""Moments: what one pass tells about the columns of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.source import DataSource
from bochner.data.transform import learning_batches


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean, scatter sum((x - mean)^2), minimum and maximum of each column, in float64.

    Parts are merged by the update of Chan, Golub and LeVeque, "Updating formulae and a pairwise
    algorithm for computing sample variances" (1979), which does not cancel:
    scatter = scatter_a + scatter_b + delta^2 count_a count_b / count.
    """

    count: int
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sparse: bool

    @staticmethod
    def of(X: Rows) -> Moments:
        """Return the moments of some rows, at least one."""
        return _of_sparse(X) if sp.issparse(X) else _of_dense(X)

    @staticmethod
    def learn(source: DataSource) -> Moments:
        """Merge the moments of a source's batches, in order."""
        with np.errstate(over="ignore", invalid="ignore"):
            parts = (Moments.of(batch.X) for batch in learning_batches(source) if len(batch) > 0)
            first = next(parts, None)
            if first is None:
                raise ValueError("Learning from a source needs at least one row; it has none.")
            return reduce(Moments.merge, parts, first)

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


def _of_dense(X: Rows) -> Moments:
    mean = X.mean(axis=0, dtype=np.float64)
    rest = X - mean
    # The rounding error of the mean, found by a second look, keeps the scatter exact.
    error = rest.mean(axis=0)
    scatter = np.einsum("ij,ij->j", rest, rest) - len(X) * error**2
    return Moments(
        len(X),
        mean + error,
        np.maximum(scatter, 0.0),
        X.min(axis=0).astype(np.float64),
        X.max(axis=0).astype(np.float64),
        sparse=False,
    )


def _of_sparse(X: Rows) -> Moments:
    """Look at stored entries only; the zeros of a column add zeros * mean^2 to its scatter."""
    n_rows, n_columns = X.shape
    data = X.data.astype(np.float64)
    mean = np.bincount(X.indices, data, n_columns) / n_rows
    zeros = n_rows - np.bincount(X.indices, minlength=n_columns)
    scatter = np.bincount(X.indices, (data - mean[X.indices]) ** 2, n_columns)
    return Moments(
        n_rows,
        mean,
        scatter + zeros * mean**2,
        X.min(axis=0).toarray().ravel().astype(np.float64),
        X.max(axis=0).toarray().ravel().astype(np.float64),
        sparse=True,
    )
