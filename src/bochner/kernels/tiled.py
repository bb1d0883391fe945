"""Matrices of kernels that are computed tile by tile, by all threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.compute.pool import each_tile
from bochner.kernels.rows import Array, Rows, tiles


def tiled(values: Callable[[slice, slice], Array], A: Rows, B: Rows, size: int) -> Array:
    """Return the matrix of the values between slices of `A` and of `B`, of `size` rows at most.

    Of k(A, A) only one half is computed, also within a tile: it is symmetric in all bits.
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
