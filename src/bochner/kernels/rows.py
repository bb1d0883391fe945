"""Rows in the form that kernels take, 2-d float arrays or CSR, and matrices computed by tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from bochner.compute.pool import each_tile

Array = NDArray[np.floating[Any]]
Rows = Any  # a 2-d float array, or scipy CSR rows


def checked_rows(X: Any) -> Rows:
    """Return `X` as 2-d rows, float32 if it has that dtype, else float64; CSR if it is sparse."""
    rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(
            f"A kernel needs rows as an array of two dimensions, (rows, columns); got the shape "
            f"{rows.shape}. Use X.reshape(1, -1) for one row, X.reshape(-1, 1) for one column."
        )
    return rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)


def checked_pair(A: Any, B: Any | None) -> tuple[Rows, Rows]:
    """Return both as checked rows of one dtype and as many columns; `B` is `A` if it is None.

    If one of them is sparse, both become sparse.
    """
    A = checked_rows(A)
    if B is None:
        return A, A
    B = checked_rows(B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A kernel needs rows with the same columns on both sides; got {A.shape[1]} columns "
            f"and {B.shape[1]} columns."
        )
    if sp.issparse(A) != sp.issparse(B):
        A, B = sp.csr_array(A), sp.csr_array(B)
    dtype = np.result_type(A.dtype, B.dtype)
    return A.astype(dtype, copy=False), B.astype(dtype, copy=False)


def checked_values(
    values: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike, what: str, function: Any
) -> NDArray[Any]:
    """Return what a user's function gave in a dtype, or raise if it cannot be used."""
    if values.shape != shape or values.dtype.kind not in "fiub":
        raise ValueError(
            f"{what} must return real numbers of the shape {shape}; {function!r} returned "
            f"{values.dtype} of the shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused
        values = values.astype(dtype, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} must return finite numbers; {function!r} returned NaN, infinity, or numbers "
            f"that are too large for {values.dtype}. Correct it, also for a row of zeros, or scale "
            "the columns of X."
        )
    return values


def dense(X: Rows) -> Array:
    """Return the rows as a dense array."""
    return X.toarray() if sp.issparse(X) else X  # type: ignore[no-any-return]


def alike(X: Rows, other: Rows) -> Rows:
    """Return the rows as CSR if `other` is sparse, else as a dense array."""
    return sp.csr_array(X) if sp.issparse(other) else dense(X)


def fill_product(rows: Rows, matrix: Rows, out: Array) -> None:
    """Write the product of dense or sparse rows with a matrix into `out`."""
    if sp.issparse(rows):
        out[...] = dense(rows @ matrix)
    else:
        np.matmul(rows, matrix, out=out)


def mean(X: Rows) -> Array | None:
    """Return the mean row in the dtype of the rows; None if they are sparse, to keep them so."""
    if sp.issparse(X):
        return None
    return (X.sum(axis=0, dtype=np.float64) / max(len(X), 1)).astype(X.dtype)  # type: ignore[no-any-return]


def centred(X: Rows, centre: Array | None) -> Rows:
    """Return the rows minus the centre, or the rows if it is None."""
    return X if centre is None else X - centre


def divided(X: Rows, scales: Array) -> Rows:
    """Return the rows with each column divided by its scale, in their dtype if it is floating."""
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    if sp.issparse(X):
        return X @ sp.diags_array(1 / scales).astype(dtype)
    return X / scales.astype(dtype)


def times_power_of_two(X: Rows, exponent: int) -> Rows:
    """Return the rows times 2^exponent, which rounds nothing."""
    if exponent == 0:
        return X
    if not sp.issparse(X):
        return np.ldexp(X, exponent)
    return sp.csr_array((np.ldexp(X.data, exponent), X.indices, X.indptr), X.shape)


def tiles(n_rows: int, size: int) -> Iterator[slice]:
    """Cut 0, ..., n_rows - 1 into slices of at most `size`."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def tiled(values: Callable[[slice, slice], Array], A: Rows, B: Rows, size: int) -> Array:
    """Return the matrix of `values(rows, columns)` of slices of at most `size` rows of `A` and `B`.

    If `B` is `A`, only one half is computed, so that the matrix is exactly symmetric.
    """
    K, symmetric = np.empty((A.shape[0], B.shape[0]), A.dtype), A is B
    pairs = [
        (rows, columns)
        for rows in tiles(A.shape[0], size)
        for columns in tiles(B.shape[0], size)
        if rows.start <= columns.start or not symmetric
    ]

    def fill(number: int, _: int) -> None:
        rows, columns = pairs[number]
        K[rows, columns] = tile = values(rows, columns)
        if symmetric and rows == columns:
            K[rows, columns] = np.triu(tile) + np.triu(tile, 1).T
        elif symmetric:
            K[columns, rows] = tile.T

    each_tile(fill, len(pairs), 1)
    return K
