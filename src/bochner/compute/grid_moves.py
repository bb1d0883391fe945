"""Grid moves: what rows leave to the bins of a grid, and what the bins hand back to them."""

from __future__ import annotations

from bochner.compute.compiled import compiled


@compiled(
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float32[::1], float64[::1])",
    "void(int32[::1], int32[::1], float64[::1], float64[::1], float64[::1], float64[::1])",
)
def carry(code, before, moves, residual, weight, sums):  # type: ignore[no-untyped-def]
    """Take from each residual what its bin in the grid before has moved; add the rest to its bin.

    Two grids in one walk through the rows. A row without a bin has the number -1: the last of the
    sums is for those, and the last of the moves is 0.
    """
    for i in range(len(code)):
        left = residual[i] - moves[before[i]]
        residual[i] = left
        sums[code[i]] += weight[i] * left


@compiled("void(int32[::1], float64[::1], float64[::1])")
def hand_back(code, moves, residual):  # type: ignore[no-untyped-def]
    """Take from each residual what its bin has moved."""
    for i in range(len(code)):
        residual[i] -= moves[code[i]]


@compiled(
    "void(int32[::1], float32[::1], float64[::1])", "void(int32[::1], float64[::1], float64[::1])"
)
def weigh(code, weight, sums):  # type: ignore[no-untyped-def]
    """Add the weights of the rows to their bins."""
    for i in range(len(code)):
        sums[code[i]] += weight[i]
