"""Nystroem with conjugate gradients in plain NumPy and float32, kernel blocks recomputed.

Rudi, Carratino and Rosasco 2017, FALKON: an optimal large scale kernel method, Algorithm 1: what
one writes with NumPy alone, to be compared with. BLAS has all its threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

BLOCK = 2_048  # rows at a time
JITTER = 1e-6  # of the number of centres; raised until the factor exists

Array = np.ndarray


def gaussian(A: Array, B: Array, gamma: float) -> Array:
    """Return exp(-gamma |a - b|^2), with as few temporary arrays as NumPy allows."""
    K = A @ B.T
    K *= 2 * gamma
    K -= gamma * np.einsum("ij,ij->i", A, A)[:, None]
    K -= gamma * np.einsum("ij,ij->i", B, B)
    np.minimum(K, 0, out=K)
    return np.exp(K, out=K)


def nystroem(
    X: Array, Y: Array, centers: Array, gamma: float, alpha: float, iterations: int
) -> Array:
    """Return the weights of the centres after some iterations, for the targets Y of rows X."""
    K = gaussian(centers, centers, gamma)
    upper = factor(K, JITTER * len(centers))
    inner = factor(upper @ upper.T / np.float32(len(centers)), alpha)

    def outward(V: Array) -> Array:
        return solve(upper, solve(inner, V))

    def inward(V: Array) -> Array:
        return solve(inner, solve(upper, V, "T"), "T")

    def product(V: Array) -> Array:
        W = outward(V)
        rows = projected(X, centers, gamma, lambda block, _: block @ W)
        return inward(rows + np.float32(alpha) * (K @ W))

    right = inward(projected(X, centers, gamma, lambda _, place: Y[place]))
    return outward(conjugate_gradients(product, right, iterations))


def projected(
    X: Array, centers: Array, gamma: float, values: Callable[[Array, slice], Array]
) -> Array:
    """Return the mean over the rows of k(centers, x) values(x)."""
    total: Array = np.float32(0)
    for start in range(0, len(X), BLOCK):
        place = slice(start, start + BLOCK)
        block = gaussian(X[place], centers, gamma)
        total = total + block.T @ values(block, place)
    return total / np.float32(len(X))


def conjugate_gradients(product: Callable[[Array], Array], right: Array, iterations: int) -> Array:
    """Return the solution of a system for each column of the right-hand side."""
    solution = np.zeros_like(right)
    residual, direction = right.copy(), right.copy()
    size = np.sum(residual**2, axis=0)
    for _ in range(iterations):
        image = product(direction)
        step = size / np.maximum(np.sum(direction * image, axis=0), np.float32(1e-30))
        solution += step * direction
        residual -= step * image
        before, size = size, np.sum(residual**2, axis=0)
        direction = residual + size / np.maximum(before, np.float32(1e-30)) * direction
    return solution


def predicted(X: Array, centers: Array, gamma: float, weights: Array) -> Array:
    """Return the values of the function at rows."""
    blocks = [X[start : start + BLOCK] for start in range(0, len(X), BLOCK)]
    return np.concatenate([gaussian(block, centers, gamma) @ weights for block in blocks])


def factor(matrix: Array, ridge: float) -> Array:
    """Return the upper Cholesky factor of a matrix with something added to its diagonal."""
    matrix = matrix.copy()
    while True:
        matrix[np.diag_indices_from(matrix)] += np.float32(ridge)
        try:
            return np.ascontiguousarray(np.linalg.cholesky(matrix).T)
        except np.linalg.LinAlgError:
            ridge *= 9


def solve(upper: Array, right: Array, transposed: str = "N") -> Array:
    """Solve a triangular system."""
    return solve_triangular(upper, right, trans=transposed, check_finite=False)
