"""Parallel random coordinate descent as in Wu, Yen et al. 2016, Algorithm 2, races included.

Threads draw coordinates at random and update weights and predictions without locks, for the
squared hinge loss with an L1 penalty, mean max(0, 1 - y f)^2 + alpha |w|_1. With more than one
thread the result changes from run to run. It is here to be compared with, not to be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class L1:
    """Rows in [0, 1], targets -1 and +1, bins (also of test rows) as CSR, and the penalty."""

    X: np.ndarray
    y: np.ndarray
    Z: Any
    alpha: float
    bandwidth: float
    grids: int
    Z_test: Any
    y_test: np.ndarray

    def objective(self, w: np.ndarray) -> float:
        """Return the objective at weights of the columns of Z."""
        w = np.asarray(w, dtype=np.float64).ravel()
        return l1_objective(self.y, self.Z @ w, w, self.alpha)

    def test_error(self, w: np.ndarray) -> float:
        """Return the share of test rows that get another sign than their target."""
        return float(np.mean((self.Z_test @ np.ravel(w) > 0) != (self.y_test > 0)))


@dataclass
class Descent:
    """Weights and predictions of a matrix whose columns are updated."""

    columns: Any  # a CSC matrix, or a dense array (columns, rows)
    y: np.ndarray
    alpha: float

    def __post_init__(self) -> None:
        sparse = sp.issparse(self.columns)
        count = self.columns.shape[1] if sparse else len(self.columns)
        self.w, self.f = np.zeros(count), np.zeros(len(self.y))
        squares = self.columns.multiply(self.columns).sum(axis=0) if sparse else None
        self.squares = (
            np.asarray(squares, dtype=np.float64).ravel()
            if sparse
            else np.einsum("ji,ji->j", self.columns, self.columns, dtype=np.float64)
        )

    @property
    def objective(self) -> float:
        """The objective at the weights: predictions that races spoiled are made anew."""
        f = self.columns @ self.w if sp.issparse(self.columns) else self.w @ self.columns
        return l1_objective(self.y, f, self.w, self.alpha)

    def sweep(self, threads: int, seed: int) -> float:
        """Update as many random coordinates as there are; return the seconds."""
        seeds = np.random.default_rng(seed).integers(1, 2**63, threads).astype(np.uint64)
        updates = len(self.w) // threads
        numba.set_num_threads(threads)
        begin = perf_counter()
        if sp.issparse(self.columns):
            Z = self.columns
            rest = (self.y, self.w, self.f, self.squares, self.alpha, updates, seeds)
            _sweep_sparse(Z.indptr, Z.indices, Z.data, *rest)
        else:
            rest = (self.y, self.w, self.f, self.squares, self.alpha, updates, seeds)
            _sweep_dense(self.columns, *rest)
        return perf_counter() - begin


def l1_objective(y: np.ndarray, f: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """Return mean max(0, 1 - y f)^2 + alpha |w|_1."""
    loss = np.mean(np.maximum(1 - y * f, 0) ** 2, dtype=np.float64)
    return float(loss + alpha * np.abs(w).sum(dtype=np.float64))


@numba.njit(inline="always")
def _next(state):
    """Return the next number of a xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@numba.njit(inline="always")
def _move(w, slope, curvature, alpha):
    """Return the step to the minimum of a parabola with an L1 penalty, Eq. (26)."""
    if curvature <= 0.0:
        return 0.0
    goal = w - slope / curvature
    short = max(abs(goal) - alpha / curvature, 0.0)
    return (short if goal > 0 else -short) - w


@numba.njit(parallel=True, fastmath=True, cache=True)
def _sweep_sparse(pointers, rows, values, y, w, f, squares, alpha, updates, seeds):
    n, count = len(y), np.uint64(len(w))
    for thread in numba.prange(len(seeds)):
        state = seeds[thread]
        for _ in range(updates):
            state = _next(state)
            j = np.int64(state % count)
            slope = 0.0
            for k in range(pointers[j], pointers[j + 1]):
                i = rows[k]
                slope -= 2.0 * y[i] * max(1.0 - y[i] * f[i], 0.0) * values[k]
            d = _move(w[j], slope / n, 2.0 * squares[j] / n, alpha)
            if d != 0.0:
                w[j] += d
                for k in range(pointers[j], pointers[j + 1]):
                    f[rows[k]] += d * values[k]


@numba.njit(parallel=True, fastmath=True, cache=True)
def _sweep_dense(columns, y, w, f, squares, alpha, updates, seeds):
    n, count = len(y), np.uint64(len(w))
    for thread in numba.prange(len(seeds)):
        state = seeds[thread]
        for _ in range(updates):
            state = _next(state)
            j = np.int64(state % count)
            slope = 0.0
            for i in range(n):
                slope -= 2.0 * y[i] * max(1.0 - y[i] * f[i], 0.0) * columns[j, i]
            d = _move(w[j], slope / n, 2.0 * squares[j] / n, alpha)
            if d != 0.0:
                w[j] += d
                for i in range(n):
                    f[i] += d * columns[j, i]
