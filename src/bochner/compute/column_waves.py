"""Waves of single columns: a height times the cosine of a phase that is counted in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled
from bochner.compute.turns import D0, D1, D2, D3, D4, D5, D6, D7, D8, QUARTER, S0, S1, S2, S3, S4


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
    loop(logarithms, roots, columns, waves, out)


# Phases and heights are gathered first, so that the polynomial is left to vector instructions.
@compiled("void(float32[:, ::1], float32[:, ::1], int64[::1], float32[:, ::1], float32[:, ::1])")
def _waves_single(logarithms, roots, columns, waves, out):  # type: ignore[no-untyped-def]
    phases, heights = np.empty_like(waves[0]), np.empty_like(waves[0])
    for i in range(out.shape[0]):
        row = out[i]
        for f in range(out.shape[1]):
            phases[f] = waves[0, f] * logarithms[i, columns[f]] - waves[1, f]
            heights[f] = waves[2, f] * roots[i, columns[f]]
        for f in range(out.shape[1]):
            u = QUARTER - abs(phases[f] - np.rint(phases[f]))
            a = u * u
            row[f] = heights[f] * (u * ((((S4 * a + S3) * a + S2) * a + S1) * a + S0))


@compiled("void(float64[:, ::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, ::1])")
def _waves_double(logarithms, roots, columns, waves, out):  # type: ignore[no-untyped-def]
    phases, heights = np.empty_like(waves[0]), np.empty_like(waves[0])
    for i in range(out.shape[0]):
        row = out[i]
        for f in range(out.shape[1]):
            phases[f] = waves[0, f] * logarithms[i, columns[f]] - waves[1, f]
            heights[f] = waves[2, f] * roots[i, columns[f]]
        for f in range(out.shape[1]):
            u = 0.25 - abs(phases[f] - np.rint(phases[f]))
            a = u * u
            p = ((((D8 * a + D7) * a + D6) * a + D5) * a + D4) * a + D3
            row[f] = heights[f] * (u * (((p * a + D2) * a + D1) * a + D0))
