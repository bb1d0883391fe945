"""PrincipalComponents: rows projected on the leading eigenvectors of X'X."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.source import DataSource
from bochner.data.transforms.transform import (
    Transform,
    TransformedSource,
    floating,
    learning_batches,
    mapped,
    require_finite,
)


@dataclass(eq=False)
class PrincipalComponents(Transform):
    """Rows X V, where the columns of V are the leading eigenvectors of X'X, uncentred.

    Dai et al., "Scalable kernel methods via doubly stochastic gradients" (2014), section 7.3,
    reduce image features from 2,304 to 256 columns by PCA without centring before learning.

    Parameters
    ----------
    components : array of shape (n_columns, n_components)
        V, orthonormal, largest eigenvalue first; usually learned by `PrincipalComponents.learn`.

    Examples
    --------
    >>> from bochner.data import ArraySource
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> PrincipalComponents.learn(ArraySource(X), 1).rows(X)
    array([[2.], [0.]])
    """

    components: NDArray[np.float64]

    @classmethod
    def learn(cls, source: DataSource, n_components: int) -> PrincipalComponents:
        """Learn V from X'X, summed in float64 in one pass (from the sample if it is read once).

        Parameters
        ----------
        source : DataSource
            Weights are ignored. Needs memory for n_columns^2 numbers.
        n_components : int
            The number of components, at most n_columns.
        """
        n_columns = source.n_columns
        if not 1 <= n_components <= n_columns:
            raise ValueError(
                f"n_components must be between 1 and the number of columns, {n_columns}; "
                f"got {n_components}."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            gram = sum(
                (_gram(batch.X) for batch in learning_batches(source)),
                start=np.zeros((n_columns, n_columns)),
            )
        require_finite(np.diagonal(gram))
        return cls(_leading_eigenvectors(gram, n_components))

    def rows(self, X: Rows) -> NDArray[np.floating]:
        """Return X V, which is dense for sparse rows, too."""
        dtype = floating(X.dtype)
        return np.asarray(X.astype(dtype, copy=False) @ self.components.astype(dtype))


def _gram(X: Rows) -> NDArray[np.float64]:
    X = X.astype(np.float64, copy=False)
    product = X.T @ X
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def _leading_eigenvectors(gram: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return eigenvectors, largest eigenvalue first, with positive largest entries."""
    columns = len(gram)
    _, vectors = scipy.linalg.eigh(gram, subset_by_index=[columns - size, columns - 1])
    vectors = vectors[:, ::-1]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return np.ascontiguousarray(vectors * np.sign(largest))


def principal_components(source: DataSource, n_components: int) -> TransformedSource:
    """Return the source in its leading principal components; see `PrincipalComponents.learn`.

    >>> from bochner.data import ArraySource
    >>> principal_components(ArraySource(np.eye(5)), 2).n_columns
    2
    """
    return mapped(source, PrincipalComponents.learn(source, n_components))
