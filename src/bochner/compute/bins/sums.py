"""Sums over bins: of bin weights for each row, and of row values for each bin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.bins.fingerprints import Codes, writable
from bochner.compute.compiled import compiled
from bochner.compute.pool import each_tile, thread_count

GATHERED_ROWS = 8_192, 131_072  # fewest and most of a tile, which reads all weights of a grid


def gather(codes: Codes, starts: NDArray[np.int64], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum over the grids of the weights of each row's bins, (rows, outputs).

    The weights of grid r begin at `starts[r]`; unknown bins have weight 0.
    """
    weights = writable(weights)
    out = np.zeros((codes.shape[1], weights.shape[1]))

    def add(top: int, bottom: int) -> None:
        part = codes[:, top:bottom]
        if weights.shape[1] == 1:
            _gather(part, starts, weights[:, 0], out[top:bottom, 0])
        else:
            _gather_rows(part, starts, weights, out[top:bottom])

    fewest, most = GATHERED_ROWS
    each_tile(add, len(out), min(max(-(-len(out) // thread_count()), fewest), most))
    return out


def scatter(
    codes: Codes,
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    out: NDArray[Any],
    factor: float = 1.0,
) -> None:
    """Add to each bin `factor` times the sum of the values (rows, outputs) of its rows.

    One thread sums a grid, in the order of the rows and in float64.
    """
    values = writable(values)
    _require_room(out, starts)
    if out.shape[1:] != values.shape[1:]:
        raise ValueError(
            f"`out` needs the columns of `values`, {values.shape[1:]}; got {out.shape[1:]}."
        )

    def add(grid: int, _: int) -> None:
        place = out[starts[grid] : starts[grid + 1]]
        sums = np.zeros(place.shape)
        if values.shape[1] == 1:
            _scatter(codes[grid], values[:, 0], sums[:, 0])
        else:
            _scatter_rows(codes[grid], values, sums)
        sums *= factor
        np.add(place, sums, out=place, casting="unsafe")

    each_tile(add, len(codes), 1)


def tally(codes: Codes, starts: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """Add to each bin the number of its rows."""
    _require_room(out, starts)

    def add(grid: int, _: int) -> None:
        _tally(codes[grid], out[starts[grid] : starts[grid + 1]])

    each_tile(add, len(codes), 1)


def _require_room(out: NDArray[Any], starts: NDArray[np.int64]) -> None:
    if len(out) != starts[-1]:
        raise ValueError(f"`out` needs a row for each of {starts[-1]} bins; got {len(out)}.")


@compiled(
    "void(int32[:, :], int64[::1], float32[:], float64[:])",
    "void(int32[:, :], int64[::1], float64[:], float64[:])",
)
def _gather(codes, starts, weights, out):  # type: ignore[no-untyped-def]
    for r in range(codes.shape[0]):
        start = starts[r]
        for i in range(codes.shape[1]):
            if codes[r, i] >= 0:
                out[i] += weights[start + codes[r, i]]


@compiled(
    "void(int32[:, :], int64[::1], float32[:, ::1], float64[:, ::1])",
    "void(int32[:, :], int64[::1], float64[:, ::1], float64[:, ::1])",
)
def _gather_rows(codes, starts, weights, out):  # type: ignore[no-untyped-def]
    for r in range(codes.shape[0]):
        start = starts[r]
        for i in range(codes.shape[1]):
            if codes[r, i] >= 0:
                for k in range(out.shape[1]):
                    out[i, k] += weights[start + codes[r, i], k]


@compiled("void(int32[:], int32[::1])")
def _tally(codes, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        if codes[i] >= 0:
            out[codes[i]] += 1


@compiled("void(int32[:], float64[:], float64[:])")
def _scatter(codes, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        if codes[i] >= 0:
            out[codes[i]] += values[i]


@compiled("void(int32[:], float64[:, ::1], float64[:, ::1])")
def _scatter_rows(codes, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        if codes[i] >= 0:
            for k in range(out.shape[1]):
                out[codes[i], k] += values[i, k]
