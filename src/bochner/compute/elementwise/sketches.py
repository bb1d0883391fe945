"""Count sketches of rows, products of their spectra, and permuted columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

Array = NDArray[Any]


def count_sketch(rows: Any, buckets: NDArray[np.int64], signs: Array, width: int) -> Array:
    """Return sums of the signed columns of dense or CSR rows, one for each bucket."""
    out = np.zeros((rows.shape[0], width), rows.dtype)
    if sp.issparse(rows):
        places = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        _count_sparse(rows.data, *places, buckets, signs, out)
    else:
        _count(np.ascontiguousarray(rows), buckets, signs, out)
    return out


def multiply_spectra(out: Array, first: int, factor: Array, real: bool) -> None:
    """Multiply the columns of `out` from `first` on by a factor, both spectra of real numbers.

    Real and imaginary parts alternate. `real` means that the first two columns are the spectrum at
    0 and at the highest frequency, which have no imaginary parts.
    """
    if out.shape[0] != factor.shape[0] or first < 0 or out.shape[1] < first + factor.shape[1]:
        raise ValueError(
            f"A spectrum of shape {factor.shape} does not fit into {out.shape} at column {first}."
        )
    _multiply(out, first, factor, real)


def place_columns(
    values: Array, places: NDArray[np.int64], factors: Array, out: Any, first: int
) -> None:
    """Write column j of `values` times factor j into the column first + places_j of `out`."""
    if out.shape[0] != len(values) or first < 0 or out.shape[1] < first + values.shape[1]:
        raise ValueError(
            f"Columns of shape {values.shape} do not fit into {out.shape} at column {first}."
        )
    _place(values, places, factors, out, first)


@compiled(
    "void(float32[:, ::1], int64[::1], float32[::1], float32[:, ::1])",
    "void(float64[:, ::1], int64[::1], float64[::1], float64[:, ::1])",
)
def _count(rows, buckets, signs, out):  # type: ignore[no-untyped-def]
    for i in range(rows.shape[0]):
        for u in range(rows.shape[1]):
            out[i, buckets[u]] += signs[u] * rows[i, u]


@compiled(
    "void(float32[::1], int64[::1], int64[::1], int64[::1], float32[::1], float32[:, ::1])",
    "void(float64[::1], int64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1])",
)
def _count_sparse(data, indices, indptr, buckets, signs, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        for at in range(indptr[i], indptr[i + 1]):
            u = indices[at]
            out[i, buckets[u]] += signs[u] * data[at]


@compiled(
    "void(float32[:, ::1], int64, float32[:, ::1], boolean)",
    "void(float64[:, ::1], int64, float64[:, ::1], boolean)",
)
def _multiply(out, first, factor, real):  # type: ignore[no-untyped-def]
    pairs = factor.shape[1] // 2
    for i in range(out.shape[0]):
        z, w = out[i, first:], factor[i]
        lowest, highest = z[0] * w[0], z[1] * w[1]
        for k in range(pairs):
            a, b, c, d = z[2 * k], z[2 * k + 1], w[2 * k], w[2 * k + 1]
            z[2 * k] = a * c - b * d
            z[2 * k + 1] = a * d + b * c
        if real:
            z[0], z[1] = lowest, highest


@compiled(
    "void(float32[:, ::1], int64[::1], float32[::1], float32[:, ::1], int64)",
    "void(float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], int64)",
)
def _place(values, places, factors, out, first):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        row = out[i, first:]
        for j in range(values.shape[1]):
            row[places[j]] = factors[j] * values[i, j]
