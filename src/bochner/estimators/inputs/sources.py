"""Sources: what users give as X becomes rows that are checked, and split for early stopping."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y

from bochner.data import (
    ArraySource,
    Batch,
    DataSource,
    HeldOut,
    RandomAccess,
    as_source,
    hold_out,
    mapped,
)
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.inputs.tables import Table

HELD_OUT_SHARE = 0.1
MOST_HELD_OUT = 2_500
FEWEST_ROWS_TO_HOLD_OUT = 1_000
WALKED_ROWS = 16_384  # at a time


def is_stream(X: Any) -> bool:
    """Tell a source or an iterator of blocks from an array, a frame or a list of rows."""
    return isinstance(X, DataSource) or (isinstance(X, Iterable) and not isinstance(X, Sized))


def refuse_blocks(X: Any) -> None:
    """Refuse a list of blocks: it could as well be a list of rows."""
    if isinstance(X, list) and X and isinstance(X[0], tuple) and np.ndim(X[0][0]) > 0:
        raise ValueError(
            "A list of blocks cannot be told from a list of rows. Give "
            "bochner.data.IteratorSource(blocks), or iter(blocks) to go through them once."
        )


def validated_table(estimator: Any, table: Table, X: Any, y: Any, checks: dict[str, Any]) -> Any:
    """Return the rows of a data frame with categories as numbers, and the targets if given."""
    X = table.encode(X)
    estimator.n_features_in_ = X.shape[1]
    estimator.feature_names_in_ = np.array(table.names, dtype=object)
    if isinstance(y, str):  # scikit-learn's way to say that there is none to check
        return check_array(X, **checks)
    return check_X_y(X, y, **checks)


def metadata(sample_weight: Any) -> dict[str, Any] | None:
    """Return what callbacks are told of the weights."""
    return None if sample_weight is None else {"sample_weight": sample_weight}


def stream(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source whose batches are checked as they come."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Where X is a source or an iterator of blocks, y and sample_weight are part of it: "
            "give blocks (X, y) or (X, y, sample_weight)."
        )
    return mapped(as_source(X), checked)


def array_source(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source of arrays that were checked already; only the weights are looked at."""
    if sample_weight is None:
        return ArraySource(X, y)
    sample_weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not sample_weight.any():
        raise ValueError(
            "sample_weight is zero for every row: there is nothing to learn. Give at least one row "
            "a positive weight."
        )
    return ArraySource(X, y, sample_weight)


def refuse_missing(X: Any) -> None:
    """Refuse sparse rows with NaN: what is not stored there is 0, not missing."""
    if sp.issparse(X) and np.isnan(X.data).any():
        raise ValueError(
            "Sparse rows must not hold NaN. Give dense rows, in which a missing number is allowed, "
            "or fill it in."
        )


def checked(batch: Batch) -> Batch:
    """Return the batch if its numbers are finite or missing and its weights are weights."""
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if np.isinf(values).any():
        raise ValueError(
            f"{_place(batch)} contain infinity. Drop such rows or fill them in before they come "
            "here."
        )
    refuse_missing(batch.X)
    weight = batch.weight
    if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(
            f"{_place(batch)} have weights that are negative, NaN or infinite. Weights must be "
            "finite numbers from 0 on."
        )
    return batch


def holds_out(source: DataSource, wanted: bool | str) -> bool:
    """Whether rows are held out; "auto": if there are enough, that can be read more than once."""
    enough = source.n_rows is None or source.n_rows >= FEWEST_ROWS_TO_HOLD_OUT
    return enough and not source.once if wanted == "auto" else bool(wanted)


def split(source: DataSource, wanted: bool | str, seed: int) -> DataSource:
    """Return the source without some rows to judge by, if there is to be early stopping."""
    if wanted is True and source.once:
        raise ValueError(
            "early_stopping=True needs rows that can be read more than once; got an iterator. "
            "Give early_stopping='auto' or False, or a source that can be read again."
        )
    if not holds_out(source, wanted):
        return source
    # Of many rows a smaller share: the first rows alone might not stand for all.
    share = min(HELD_OUT_SHARE, MOST_HELD_OUT / source.n_rows) if source.n_rows else HELD_OUT_SHARE
    return hold_out(source, share, MOST_HELD_OUT, seed)


def held_out_rows(source: HeldOut, setup: Setup) -> Batch:
    """Return the held-out rows, scaled and coded; a stream has to be walked through for them."""
    if not isinstance(source, RandomAccess):
        for _ in source.batches(WALKED_ROWS):
            met = source.held_out()
            if met is not None and len(met) >= MOST_HELD_OUT:
                break
    rows = source.held_out()
    if rows is None or len(rows) == 0 or source.n_rows == 0:
        raise ValueError(
            "There are too few rows to hold a tenth of them out. Give early_stopping=False."
        )
    rows = setup(rows)
    if rows.weight is not None and not rows.weight.any():
        raise ValueError(
            "All held-out rows have weight 0, so there is nothing to judge by. Give "
            "early_stopping=False, or leave such rows out."
        )
    return rows


def _place(batch: Batch) -> str:
    return f"Rows {batch.index.min()} to {batch.index.max()}"


def require_square(source: DataSource, once: bool, scale: str | None) -> None:
    """Refuse rows that are not all values of a kernel between training rows, as they are."""
    if once or source.once:
        raise ValueError(
            "kernel='precomputed' needs the kernel's values between all training rows at once; got "
            "rows that come in parts. Give fit the whole matrix, or give the kernel itself."
        )
    if source.n_rows != source.n_columns:
        raise ValueError(
            "With kernel='precomputed' X at fit is the square matrix of the kernel between all "
            f"training rows; got {source.n_rows} rows and {source.n_columns} columns. Give "
            "k(X, X), and to predict k(X_new, X)."
        )
    if scale is not None:
        raise ValueError(
            f"Values of a precomputed kernel cannot be scaled; got scale={scale!r}. Scale the rows "
            "before their kernel is computed, and leave scale=None."
        )
