"""The border of two samples: arrays or streams of rows become sources, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array

from bochner.data import ArraySource, Batch, DataSource, as_source, mapped
from bochner.estimators.setup import in_single_precision
from bochner.estimators.sources import checked, is_stream, refuse_blocks


def two_samples(X: Any, Y: Any, w: Any = None, v: Any = None) -> tuple[DataSource, DataSource]:
    """Return two samples as sources of finite rows, or refuse them with a sentence."""
    x, y = _sample(X, w, "X"), _sample(Y, v, "Y")
    require_alike(x.n_columns, y.n_columns)
    require_one_form(x.sample(1).X, y.sample(1).X)
    return x, y


def array_sample(given: Any, weight: Any, name: str) -> ArraySource:
    """Return rows at hand, which may be none."""
    refuse_blocks(given)
    rows = check_array(
        given,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=0,
        input_name=name,
    )
    if weight is not None:
        weight = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    return ArraySource(in_single_precision(rows), None, weight)


def require_alike(x: int, y: int) -> None:
    """Refuse samples with different numbers of columns."""
    if x != y:
        raise ValueError(f"Both samples need the same columns; got {x} of X and {y} of Y.")


def require_one_form(A: Any, B: Any) -> None:
    """Refuse rows of which some are sparse and others are not."""
    if sp.issparse(A) != sp.issparse(B):
        raise ValueError("One sample is sparse and the other is not. Give both in one form.")


def _sample(given: Any, weight: Any, name: str) -> DataSource:
    if not is_stream(given):
        sample = array_sample(given, weight, name)
        if sample.n_rows == 0:
            raise ValueError(f"The sample {name} has no rows. Give some.")
        return sample
    if weight is not None:
        raise ValueError(
            f"Where {name} is a source or an iterator of blocks, its weights are part of it: give "
            "blocks (rows, None, weights)."
        )
    return mapped(as_source(given), _rows_alone)


def _rows_alone(batch: Batch) -> Batch:
    """Return the batch if it has no targets and its numbers are finite in single precision."""
    if batch.y is not None:
        raise ValueError(
            "The rows of a sample have no targets. Give blocks of rows, or (rows, None, weights)."
        )
    checked(batch)
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if np.isnan(values).any():
        raise ValueError(
            f"Rows {batch.index.min()} to {batch.index.max()} contain NaN or infinity. Drop such "
            "rows or fill them in first."
        )
    in_single_precision(batch.X)
    return batch
