"""How centres are chosen from rows: at random, as means of clusters, or by pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.cholesky import jittered_cholesky
from bochner.compute.linear_algebra.products import product
from bochner.compute.random.counter_based import Random
from bochner.kernels import Kernel
from bochner.kernels.rows import dense

PIVOTS = 128  # proposed at a time
SMALLEST = 1e-4  # residual share of k(x, x): less may be rounding
CLUSTER_PASSES = 20
FLOOR = 1e-6  # residual share of the trace: less is rounding
ROUNDING = 1e-7  # of kernel values, relative to k(x, x)
JITTER = 1e-6  # of the factor of new pivots, relative to the mean residual; more if that fails


@dataclass(frozen=True)
class Means:
    """Centres that are not rows of the sample."""

    rows: NDArray[Any]


Chosen = NDArray[np.int64] | Means


def uniform(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the indices of rows drawn without replacement."""
    return rng.permutation(rows.shape[0])[:size]


def kmeans(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the means of clusters (Lloyd 1982).

    An empty cluster is replaced by a row that is farthest from all means.
    """
    if kernel.numeric_columns(rows.shape[1]) != frozenset(range(rows.shape[1])):
        raise ValueError(
            "Centres by 'kmeans' need columns of numbers, since categories have no means; got "
            f"{kernel!r}. Choose 'uniform' or 'pivoted'."
        )
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import pairwise_distances_argmin_min

    seed = int(rng.integers(1)[0] >> np.uint64(33))
    clusters = MiniBatchKMeans(
        size,
        max_iter=CLUSTER_PASSES,
        batch_size=max(1024, size),
        max_no_improvement=None,  # it uses a sum whose rounding depends on the threads
        n_init=1,
        random_state=seed,
    )
    with single_blas():
        means = clusters.fit(rows).cluster_centers_[np.unique(clusters.labels_)]
        distances = pairwise_distances_argmin_min(rows, means)[1]
    farthest = np.argsort(-distances, kind="stable")[: size - len(means)]
    return Means(np.concatenate([means, dense(rows[farthest])]))


def pivoted(kernel: Kernel, rows: Any, size: int, rng: Random) -> Chosen:
    """Return the indices of rows chosen by randomly pivoted Cholesky, in blocks.

    A row is drawn in proportion to the residual of k(x, x) given the centres so far
    (Chen, Epperly, Tropp and Webber 2023, Algorithm 2.1). Rows are proposed in blocks, and those
    are rejected that the others of the block explain, so that the law is that of single draws
    (Epperly, Tropp and Webber 2024, Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky). If the residual vanishes, the others are drawn uniformly.
    """
    n_rows = rows.shape[0]
    left = kernel.diagonal(rows).astype(np.float64)
    total, chosen = left.sum(), np.empty(0, np.int64)
    factor = np.empty((n_rows, size), np.float32)
    while len(chosen) < size and left.sum() > FLOOR * total:
        known = factor[:, : len(chosen)]
        found = _accepted(kernel, rows, known, _proposed(left, rng), rng)[: size - len(chosen)]
        columns = _factored(kernel, rows, known, found)
        factor[:, len(chosen) : len(chosen) + len(found)] = columns
        left = np.maximum(left - np.einsum("ij,ij->i", columns, columns, dtype=np.float64), 0.0)
        chosen = np.concatenate([chosen, found])
        left[chosen] = 0.0
    others = np.setdiff1d(rng.permutation(n_rows), chosen, assume_unique=True)
    return np.concatenate([chosen, others[: size - len(chosen)]])


def _proposed(left: NDArray[np.float64], rng: Random) -> NDArray[np.int64]:
    """Draw row numbers in proportion to `left`; they may repeat."""
    sums = np.cumsum(left)
    places = np.searchsorted(sums, rng.uniform(PIVOTS) * sums[-1], side="right")
    last = np.flatnonzero(left)[-1]  # rounding of the sum could lead beyond it
    return np.asarray(np.minimum(places, last))


def _accepted(
    kernel: Kernel, rows: Any, factor: NDArray[np.float32], proposed: NDArray[np.int64], rng: Random
) -> NDArray[np.int64]:
    """Return the proposals that single draws would have accepted, given those before them.

    A proposal is accepted with the probability of its residual now, relative to that when proposed.
    """
    some = rows[proposed]
    block = kernel.matrix(some, some).astype(np.float64)
    block -= product(factor[proposed], factor[proposed].T)
    before, chances = np.diagonal(block).copy(), rng.uniform(PIVOTS)
    places = [0]
    _explain(block, 0)
    for i in range(1, PIVOTS):
        if block[i, i] > max(chances[i], SMALLEST) * before[i]:
            places.append(i)
            _explain(block, i)
    return proposed[places]


def _explain(block: NDArray[np.float64], i: int) -> None:
    """Subtract from a block of the kernel matrix the part that row i explains."""
    column = block[i] / np.sqrt(max(block[i, i], np.finfo(np.float64).tiny))
    block -= np.outer(column, column)


def _factored(
    kernel: Kernel, rows: Any, factor: NDArray[np.float32], found: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the columns of the Cholesky factor for new pivots."""
    columns = kernel.matrix(rows, rows[found]).astype(np.float64)
    columns -= product(factor, factor[found].T)
    block = columns[found]
    least = ROUNDING * float(kernel.diagonal(rows[found]).max())
    np.einsum("ii->i", block)[:] = np.maximum(block.diagonal(), least)
    lower = jittered_cholesky(block, JITTER)[0]
    with single_blas():
        return np.asarray(solve_triangular(lower, columns.T, lower=True).T)


CHOICES: dict[str, Callable[[Kernel, Any, int, Random], Chosen]] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "pivoted": pivoted,
}
