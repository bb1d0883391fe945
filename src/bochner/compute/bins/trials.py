"""Trial fits on few rows: bin numbers after a change of scale, and ridge regression on bins."""

from __future__ import annotations

import numpy as np

from bochner.compute.bins.fingerprints import ROUND
from bochner.compute.compiled import compiled

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
HALF = np.uint64(32)
ONE = np.uint64(1)
EMPTY = -1


# Contracting product and subtraction would round differently before and after a move.
@compiled(
    "void(float32[::1], float64, float64, float64, uint64, float64[::1], float64[::1], "
    "uint64[::1], uint64[::1], uint64[::1])",
    fastmath=False,
)
def move_keys(x, before, after, shift, multiplier, old, new, old_bits, new_bits, keys):  # type: ignore[no-untyped-def]
    """Update the keys of rows from bins round(x before - shift) to round(x after - shift).

    `old` and `new` are work space, a number a row; `old_bits` and `new_bits` are their bits, in
    which the whole numbers appear.
    """
    for i in range(len(keys)):
        old[i] = (x[i] * before - shift) + ROUND
        new[i] = (x[i] * after - shift) + ROUND
    for i in range(len(keys)):
        keys[i] += multiplier * (new_bits[i] - old_bits[i])


@compiled("int64(uint64[::1], int64, uint64[::1], int32[::1], int32[::1])")
def number_keys(keys, known, table, numbers, out):  # type: ignore[no-untyped-def]
    """Number the distinct keys of the first `known` rows; a row with another key gets -1.

    `table` and `numbers` are work space; their length is a power of two above the number of rows.
    """
    numbers[:] = EMPTY
    mask, size = np.uint64(len(table) - 1), 0
    for i in range(len(keys)):
        key = keys[i]
        place = (((key ^ (key >> HALF)) * MULTIPLIER) >> HALF) & mask
        while numbers[place] != EMPTY and table[place] != key:
            place = (place + ONE) & mask
        if numbers[place] == EMPTY and i < known:
            table[place], numbers[place] = key, size
            size += 1
        out[i] = numbers[place]
    return size


@compiled("void(int32[:, ::1], int64[::1], float64[::1], float64, float64[::1])")
def shrinkages(codes, starts, weight, ridge, out):  # type: ignore[no-untyped-def]
    """Write 1 / (ridge + the weight of a bin's rows) for each bin."""
    for r in range(codes.shape[0]):
        code, first, end = codes[r], starts[r], starts[r + 1]
        for b in range(first, end):
            out[b] = ridge
        for i in range(len(weight)):
            out[first + code[i]] += weight[i]
        for b in range(first, end):
            out[b] = 1.0 / out[b]


@compiled(
    "void(int32[:, ::1], int64[::1], float64[::1], float64[::1], float64, float64[::1], "
    "float64[::1], float64[:, ::1])"
)
def backfit(codes, starts, residual, weight, ridge, shrinkage, weights, moves):  # type: ignore[no-untyped-def]
    """Minimise over the weights of each grid in turn, with the other grids fixed.

    Minimises sum_i weight_i (residual_i - w_b(i))^2 + ridge sum_b w_b^2. One loop over the rows for
    each grid subtracts the move of the previous grid's bin and adds the residual to its bin.
    `moves` is work space: two numbers for each bin of a grid.
    """
    moves[0, :] = 0.0
    before = codes[0]
    for r in range(codes.shape[0]):
        code, first, count = codes[r], starts[r], starts[r + 1] - starts[r]
        old, new = moves[r & 1], moves[(r + 1) & 1]
        for b in range(count):
            new[b] = -ridge * weights[first + b]
        for i in range(len(residual)):
            left = residual[i] - old[before[i]]
            residual[i] = left
            new[code[i]] += weight[i] * left
        for b in range(count):
            new[b] *= shrinkage[first + b]
            weights[first + b] += new[b]
        before = code
    last = moves[codes.shape[0] & 1]
    for i in range(len(residual)):
        residual[i] -= last[before[i]]


@compiled("void(int32[:, ::1], int64[::1], float64[::1], int64, float64[::1])")
def subtract(codes, starts, weights, first, out):  # type: ignore[no-untyped-def]
    """Subtract the function's values at the rows from `first` on; unknown bins have value 0."""
    for r in range(codes.shape[0]):
        for i in range(len(out)):
            b = codes[r, first + i]
            if b >= 0:
                out[i] -= weights[starts[r] + b]
