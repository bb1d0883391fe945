"""Products with Hadamard matrices by fast transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

LANES = 8  # rows transformed together, as many as fit into a vector register


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << max(number - 1, 0).bit_length()


def hadamard_products(
    rows: NDArray[Any], diagonals: NDArray[Any], orders: NDArray[np.int32], lengths: NDArray[Any]
) -> NDArray[Any]:
    """Return L H D_s P_s ... H D_2 P_2 H D_1 x of each row x, block after block.

    H is Sylvester's Hadamard matrix with entries 1 and -1; a product takes n log n additions (Fino
    and Algazi 1976, Unified matrix treatment of the fast Walsh-Hadamard transform). Rows are padded
    with zeros to its length n. `diagonals`, (blocks, stages, n), are the D, `lengths`, (blocks, n),
    the L; `orders`, (blocks, stages - 1, n), are the permutations P. All are of one dtype, float32
    or float64; the result is (rows, blocks * n).
    """
    blocks, stages, n = diagonals.shape
    shapes = orders.shape == (blocks, stages - 1, n) and lengths.shape == (blocks, n)
    if not (shapes and n == power_of_two(n) and rows.shape[1] <= n):
        raise ValueError(
            "hadamard_products needs diagonals (blocks, stages, n), orders (blocks, stages - 1, n) "
            "and lengths (blocks, n), with n a power of two that is not below the columns; "
            f"got {diagonals.shape}, {orders.shape}, {lengths.shape} and {rows.shape[1]} columns."
        )
    out = np.empty((rows.shape[0], blocks * n), rows.dtype)
    rows = np.require(rows, requirements=["C", "W"])  # the loop is compiled for writable arrays
    _hadamard_products(rows, diagonals, orders, lengths, out)
    return out


@compiled(
    "void(float32[:, ::1], float32[:, :, ::1], int32[:, :, ::1], float32[:, ::1], float32[:, ::1])",
    "void(float64[:, ::1], float64[:, :, ::1], int32[:, :, ::1], float64[:, ::1], float64[:, ::1])",
)
def _hadamard_products(rows, diagonals, orders, lengths, out):  # type: ignore[no-untyped-def]
    columns, n = rows.shape[1], diagonals.shape[2]
    z, other = np.zeros(n * LANES, rows.dtype), np.zeros(n * LANES, rows.dtype)
    for block in range(diagonals.shape[0]):
        for top in range(0, rows.shape[0], LANES):
            lanes, first = min(LANES, rows.shape[0] - top), diagonals[block, 0]
            z[:] = 0
            for lane in range(lanes):
                row = rows[top + lane]
                for j in range(columns):
                    z[j * LANES + lane] = row[j] * first[j]
            for stage in range(diagonals.shape[1]):
                if stage > 0:
                    order, diagonal = orders[block, stage - 1], diagonals[block, stage]
                    for j in range(n):
                        to, source = other[j * LANES :], z[order[j] * LANES :]
                        for lane in range(LANES):
                            to[lane] = source[lane] * diagonal[j]
                    z, other = other, z
                half = LANES
                while half < n * LANES:
                    for start in range(0, n * LANES, 2 * half):
                        left, right = z[start : start + half], z[start + half : start + 2 * half]
                        for j in range(half):
                            a, b = left[j], right[j]
                            left[j] = a + b
                            right[j] = a - b
                    half *= 2
            length = lengths[block]
            for lane in range(lanes):
                place = out[top + lane, block * n : (block + 1) * n]
                for j in range(n):
                    place[j] = z[j * LANES + lane] * length[j]
