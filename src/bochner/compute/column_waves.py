"""Waves of single columns: a height times the cosine of a phase that is counted in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.turns import D0, D1, D2, D3, D4, D5, D6, D7, D8, QUARTER, S0, S1, S2, S3, S4

LONG = 8  # columns of a run, on average, from which on runs are faster than single places


def column_waves(
    logarithms: NDArray[Any],
    roots: NDArray[Any],
    columns: NDArray[np.int64],
    waves: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write amplitude_f root_ic cos(2 pi (turns_f logarithm_ic - shift_f)), c = columns_f.

    `waves` has the rows turns, shift and amplitude. All arrays but the columns are C-contiguous and
    of one dtype, float32 or float64.
    """
    if out.shape != (len(logarithms), len(columns)) or waves.shape != (3, len(columns)):
        raise ValueError(
            f"{len(columns)} waves of {len(logarithms)} rows with parameters of shape "
            f"{waves.shape} do not fit into {out.shape}."
        )
    loop = _waves_single if out.dtype == np.float32 else _waves_double
    loop(logarithms, roots, columns, _runs(columns), waves, out)


@compiled("int64[:, ::1](int64[::1])")
def _runs(columns):  # type: ignore[no-untyped-def]
    """Return where columns follow each other: the first wave, its column, how many waves."""
    runs, count = np.empty((len(columns), 3), np.int64), 0
    for f in range(len(columns)):
        if f > 0 and columns[f] == columns[f - 1] + 1:
            runs[count - 1, 2] += 1
        else:
            runs[count, 0], runs[count, 1], runs[count, 2] = f, columns[f], 1
            count += 1
    return runs[:count]


# Phases and heights are gathered first, so that the polynomial is left to vector instructions; so
# is what runs gather if they are long.
@compiled(
    "void(float32[:, ::1], float32[:, ::1], int64[::1], int64[:, ::1], float32[:, ::1], "
    "float32[:, ::1])"
)
def _waves_single(logarithms, roots, columns, runs, waves, out):  # type: ignore[no-untyped-def]
    phases, heights = np.empty_like(waves[0]), np.empty_like(waves[0])
    turns, shifts, amplitudes = waves[0], waves[1], waves[2]
    are_long = LONG * len(runs) <= len(columns)
    for i in range(out.shape[0]):
        row, x, y = out[i], logarithms[i], roots[i]
        for r in range(len(runs) if are_long else 0):
            f, c, n = runs[r]
            p, h, t = phases[f : f + n], heights[f : f + n], turns[f : f + n]
            s, a, xs, ys = shifts[f : f + n], amplitudes[f : f + n], x[c : c + n], y[c : c + n]
            for k in range(n):
                p[k] = t[k] * xs[k] - s[k]
                h[k] = a[k] * ys[k]
        for f in range(0 if are_long else len(columns)):
            phases[f] = turns[f] * x[columns[f]] - shifts[f]
            heights[f] = amplitudes[f] * y[columns[f]]
        for f in range(out.shape[1]):
            u = QUARTER - abs(phases[f] - np.rint(phases[f]))
            b = u * u
            row[f] = heights[f] * (u * ((((S4 * b + S3) * b + S2) * b + S1) * b + S0))


@compiled(
    "void(float64[:, ::1], float64[:, ::1], int64[::1], int64[:, ::1], float64[:, ::1], "
    "float64[:, ::1])"
)
def _waves_double(logarithms, roots, columns, runs, waves, out):  # type: ignore[no-untyped-def]
    phases, heights = np.empty_like(waves[0]), np.empty_like(waves[0])
    turns, shifts, amplitudes = waves[0], waves[1], waves[2]
    are_long = LONG * len(runs) <= len(columns)
    for i in range(out.shape[0]):
        row, x, y = out[i], logarithms[i], roots[i]
        for r in range(len(runs) if are_long else 0):
            f, c, n = runs[r]
            p, h, t = phases[f : f + n], heights[f : f + n], turns[f : f + n]
            s, a, xs, ys = shifts[f : f + n], amplitudes[f : f + n], x[c : c + n], y[c : c + n]
            for k in range(n):
                p[k] = t[k] * xs[k] - s[k]
                h[k] = a[k] * ys[k]
        for f in range(0 if are_long else len(columns)):
            phases[f] = turns[f] * x[columns[f]] - shifts[f]
            heights[f] = amplitudes[f] * y[columns[f]]
        for f in range(out.shape[1]):
            u = 0.25 - abs(phases[f] - np.rint(phases[f]))
            b = u * u
            q = ((((D8 * b + D7) * b + D6) * b + D5) * b + D4) * b + D3
            row[f] = heights[f] * (u * (((q * b + D2) * b + D1) * b + D0))
