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
from bochner.estimators.setup import Setup
from bochner.estimators.tables import Table

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


def checked(batch: Batch) -> Batch:
    """Return the batch if its numbers are finite and its weights are weights."""
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if not np.isfinite(values).all():
        raise ValueError(
            f"{_place(batch)} contain NaN or infinity. Drop such rows or fill them in before they "
            "come here."
        )
    weight = batch.weight
    if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(
            f"{_place(batch)} have weights that are negative, NaN or infinite. Weights must be "
            "finite numbers from 0 on."
        )
    return batch


def split(source: DataSource, wanted: bool | str, seed: int) -> DataSource:
    """Return the source without some rows to judge by, if there is to be early stopping.

    "auto" means: if there are enough rows, and they can be read more than once.
    """
    if wanted == "auto":
        enough = source.n_rows is None or source.n_rows >= FEWEST_ROWS_TO_HOLD_OUT
        wanted = enough and not source.once
    elif wanted and source.once:
        raise ValueError(
            "early_stopping=True needs rows that can be read more than once; got an iterator. "
            "Give early_stopping='auto' or False, or a source that can be read again."
        )
    if not wanted:
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
