"""Sweeps of backfitting: residuals of rows, summed over the bins of one grid after another."""

from __future__ import annotations

import numpy as np

from bochner.compute.compiled import compiled


@compiled(
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float32[::1], float64[::1])",
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float64[::1], float64[::1])",
)
def accumulate_residuals(code, before, moves, residual, weight, sums):  # type: ignore[no-untyped-def]
    """Subtract the move of each row's bin in the grid before; add the residual to its bin.

    One loop serves two grids. A row without a bin has the code -1: the last of the sums is for
    those rows, and the last of the moves is 0.
    """
    for i in range(len(code)):
        left = residual[i] - moves[before[i]]
        residual[i] = left
        sums[code[i]] += weight[i] * left


@compiled("void(int32[::1], float64[::1], float64[::1])")
def subtract_moves(code, moves, residual):  # type: ignore[no-untyped-def]
    """Subtract from each residual the move of its bin."""
    for i in range(len(code)):
        residual[i] -= moves[code[i]]


@compiled(
    "void(int32[::1], float32[::1], float64[::1])", "void(int32[::1], float64[::1], float64[::1])"
)
def accumulate_weights(code, weight, sums):  # type: ignore[no-untyped-def]
    """Add the weights of the rows to their bins."""
    for i in range(len(code)):
        sums[code[i]] += weight[i]


@compiled(
    "float64(int32[:, ::1], int64[::1], int64[::1], float64[::1], float32[::1], float64[::1], "
    "float64, float64, float64[::1], float64[:, ::1])",
    "float64(int32[:, ::1], int64[::1], int64[::1], float64[::1], float64[::1], float64[::1], "
    "float64, float64, float64[::1], float64[:, ::1])",
)
def sweep(codes, order, starts, residual, weight, bin_weights, ridge, step, values, moves):  # type: ignore[no-untyped-def]
    """Update the values of the grids `order` in turn; return sum (weight + ridge) move^2.

    `bin_weights` are the weights of the bins' rows;
    `moves` is work space: two numbers for each bin of a grid and for rows without one.
    """
    moves[:] = 0.0
    total, last = 0.0, moves.shape[1] - 1
    before = codes[order[0]]
    for place in range(len(order)):
        r = order[place]
        code, first, count = codes[r], starts[r], starts[r + 1] - starts[r]
        old, new = moves[place & 1], moves[(place + 1) & 1]
        for b in range(count):
            new[b] = -ridge * values[first + b]
        accumulate_residuals(code, before, old, residual, weight, new)
        for b in range(count):
            curvature = bin_weights[first + b] + ridge
            move = step * new[b] / curvature if curvature > 0.0 else 0.0
            values[first + b] += move
            total += curvature * move * move
            new[b] = move
        new[last] = 0.0
        before = code
    subtract_moves(before, moves[np.int64(len(order)) & 1], residual)
    return total


@compiled(
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float32[::1], float64[::1], "
    "float64[::1], float64[::1])",
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float64[::1], float64[::1], "
    "float64[::1], float64[::1])",
)
def accumulate_majorizer(code, before, moves, residual, weight, shape, slopes, curvatures):  # type: ignore[no-untyped-def]
    """Subtract the move of each row's bin in the grid before; add derivatives to its bin.

    They are the negative slope of the loss, and the curvature of the parabola that majorises it
    there (losses.smoothed_absolute). A row without a bin has the code -1, the last entry of each.
    """
    slope, half, epsilon, width = shape[0], shape[1] / 2, shape[2], shape[3]
    for i in range(len(code)):
        left = residual[i] - moves[before[i]]
        residual[i] = left
        low, high = left - epsilon, left + epsilon
        below, above = 1.0 / max(abs(low), width), 1.0 / max(abs(high), width)
        slopes[code[i]] += weight[i] * (half * (low * below + high * above) - slope)
        curvatures[code[i]] += weight[i] * half * (below + above)


@compiled(
    "float64(int32[:, ::1], int64[::1], int64[::1], float64[::1], float32[::1], float64[::1], "
    "float64, float64, float64[::1], float64[:, ::1])",
    "float64(int32[:, ::1], int64[::1], int64[::1], float64[::1], float64[::1], float64[::1], "
    "float64, float64, float64[::1], float64[:, ::1])",
)
def majorizer_sweep(codes, order, starts, residual, weight, shape, ridge, step, values, room):  # type: ignore[no-untyped-def]
    """Update the values of the grids `order` in turn; return sum curvature move^2.

    `room` is work space: two moves and a
    curvature for each bin of a grid and for rows without one.
    """
    room[:] = 0.0
    total, last, curvatures = 0.0, room.shape[1] - 1, room[2]
    before = codes[order[0]]
    for place in range(len(order)):
        r = order[place]
        code, first, count = codes[r], starts[r], starts[r + 1] - starts[r]
        old, new = room[place & 1], room[(place + 1) & 1]
        for b in range(count):
            new[b], curvatures[b] = -ridge * values[first + b], ridge
        accumulate_majorizer(code, before, old, residual, weight, shape, new, curvatures)
        for b in range(count):
            move = step * new[b] / curvatures[b] if curvatures[b] > 0.0 else 0.0
            values[first + b] += move
            total += curvatures[b] * move * move
            new[b] = move
        new[last] = 0.0
        before = code
    subtract_moves(before, room[np.int64(len(order)) & 1], residual)
    return total
