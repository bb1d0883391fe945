"""Posterior: mean and covariance of a function given noisy observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bochner.compute.blas import single_blas
from bochner.compute.random.counter_based import Random

BATCH_ROWS = 4_096  # of a prediction
MOST_ROWS = 5_000  # of a covariance: its memory is their square


class Posterior(ABC):
    """The distribution of f ~ GP(0, k) given y_i = f(x_i) + e_i, e_i ~ N(0, noise / w_i).

    With K = k(X, X) and W = diag(w) its mean is k(x, X) (K + noise W^-1)^-1 y and its covariance
    k(x, x') - k(x, X) (K + noise W^-1)^-1 k(X, x') (Rasmussen and Williams 2006, Gaussian processes
    for machine learning, Eq. 2.23 and 2.24). Outputs are independent, and each may have its own
    noise. All values are in the units of the training targets.
    """

    @abstractmethod
    def mean(self, X: Any) -> NDArray[np.float64]:
        """Return the mean at rows, (rows, outputs)."""

    @abstractmethod
    def variance(self, X: Any) -> NDArray[np.float64]:
        """Return the variance of the function, without noise, at rows, (rows, outputs)."""

    @abstractmethod
    def covariance(self, X: Any) -> NDArray[np.float64]:
        """Return the covariance of the function between rows, (rows, rows, outputs)."""


def require_few(rows: int) -> None:
    """Refuse a covariance between too many rows."""
    if rows > MOST_ROWS:
        raise ValueError(
            f"A covariance is made between at most {MOST_ROWS:,} rows, since its memory is the "
            f"square of their number; got {rows:,}. Give fewer rows at a time, or return_std=True."
        )


def clip_variance(values: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return variances clipped to [0, prior]: approximations may exceed it."""
    return np.clip(values, 0.0, prior[:, None])


def map_batches(function: Callable[[Any], NDArray[np.float64]], X: Any) -> NDArray[np.float64]:
    """Return the values of a function at rows, computed batch by batch."""
    tops = range(0, X.shape[0], BATCH_ROWS)
    return np.concatenate([function(X[top : top + BATCH_ROWS]) for top in tops])


def draw_functions(posterior: Posterior, X: Any, count: int, rng: Random) -> NDArray[np.float64]:
    """Return the values of random functions of the posterior at rows, (rows, outputs, count)."""
    mean, covariance = posterior.mean(X), posterior.covariance(X)
    normal = rng.normal((mean.shape[1], len(mean), count))
    with single_blas():
        parts = [_root(covariance[:, :, j]) @ part for j, part in enumerate(normal)]
    return np.asarray(mean[:, :, None] + np.stack(parts, axis=1))


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R with R R' = covariance; eigenvalues below 0, from rounding, count as 0."""
    values, vectors = eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
