"""Eigenfunctions: the top of the spectrum of the data's covariance, found from a subsample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import gram, product
from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import CenterBasis, DenseBasis
from bochner.solvers.preconditioner import Flattening
from bochner.spectra import eigenpairs, singular

HEAVIEST_ROWS = 64
JUDGED_ROWS = 2048  # at which the eigenfunctions are evaluated, to see what they leave


@dataclass(frozen=True)
class Eigenfunctions:
    """Eigenvalues of H = mean of w_x phi(x) phi(x)', and what represents the eigenvectors.

    `vectors` are their weights: of kernel functions at the subsample times sqrt(s lambda_i), or of
    the features. Other rows judge them: `at_rows` are sqrt(w_x) e_i(x) there, and `matrix` is
    sqrt(w_x w_z) k(x, z), w_x being the weight of a row relative to the mean weight.
    """

    values: NDArray[np.float64]
    vectors: NDArray[Any]
    at_rows: NDArray[np.float64]
    matrix: NDArray[Any]

    def above(self, floor: float) -> Eigenfunctions:
        """Return those whose eigenvalue is at least this share of the largest one."""
        count = max(1, int(np.count_nonzero(self.values >= floor * self.values[0])))
        return replace(
            self,
            values=self.values[:count],
            vectors=self.vectors[:, :count],
            at_rows=self.at_rows[:, :count],
        )

    def beta(self, flat: Flattening) -> float:
        """Return the largest w_x k_P(x, x) = w_x (k(x, x) - sum_i shrink_i e_i(x)^2)."""
        return float(np.max(self._diagonal(flat), initial=np.finfo(np.float32).tiny))

    def top(self, flat: Flattening) -> float:
        """Return the largest eigenvalue of P H that the rows see, or that is promised.

        Eigenvectors of a subsample leave more of the top than their eigenvalues say. In n rows a
        spectrum of trace t looks higher than it is, by t / n.
        """
        some = self.at_rows[:, : len(flat.shrink)]
        matrix = self.matrix - product(some * flat.shrink, some.T)
        highest = float(eigenpairs(matrix, 1, Random(0)).values[0])
        return max(flat.top, highest - float(self._diagonal(flat).mean()) / len(matrix))

    def _diagonal(self, flat: Flattening) -> NDArray[np.float64]:
        some = self.at_rows[:, : len(flat.shrink)]
        return np.asarray(np.diagonal(self.matrix) - some**2 @ flat.shrink)


def of_centers(
    basis: CenterBasis, sample: Batch, size: int, count: int, rng: Random
) -> Eigenfunctions:
    """Return the eigenfunctions on the first `size` centres."""
    roots = np.sqrt(center_weights(basis, sample, size))
    matrix = basis.columns(basis.centers[:size], 0, size) * np.outer(roots, roots)
    spectrum = eigenpairs(matrix.astype(basis.dtype), count + 1, rng)
    vectors = roots[:, None] * spectrum.vectors
    judged, weights = _judged(sample)
    roots = np.sqrt(weights)
    values = product(basis.columns(basis.encode(judged.X), 0, size), vectors)
    at_rows = roots[:, None] * values / np.sqrt(size * spectrum.values)
    matrix = basis.pairs(judged) * np.outer(roots, roots)
    return Eigenfunctions(spectrum.values, vectors, at_rows, matrix)


def of_features(
    basis: DenseBasis, sample: Batch, size: int, count: int, rng: Random
) -> Eigenfunctions:
    """Return the eigenvectors of the features' covariance on `size` rows of the sample."""
    places = _spread(len(sample), size)
    roots = np.sqrt(relative_weights(sample)[places]).astype(np.float32)
    columns = basis.columns(basis.coded(sample[places])) * roots[:, None]
    values, vectors = singular(columns, count + 1, rng)
    judged, weights = _judged(sample)
    roots = np.sqrt(weights).astype(np.float32)
    columns = basis.columns(basis.coded(judged)) * roots[:, None]
    return Eigenfunctions(values, vectors, product(columns, vectors), gram(columns.T))


def relative_weights(batch: Batch) -> NDArray[np.float64]:
    """Return the weights of rows, of mean 1."""
    if batch.weight is None or not batch.weight.any():
        return np.ones(len(batch))
    return np.asarray(batch.weight / batch.weight.mean())


def center_weights(basis: CenterBasis, sample: Batch, size: int) -> NDArray[np.float64]:
    """Return the relative weights of the first centres, 1 for those that the sample has not."""
    weights = np.ones(basis.size)
    numbers = basis.numbers(sample.index)
    weights[numbers[numbers >= 0]] = relative_weights(sample)[numbers >= 0]
    return weights[:size]


def _judged(sample: Batch) -> tuple[Batch, NDArray[np.float64]]:
    """Return some rows, the heaviest among them, and their weights relative to the sample's mean.

    A row that is heavier than those by which the step was chosen would make it diverge.
    """
    weights = relative_weights(sample)
    places = _spread(len(sample), JUDGED_ROWS)
    if sample.weight is not None:
        places = np.union1d(places, np.argsort(weights, kind="stable")[-HEAVIEST_ROWS:])
    return sample[places], weights[places]


def _spread(rows: int, size: int) -> NDArray[np.int64]:
    """Return at most `size` row numbers, evenly spread."""
    return np.unique(np.linspace(0, rows - 1, min(size, rows)).astype(np.int64))
