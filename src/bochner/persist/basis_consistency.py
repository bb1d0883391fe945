"""Consistency of bases: what a basis can find out from its parts has to be what its file says."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose, lcm, prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from bochner.features.binning.binning_basis import BinningBasis
from bochner.features.centers.center_basis import CenterBasis, PrecomputedBasis
from bochner.features.drawings import MatrixDrawing
from bochner.features.random.additive import RandomAdditiveBasis
from bochner.features.random.combined import CombinedBasis, SeenBasis
from bochner.features.random.fourier import WaveBasis
from bochner.features.random.histogram_fourier import MappedRows
from bochner.features.random.random_basis import UNIT
from bochner.features.random.sketch import RootsBasis, SketchBasis
from bochner.records import require_sound as require

MOST = 1 << 31  # functions and columns
FURTHEST_DRAW = 1 << 26
MOST_DEGREES = 4096
MOST_STEPS = 32  # by which a fingerprint may be away from its place, on average


def columns_of(basis: Any) -> int | None:
    """Return how many columns rows have that a basis takes, None if it takes some of them."""
    if isinstance(basis, BinningBasis):
        return basis.n_columns
    if isinstance(basis, PrecomputedBasis):
        return basis.centring.n_columns
    inner = getattr(basis, "inner", None)
    if isinstance(basis, SeenBasis | CombinedBasis):
        return None
    if inner is not None:
        return columns_of(inner)
    rows = basis.centring if hasattr(basis, "centring") else basis.rows
    return rows.rows.n_columns if isinstance(rows, MappedRows) else int(rows.n_columns)


def code_width(basis: Any) -> int:
    """Return how many columns the code of rows has."""
    if isinstance(basis, CombinedBasis):
        return int(basis.places[-1].stop)
    if isinstance(basis, SeenBasis):
        return code_width(basis.inner)
    if isinstance(basis, SketchBasis | RootsBasis):
        return int(basis.n_columns) + 1
    return int(basis.rows.n_columns if isinstance(basis, RandomAdditiveBasis) else basis.n_columns)


def _same(value: Any, fresh: Any) -> None:
    """Refuse numbers that are not those of a basis that is made anew of the same parts."""
    for name, wanted in vars(fresh).items():
        found = getattr(value, name, None)
        if isinstance(wanted, float):
            near = isinstance(found, int | float) and isclose(found, wanted, rel_tol=1e-9)
            require(near, f"its {name} is another")
        elif isinstance(wanted, int | tuple | np.dtype):
            require(found == wanted, f"its {name} is another")


def _seeded(value: Any) -> None:
    require(value.size is None or 0 < value.size < MOST, "its size cannot be")
    require(value.unit > 0 and value.unit_bytes > 0, "its units cannot be")
    require(value.memory >= 0, "its memory cannot be")
    require(not value.given or isinstance(value, WaveBasis), "it has been given functions")


def _waves(value: Any) -> None:
    parts = value.kernel, value.size, value.centring, value.drawing, value.seed
    _same(value, type(value)(*parts, memory=value.memory))
    shape = (value.n_columns, value.pairs)
    for number, unit in value.given.items():
        require(number >= 0 and isinstance(value.drawing, MatrixDrawing), "its units cannot be")
        sound = unit.shape == shape and unit.dtype == value.dtype and unit.flags.c_contiguous
        require(sound, "its frequencies have another shape")


def _functions(value: Any) -> None:
    size = value.size
    amplitude = 1.0 if size is None else size**-0.5
    require(isclose(value.amplitude, amplitude, rel_tol=1e-9), "its amplitude is another")
    require(value.n_columns == value.rows.n_columns, "it is of other columns")
    require(value.dtype == value.rows.dtype, "it is of another dtype")
    is_sketch = isinstance(value, SketchBasis | RootsBasis)
    require(is_sketch or value.unit == UNIT, "its units cannot be")


def _sketch(value: Any) -> None:
    kernel = value.lift.kernel
    _same(value, type(value)(kernel, value.size, value.rows, value.seed, value.memory))
    require(value.lift.rows.n_columns == value.rows.n_columns, "it is of other columns")
    require(value.lift.rows.dtype == value.dtype, "it is of another dtype")


def _degrees(value: Any) -> None:
    chances = value.law.probabilities
    require(chances.ndim == 1 and 0 < len(chances) <= MOST_DEGREES, "its degrees cannot be")
    require(bool((chances >= 0).all()) and 0 < chances.sum() < np.inf, "its chances cannot be")
    require(value.heights.shape == chances.shape, "heights and degrees differ in number")


def _additive(value: Any) -> None:
    waves, columns = value.waves, value.rows.n_columns
    require(waves.columns.shape == (value.size,), "waves and functions differ in number")
    require(waves.columns.dtype == np.int64, "its columns are no whole numbers")
    require(waves.numbers.shape == (3, value.size), "its waves have another shape")
    require(waves.numbers.flags.c_contiguous, "its waves have another order")
    require(waves.numbers.dtype == value.dtype == value.rows.dtype, "it is of another dtype")
    within = bool(((waves.columns >= 0) & (waves.columns < columns)).all())
    require(within and value.size > 0, "a wave is of a column that is not there")


def _random_additive(value: Any) -> None:
    chances = value.chances
    require(chances.shape == (value.rows.n_columns,), "chances and columns differ in number")
    require(bool((chances > 0).all()) and chances.sum() < np.inf, "its chances cannot be")
    parts = value.kernel, value.rows, chances, value.size, value.seed, value.memory
    _same(value, RandomAdditiveBasis(*parts))


def _centers(value: Any) -> None:
    centers, index = value.centers, value.index
    require(isinstance(centers, np.ndarray | sp.csr_array | sp.csr_matrix), "its centres are none")
    require(centers.ndim == 2 and centers.dtype == value.dtype, "its centres are no table")
    require(
        not isinstance(centers, np.ndarray) or centers.flags.c_contiguous, "they are transposed"
    )
    require(value.centring.dtype == value.dtype, "it is of another dtype")
    require(centers.shape[1] == value.centring.n_columns, "its centres have other columns")
    given = isinstance(value, PrecomputedBasis)
    require(given or centers.shape[0] == value.size, "its centres are not as many as it says")
    require(0 < value.size < MOST and value.memory >= 0, "its size cannot be")
    require(not (given or value.complete) or index is not None, "its centres have no numbers")
    if index is not None:
        require(index.shape == (value.size,) and index.dtype == np.int64, "its numbers are none")
        require(index.min() >= 0 and index.max() < 1 << 40, "its centres have odd numbers")


def _bins(value: Any) -> None:
    columns = value.n_columns
    for grid in value.grids:
        parts = {"inverse": np.float64, "shift": np.float64, "multiplier": np.uint64}
        for name, dtype in parts.items():
            part = getattr(grid, name)
            require(part.shape == (columns,) and part.dtype == dtype, "its grids differ in columns")
    require(columns > 0 and value.size < MOST, "its size cannot be")


def _mixed(value: Any) -> None:
    require(value.mixing.shape == (value.inner.size, value.size), "its mixing has another shape")
    require(value.mixing.dtype == value.dtype == value.inner.dtype, "it is of another dtype")


def _wrapped(value: Any) -> None:
    require(value.size == value.inner.size, "it has more functions, or fewer, than it keeps")
    if hasattr(value, "dtype"):
        require(value.dtype == value.inner.dtype, "it is of another dtype")
    require(getattr(value, "atom", 1) == getattr(value.inner, "atom", 1), "its draws are others")


def _whitened(value: Any) -> None:
    _wrapped(value)
    require(isinstance(value.inner.plain, CenterBasis), "it has no centres")


def _selected(value: Any) -> None:
    chosen, inner = value.chosen, value.inner
    require(chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype == np.int64, "it has no draws")
    require(bool((np.diff(chosen) >= 0).all()) and chosen[0] >= 0, "its draws are in no order")
    last = FURTHEST_DRAW if inner.size is None else -(-inner.size // inner.atom)
    require(chosen[-1] < min(last, FURTHEST_DRAW), "it has draws that are not there")
    require(value.scales.shape[:1] == chosen.shape, "scales and draws differ in number")
    require(value.atom == inner.atom and value.size == inner.atom * len(chosen), "its size differs")
    require(value.dtype == inner.dtype == value.scales.dtype, "it is of another dtype")


def _combined(value: Any) -> None:
    require(len(value.parts) > 0, "it has no parts")
    require(value.size is None or 0 < value.size < MOST, "its size cannot be")
    end = 0
    for part, place in zip(value.parts, value.places, strict=True):
        width = code_width(part)
        require((place.start, place.stop, place.step) == (end, end + width, None), "parts overlap")
        require(part.dtype == value.dtype, "its parts are of other dtypes")
        end += width


def _sum(value: Any) -> None:
    require(value.turn == lcm(*(part.atom for part in value.parts)), "its turns are others")
    require(value.atom == value.turn * len(value.parts), "its draws are others")
    require(len(value.scales) == len(value.parts), "its scales are not as many as its parts")


def _product(value: Any) -> None:
    require(value.atom == prod(part.atom for part in value.parts) <= 4096, "its draws are others")


def _centring(value: Any) -> None:
    require(0 < value.n_columns < MOST, "its number of columns cannot be")
    centre = value.centre
    require(centre is None or centre.shape == (value.n_columns,), "its centre is of other columns")
    require(value.dtype in (np.float32, np.float64), "its dtype cannot be")


def _remembered(value: Any) -> None:
    require(0 <= value.rows < MOST, "its rows cannot be")


BASES: dict[str, Callable[[Any], None]] = {
    "AdditiveBasis": _additive,
    "BinningBasis": _bins,
    "CenterBasis": _centers,
    "Centring": _centring,
    "CombinedBasis": _combined,
    "HarmonicsBasis": _degrees,
    "MaclaurinBasis": _degrees,
    "NystroemBasis": _mixed,
    "ProductBasis": _product,
    "RandomAdditiveBasis": _random_additive,
    "RandomFunctions": _functions,
    "RememberedBasis": _remembered,
    "RootsBasis": _sketch,
    "SeededBasis": _seeded,
    "SeenBasis": _wrapped,
    "SelectedBasis": _selected,
    "SketchBasis": _sketch,
    "SumBasis": _sum,
    "TabulatedBasis": _wrapped,
    "WaveBasis": _waves,
    "WhitenedBasis": _whitened,
}
