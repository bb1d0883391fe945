"""Consistency of states: what a solver goes on from, as far as it can be told without the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bochner.validation import require_sound as require

CLOCK = 4  # numbers


def _records(value: Any) -> None:
    starts, table = value.starts, value.table
    require(starts.ndim == 1 and starts.dtype == np.int64, "its starts are no list")
    require(len(starts) > 0 and starts[0] == 1, "its first record is another")
    require(bool((np.diff(starts) >= 0).all()), "its starts are in no order")
    require(table.ndim == 2 and table.dtype == np.float64, "its table is none")
    require(table.shape[1] % 2 == 1 and starts[-1] <= len(table), "its table is too small")
    require(value.clock.shape == (CLOCK,) and value.clock.dtype == np.float64, "it has no clock")


def _averaged(value: Any) -> None:
    room = np.diff(value.records.starts)
    require(len(room) == len(value.basis.grids), "its records are of other grids")
    require(bool((value.basis.counts <= room).all()), "it has fewer records than bins")


def _entries(value: Any) -> None:
    for part in (value.rows, value.bins):
        require(part.ndim == 1 and part.dtype == np.int32, "its entries are none")
        require(bool((part >= 0).all()), "an entry is below the first")
    require(len(value.rows) == len(value.bins), "rows and bins differ in number")
    require(bool((value.bins < value.count).all()), "an entry is of a bin that is not there")


def _weights(value: Any) -> None:
    require(value.values.ndim == 2 and value.values.shape == value.lag.shape, "its weights differ")
    require(value.values.shape[1] == value.outputs, "it has weights of other outputs")
    require(0 <= value.columns <= len(value.values), "it has fewer weights than it says")


def _ledger(value: Any) -> None:
    require(value.values.ndim == 2 and value.seen.ndim == 1, "its parts are no table and list")
    require(len(value.values) == len(value.seen), "its rows differ in number")


def _state(value: Any) -> None:
    """Hold weights against the functions that they belong to, where a state has both."""
    basis, weights = getattr(value, "basis", None), getattr(value, "weights", None)
    if isinstance(weights, np.ndarray) and basis is not None and basis.size is not None:
        require(weights.ndim == 2, "its weights are no table")
        require(len(weights) in (basis.size, basis.size + 1), "it has weights of other functions")


def _backfitting(value: Any) -> None:
    require(value.values.ndim == 2, "its weights are no table")
    require(value.values.shape[1] == value.basis.size, "it has weights of other functions")


def _coordinates(value: Any) -> None:
    rows, outputs = value.rows, value.weights.shape[1]
    groups = [*value.active.values(), *value.found.values()]
    require(rows is not None or not groups, "it knows bins of rows that it does not know")
    if rows is None:
        return
    require(rows.f.ndim == 2 and rows.f.shape[1] == outputs, "it is of other outputs")
    require(rows.table.shape == (len(rows.f), 2 * outputs), "its rows differ in number")
    for group in groups:
        last = group.entries.rows.max(initial=-1)
        require(last < len(rows.f), "an entry is of a row that is not there")
        require(group.numbers.shape == (group.entries.count,), "its bins differ in number")


def _system(value: Any) -> None:
    for part in (value.residual, value.direction, value.product):
        require(part.shape == value.solution.shape, "its parts have other shapes")


STATES: dict[str, Callable[[Any], None]] = {
    "AveragedGradientState": _averaged,
    "AveragedWeights": _weights,
    "BackfittingState": _backfitting,
    "BinRecords": _records,
    "ConjugateDirections": _system,
    "CoordinateDescentState": _coordinates,
    "Entries": _entries,
    "LazyPredictions": _ledger,
    "State": _state,
}
