"""Cosines and sines of phases in turns: cos(2 pi t), sin(2 pi t)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

Array = NDArray[Any]
LONG = 8  # average length of runs from which on runs are faster than single columns

# Minimax coefficients (Remez exchange) of sin(2 pi u) / u in powers of u^2 for |u| <= 1/4. In
# turns the reduction to that interval is exact: r = t - rint(t), u = 1/4 - |r| gives the cosine
# as sin(2 pi u), and 1/4 - |u| with the sign of r gives the sine. Errors: 3.4e-9 and 3.2e-18.
S0, S1, S2, S3, S4 = (
    np.float32(c)
    for c in (
        6.2831851621758394,
        -41.341655370287654,
        81.60102087484559,
        -76.55010777027022,
        39.53886900023849,
    )
)
D0, D1, D2, D3, D4, D5, D6, D7, D8 = (
    6.283185307179586,
    -41.341702240399755,
    81.6052492760721,
    -76.70585975266671,
    42.05869391721482,
    -15.09464144218466,
    3.8199243828822875,
    -0.7177031425149802,
    0.1007948349619664,
)
ZERO, QUARTER = np.float32(0), np.float32(0.25)


def cosine_sine(turns: Array, out: Array, amplitude: float = 1.0, first: int = 0) -> Array:
    """Write amplitude * (cos, sin)(2 pi t) of each phase side by side into `out`; return it.

    Phase j of a row of `turns` goes to the columns first + 2j and first + 2j + 1 of `out`. Both
    arrays are C-contiguous and of one dtype, float32 or float64; the error is below
    3e-7 * amplitude and 1e-15 * amplitude, as far as the phases themselves are exact.
    """
    rows, pairs = turns.shape
    _require_room("cosine_sine", out, rows, first, 2 * pairs)
    loop = _cosine_sine_single if turns.dtype == np.float32 else _cosine_sine_double
    loop(turns, out, turns.dtype.type(amplitude), first)
    return out


def cosine(turns: Array, out: Array, amplitude: float = 1.0, first: int = 0) -> Array:
    """Write amplitude * cos(2 pi t) of each phase into `out`, from column `first` on; return it.

    Arrays and errors are as for `cosine_sine`.
    """
    rows, waves = turns.shape
    _require_room("cosine", out, rows, first, waves)
    loop = _cosine_single if turns.dtype == np.float32 else _cosine_double
    loop(turns, out, turns.dtype.type(amplitude), first)
    return out


def _require_room(who: str, out: Array, rows: int, first: int, width: int) -> None:
    if out.shape[0] < rows or first < 0 or out.shape[1] < first + width:
        raise ValueError(
            f"{who} needs {rows} rows and {first + width} columns to write to; "
            f"got an array of shape {out.shape}."
        )


@compiled("void(float32[:, ::1], float32[:, ::1], float32, int64)")
def _cosine_sine_single(turns: Array, out: Array, amplitude: np.float32, first: int) -> None:
    for i in range(turns.shape[0]):
        row = out[i, first:]  # an offset in the index itself would keep LLVM from vectorising
        for j in range(turns.shape[1]):
            r = turns[i, j] - np.rint(turns[i, j])
            u = QUARTER - abs(r)
            v = QUARTER - abs(u)
            a, b = u * u, v * v
            cosine = u * ((((S4 * a + S3) * a + S2) * a + S1) * a + S0)
            sine = v * ((((S4 * b + S3) * b + S2) * b + S1) * b + S0)
            row[2 * j] = amplitude * cosine
            row[2 * j + 1] = amplitude * (-sine if r < ZERO else sine)


@compiled("void(float64[:, ::1], float64[:, ::1], float64, int64)")
def _cosine_sine_double(turns: Array, out: Array, amplitude: float, first: int) -> None:
    for i in range(turns.shape[0]):
        row = out[i, first:]  # an offset in the index itself would keep LLVM from vectorising
        for j in range(turns.shape[1]):
            r = turns[i, j] - np.rint(turns[i, j])
            u = 0.25 - abs(r)
            v = 0.25 - abs(u)
            a, b = u * u, v * v
            p = ((((D8 * a + D7) * a + D6) * a + D5) * a + D4) * a + D3
            q = ((((D8 * b + D7) * b + D6) * b + D5) * b + D4) * b + D3
            cosine = u * (((p * a + D2) * a + D1) * a + D0)
            sine = v * (((q * b + D2) * b + D1) * b + D0)
            row[2 * j] = amplitude * cosine
            row[2 * j + 1] = amplitude * (-sine if r < 0.0 else sine)


@compiled("void(float32[:, ::1], float32[:, ::1], float32, int64)")
def _cosine_single(turns: Array, out: Array, amplitude: np.float32, first: int) -> None:
    for i in range(turns.shape[0]):
        row = out[i, first:]
        for j in range(turns.shape[1]):
            u = QUARTER - abs(turns[i, j] - np.rint(turns[i, j]))
            a = u * u
            row[j] = amplitude * u * ((((S4 * a + S3) * a + S2) * a + S1) * a + S0)


@compiled("void(float64[:, ::1], float64[:, ::1], float64, int64)")
def _cosine_double(turns: Array, out: Array, amplitude: float, first: int) -> None:
    for i in range(turns.shape[0]):
        row = out[i, first:]
        for j in range(turns.shape[1]):
            u = 0.25 - abs(turns[i, j] - np.rint(turns[i, j]))
            a = u * u
            p = ((((D8 * a + D7) * a + D6) * a + D5) * a + D4) * a + D3
            row[j] = amplitude * u * (((p * a + D2) * a + D1) * a + D0)


def column_waves(
    logarithms: Array, roots: Array, columns: NDArray[np.int64], waves: Array, out: Array
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
    """Return runs of consecutive columns: the first wave, its column, the number of waves."""
    runs, count = np.empty((len(columns), 3), np.int64), 0
    for f in range(len(columns)):
        if f > 0 and columns[f] == columns[f - 1] + 1:
            runs[count - 1, 2] += 1
        else:
            runs[count, 0], runs[count, 1], runs[count, 2] = f, columns[f], 1
            count += 1
    return runs[:count]


# Phases and heights are gathered first, so that the polynomial is vectorised; long runs vectorise
# the gathering, too.
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
