"""How centres are chosen from rows: at random, as means of clusters, or by pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bochner.compute.pool import single_blas
from bochner.compute.random import Random
from bochner.kernels import Kernel

PIVOTS = 128  # at a time
CLUSTER_PASSES = 20
FLOOR = 1e-6  # of the first trace: what is left of it then is rounding


@dataclass(frozen=True)
class Means:
    """Centres that are no rows."""

    rows: NDArray[Any]


Chosen = NDArray[np.int64] | Means


def uniform(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the places of rows drawn without replacement."""
    return rng.permutation(rows.shape[0])[:size]


def kmeans(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the means of clusters (Lloyd 1982); they are no rows."""
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(1)[0] >> np.uint64(33))
    clusters = MiniBatchKMeans(
        size, max_iter=CLUSTER_PASSES, batch_size=max(1024, size), n_init=1, random_state=seed
    )
    with single_blas():
        return Means(clusters.fit(rows).cluster_centers_)


def pivoted(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the places of rows chosen by randomly pivoted Cholesky, many at a time.

    A row is drawn with probability in proportion to what the centres so far leave of k(x, x)
    (Chen, Epperly, Tropp and Webber 2023, Algorithm 4.1, with blocks of pivots). If nothing is
    left the others are drawn at random.
    """
    n_rows = rows.shape[0]
    left = kernel.diagonal(rows).astype(np.float64)
    total, chosen = left.sum(), np.empty(0, np.int64)
    factor = np.empty((n_rows, size), np.float32)
    while len(chosen) < size and left.sum() > FLOOR * total:
        found = _drawn(left, min(PIVOTS, size - len(chosen)), rng)
        columns = _factored(kernel, rows, factor[:, : len(chosen)], found)
        factor[:, len(chosen) : len(chosen) + len(found)] = columns
        left = np.maximum(left - np.einsum("ij,ij->i", columns, columns, dtype=np.float64), 0.0)
        chosen = np.concatenate([chosen, found])
        left[chosen] = 0.0
    others = np.setdiff1d(rng.permutation(n_rows), chosen, assume_unique=True)
    return np.concatenate([chosen, others[: size - len(chosen)]])


def _drawn(left: NDArray[np.float64], count: int, rng: Random) -> NDArray[np.int64]:
    """Draw row numbers in proportion to `left`, and drop those that came twice."""
    sums = np.cumsum(left)
    return np.unique(np.searchsorted(sums, rng.uniform(count) * sums[-1], side="right"))


def _factored(
    kernel: Kernel, rows: Any, factor: NDArray[np.float32], found: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the columns of the Cholesky factor that belong to new pivots."""
    columns = kernel.matrix(rows, rows[found]).astype(np.float64)
    columns -= factor @ factor[found].T
    block = columns[found]
    block[np.diag_indices_from(block)] += 1e-6 * max(np.trace(block) / len(found), 1e-300)
    with single_blas():
        lower = np.linalg.cholesky(block)
        return np.asarray(solve_triangular(lower, columns.T, lower=True).T)


CHOICES: dict[str, Callable[[Kernel, Any, int, Random], Chosen]] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "pivoted": pivoted,
}
