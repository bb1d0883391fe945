"""Consistency: records whose parts do not go together are refused before anything computes.

Compiled loops trust the shapes that they are given, so every array that a prediction hands to one
has been held against its partners here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bochner.persist.state_consistency import STATES
from bochner.validation import Validated
from bochner.validation import require_sound as require

MOST_COLUMNS = 1 << 31


def require_consistent(value: Any) -> None:
    """Refuse a record whose parts contradict each other, by a `ValueError`."""
    if isinstance(value, Validated):
        value.validate()
    for name, check in CHECKS.items():
        if any(kind.__name__ == name for kind in type(value).__mro__):
            check(value)


def _expansion(value: Any) -> None:
    weights, size = value.weights, value.basis.size
    require(weights.ndim == 2 and weights.dtype.kind == "f", "its weights are no table")
    require(weights.shape[1] > 0, "it has no output")
    require(value.intercept.shape in ((weights.shape[1],), ()), "its intercept has another shape")
    require(size is None or len(weights) <= size, "it has more weights than functions")


def _batch(value: Any) -> None:
    require(isinstance(value.X, np.ndarray | sp.csr_array | sp.csr_matrix), "X is no array")
    require(value.X.ndim == 2 and value.X.dtype.kind == "f", "X is no table of numbers")
    for part in (value.y, value.index, value.weight):
        require(part is None or part.shape[:1] == value.X.shape[:1], "its parts differ in length")
    require(value.weight is None or value.weight.ndim == 1, "its weights are no list")
    require(value.index.ndim == 1, "its numbers are no list")


def _labels(value: Any) -> None:
    count = len(value.classes)
    require(value.classes.ndim == 1 and count > 0, "its classes are no list")
    require(value.outputs in (1, count), "it has another number of outputs than classes")
    factors = value.class_factors
    require(factors is None or factors.shape == (count,), "weights and classes differ in number")


def _outputs(value: Any) -> None:
    require(0 < value.outputs < MOST_COLUMNS, "its number of outputs cannot be")
    copies = getattr(value, "copies", None)
    require(copies is None or (copies > 0 and value.outputs % copies == 0), "its copies cannot be")


def _scaling(value: Any) -> None:
    require(value.location.ndim == 1, "its location is no list")
    require(value.location.shape == value.factor.shape, "location and factor differ in length")


def _ranks(value: Any) -> None:
    require(value.knots.ndim == 1 and len(value.knots) > 0, "its knots are no list")
    require(value.knots.shape == value.shares.shape, "knots and shares differ in number")


def _setup(value: Any) -> None:
    columns = value.basis.input_columns
    if value.scaling is not None:
        require(columns in (None, len(value.scaling.location)), "its scaling is of other columns")
    warping = getattr(value, "warping", None)
    for place in () if warping is None or columns is None else warping.maps:
        require(0 <= place < columns, "it maps a column that is not there")


def _sums(value: Any) -> None:
    size, outputs = value.cross.shape if value.cross.ndim == 2 else (-1, -1)
    wanted: dict[str, tuple[int, ...]] = {
        "gram": (size, size),
        "cross": (size, outputs),
        "plain": (size,),
    }
    wanted |= dict.fromkeys(("origin", "total", "squares"), (outputs,))
    for name, shape in wanted.items():
        array = getattr(value, name)
        require(array.shape == shape and array.dtype == np.float64, f"{name} has another shape")


def _feature_posterior(value: Any) -> None:
    size, outputs = value.sums.cross.shape
    require(value.basis.size == size, "sums and functions differ in number")
    require(value.noises.shape == (outputs,), "noises and outputs differ in number")
    require(np.isfinite(value.sums.gram).all(), "its sums are not finite")
    require(bool((value.noises > 0).all()), "its noises are not positive")
    require(value.units.location.shape == (outputs,), "units and outputs differ in number")


def _units(value: Any) -> None:
    require(value.location.ndim == 1, "its location is no list")
    require(value.location.shape == value.deviation.shape, "its parts differ in length")


def _spectrum(value: Any) -> None:
    require(value.vectors.ndim == 2 and value.values.ndim == 1, "its parts are no table and list")
    require(value.vectors.shape[1] == len(value.values), "its parts differ in number")


def _estimator(value: Any) -> None:
    """Hold against each other what a fitted estimator predicts by."""
    known, columns = vars(value), vars(value).get("n_features_in_")
    expansion, setup = known.get("expansion_"), known.get("_setup")
    require(columns is None or 0 < columns < MOST_COLUMNS, "its number of columns cannot be")
    function = expansion.basis if expansion is not None else known.get("basis_")
    if function is not None:
        require(columns is not None, "nobody says how many columns it has")
        found = function.input_columns
        require(found in (None, columns), "its functions are of other columns")
    if setup is not None and expansion is not None:
        outputs = setup.targets.outputs
        require(expansion.weights.shape[1] == outputs, "it has weights of other outputs")
        require(
            setup.basis.size is None or expansion.basis.size is not None, "its basis is another"
        )
    _tables(known, columns)


def _tables(known: dict[str, Any], columns: int | None) -> None:
    filling, table, names = (known.get(n) for n in ("_filling", "_table", "feature_names_in_"))
    if filling is not None:
        require(filling.values.shape == (columns,), "what is filled in is of other columns")
    if table is not None:
        require(len(table.names) == len(table.categories) == columns, "its table has others")
    if names is not None:
        require(names.shape == (columns,), "its columns have other names")
    scaling, training = known.get("scaling_"), known.get("_training")
    require(scaling is None or len(scaling.location) == columns, "its scaling is of other columns")
    require(training is None or "expansion_" in known, "it has learned nothing, and goes on")
    require(not known.get("_unfinished") or training is not None, "it cannot go on")
    require(not known.get("_unfinished") or known.get("_used", -1.0) >= 0, "its time cannot be")


def _training(value: Any) -> None:
    counts = (value.batch_size - 1, value.pass_, value.position, value.step, value.rows)
    require(min(counts) >= 0, "its counts cannot be")


CHECKS: dict[str, Callable[[Any], None]] = {
    **STATES,
    "BaseEstimator": _estimator,
    "Batch": _batch,
    "Expansion": _expansion,
    "FeaturePosterior": _feature_posterior,
    "FeatureSums": _sums,
    "GaussianProcessSetup": _setup,
    "Labels": _labels,
    "Ranks": _ranks,
    "Scaling": _scaling,
    "Setup": _setup,
    "Spectrum": _spectrum,
    "Targets": _outputs,
    "Training": _training,
    "Units": _units,
}
