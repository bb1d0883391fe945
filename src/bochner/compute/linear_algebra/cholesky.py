"""Cholesky factors and triangular systems by tiles, the same for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, get_blas_funcs, get_lapack_funcs

from bochner.compute.blas import single_blas
from bochner.compute.pool import each_tile

Array = NDArray[Any]
BLOCK = 256  # columns of a panel, whose diagonal block one thread factorises
TILE_ROWS = 256  # of a tile of a panel from which a product is subtracted
DIVIDED_ROWS = 512  # of a tile that is solved for; each copies the factor
SIDE = 512  # of a square tile of a product
FEWEST = 64  # fewest rows of a tile that are worth a thread
LARGEST_JITTER = 1e3  # jitter, in units of the mean of the diagonal


def cholesky(A: Array) -> Array:
    """Write L with A = L L' into the lower half of a symmetric A, in place, and return A.

    The part above the diagonal is unchanged. For each panel: subtract the product of the previous
    columns, factorise the diagonal block, solve for the rows below (Golub and Van Loan 2013, Matrix
    computations, section 4.2.6). Raises a LinAlgError if A is not positive definite.
    """
    for begin, end in _blocks(len(A)):
        square, below = A[begin:end, begin:end], A[end:, begin:end]
        each_tile(partial(_subtract, A[begin:], begin, len(square)), len(A) - begin, TILE_ROWS)
        with single_blas():
            _factorize(square)
        each_tile(partial(_divide_rows, square, below), len(below), DIVIDED_ROWS)
    return A


def jittered_cholesky(A: Array, jitter: float, least: float | None = None) -> tuple[Array, float]:
    """Return L with L L' = A + jitter mean(diag A) I, in place of A, 0 above, and the jitter.

    While the factorisation fails the jitter is multiplied by 10; a jitter of 0 becomes `least`, by
    default the machine precision.
    """
    diagonal = A.diagonal().copy()
    mean = float(diagonal.mean()) if len(A) else 0.0
    while jitter <= LARGEST_JITTER:
        np.einsum("ii->i", A)[:] = diagonal + jitter * mean
        try:
            return _cleared(cholesky(A)), jitter
        except LinAlgError:
            _mirror(A)
            jitter = 10 * jitter or least or float(np.finfo(A.dtype).eps)
    raise LinAlgError(
        "The kernel matrix of the centres has no Cholesky factor: it is far from positive "
        "definite, or it has entries that are not finite. Give a positive definite kernel."
    )


def solve_lower(L: Array, B: Array) -> Array:
    """Return L^-1 B for B of shape (rows, columns)."""
    X = np.array(B, L.dtype, order="C")
    for begin, end in _blocks(len(L)):
        _divide(L[begin:end, begin:end], X[begin:end], transposed=False)

        def subtract(top: int, bottom: int, begin: int = begin, end: int = end) -> None:
            rows = slice(end + top, end + bottom)
            X[rows] -= L[rows, begin:end] @ X[begin:end]

        each_tile(subtract, len(L) - end, _height(len(L) - end))
    return X


def solve_upper(L: Array, B: Array) -> Array:
    """Return L^-T B for B of shape (rows, columns)."""
    X = np.array(B, L.dtype, order="C")
    for begin, end in reversed(list(_blocks(len(L)))):
        _divide(L[begin:end, begin:end], X[begin:end], transposed=True)

        def subtract(top: int, bottom: int, begin: int = begin, end: int = end) -> None:
            X[top:bottom] -= L[begin:end, top:bottom].T @ X[begin:end]

        each_tile(subtract, begin, _height(begin))
    return X


def solve(L: Array, B: Array) -> Array:
    """Return (L L')^-1 B."""
    return solve_upper(L, solve_lower(L, B))


def lower_gram(L: Array, out: Array) -> Array:
    """Write L'L of a lower triangular L to `out`, in the precision of `out`; return it."""
    tops = range(0, len(L), SIDE)
    corners = [(i, j) for j in tops for i in tops if i <= j]

    def fill(number: int, _: int) -> None:
        i, j = corners[number]
        left, right = (L[j:, k : k + SIDE].astype(out.dtype, copy=False) for k in (i, j))
        tile = left.T @ right
        out[i : i + SIDE, j : j + SIDE] = tile
        out[j : j + SIDE, i : i + SIDE] = tile.T

    each_tile(fill, len(corners), 1)
    return out


def _subtract(rows: Array, before: int, width: int, top: int, bottom: int) -> None:
    """Subtract the product of the columns `before` a panel from a tile of the panel.

    The panel begins at the first of the rows.
    """
    if before > 0:
        # The part above the diagonal must keep the symmetric matrix.
        wide = min(bottom, width)
        product = rows[top:bottom, :before] @ rows[:wide, :before].T
        if top < width:
            product = np.tril(product, top)
        rows[top:bottom, before : before + wide] -= product


def _divide_rows(square: Array, panel: Array, top: int, bottom: int) -> None:
    """Solve X L' = B for a tile of a panel, L being the factor of its diagonal block."""
    # In Fortran order all arrays are transposed: X L' = B is L X' = B'.
    trsm, tile = get_blas_funcs("trsm", (square,)), panel[top:bottom]
    tile[:] = trsm(1.0, square.T, tile.T, lower=0, trans_a=1).T


def _factorize(square: Array) -> None:
    potrf = get_lapack_funcs("potrf", (square,))
    factor, info = potrf(square, lower=1, clean=1)
    if info != 0 or not np.isfinite(factor[-1, -1]):
        raise LinAlgError("not positive definite")
    below = np.tril_indices(len(square))
    square[below] = factor[below]


def _divide(square: Array, X: Array, transposed: bool) -> None:
    """Solve in place with a lower triangular matrix, or with its transpose."""
    trsm = get_blas_funcs("trsm", (square,))
    with single_blas():
        X[:] = trsm(1.0, square.T, X, lower=0, trans_a=int(not transposed))


def _blocks(size: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(begin + BLOCK, size)) for begin in range(0, size, BLOCK))


def _height(rows: int) -> int:
    """Return the height of tiles of a panel that is read once."""
    return max(FEWEST, min(1024, rows // 8))


def _cleared(A: Array) -> Array:
    """Write zeros above the diagonal."""
    for begin, end in _blocks(len(A)):
        A[begin:end, end:] = 0
        A[begin:end, begin:end] = np.tril(A[begin:end, begin:end])
    return A


def _mirror(A: Array) -> None:
    """Copy the part above the diagonal below it."""
    for begin, end in _blocks(len(A)):
        A[end:, begin:end] = A[begin:end, end:].T
        square = np.triu(A[begin:end, begin:end], 1)
        A[begin:end, begin:end] = square + square.T
