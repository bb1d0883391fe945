"""InputValidation: rows and targets that users give become a source of checked numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from bochner.component import NamedComponents
from bochner.data import ArraySource, Batch, DataSource, Filling, Schema, as_source, mapped
from bochner.estimators.inputs.schemas import (
    CheckedRows,
    mixed,
    require_columns,
    settle_columns,
    with_parts_mixed,
)
from bochner.estimators.inputs.tables import Table, has_categories, validate_table
from bochner.kernels import Kernel, Precomputed

LARGEST = 1e37  # that single precision holds, with room for a sum
PREDICTED_ROWS = 16_384  # at a time
FILLED_ROWS = 16_384  # of a stream, from which the numbers that replace missing ones are learned


class InputValidation(NamedComponents):
    """Validates the rows and targets of an estimator with a kernel.

    `_table` says how a data frame with text becomes numbers, None for other rows; `_filling` says
    what replaces missing numbers.
    """

    kernel: Any
    _table: Table | None = None
    _filling: Filling
    schema_: Schema

    @abstractmethod
    def _arrays(
        self, X: Any, y: Any, *, reset: bool, least: int
    ) -> tuple[Any, NDArray[Any] | None]:
        """Return rows and targets, if there are any, checked as scikit-learn does."""

    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int) -> DataSource:
        if not is_stream(X):
            refuse_blocks(X)
            if reset:
                self._table = Table.learn(X) if has_categories(X) else None
                self.__dict__.pop("schema_", None)
            X, y = self._arrays(X, y, reset=reset, least=least)
            return array_source(X, y, sample_weight)
        X = with_parts_mixed(X)
        return mixed(X, self._stream(X, y, sample_weight, reset=reset))

    def _stream(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> DataSource:
        """Return the rows of a source in their order, checked and without missing numbers."""
        source = stream(X, y, sample_weight)
        if reset:
            settle_columns(self, X, source, FILLED_ROWS)
        else:
            require_columns(self, X, source)
        return mapped(source, self._filling)

    def _checked(self, X: Any) -> Iterator[CheckedRows]:
        """Yield the rows of a source in parts that are checked already."""
        source = self._stream(X, None, None, reset=False)
        for batch in source.batches(PREDICTED_ROWS):
            self._seen_by(False).require(batch.X)
            yield CheckedRows(batch.X)

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
        """Return rows, and targets if there are any, checked as scikit-learn does.

        Missing numbers are replaced; values of a precomputed kernel must not be missing.
        """
        if isinstance(X, CheckedRows):
            return X.rows
        if is_stream(X):
            source = self._stream(X, None, None, reset=False)
            return Batch.join(list(source.batches(PREDICTED_ROWS))).X
        checks["ensure_all_finite"] = True if is_precomputed(self.kernel) else "allow-nan"
        if self._table is None:
            found = validate_data(self, X, y, reset=reset, **checks)
        else:
            found = validate_table(self, self._table, X, y, **checks)
        rows, *targets = found if isinstance(found, tuple) else (found,)
        refuse_missing(rows)
        if reset:
            self._filling = Filling.learn(rows)
        rows = self._filling.rows(rows)
        self._seen_by(reset).require(rows)
        return (rows, *targets) if targets else rows

    @property
    def _names(self) -> NDArray[Any] | None:
        """The names of the columns, if they have any."""
        return self.__dict__.get("feature_names_in_")

    def _seen_by(self, reset: bool) -> Kernel:
        """Return the kernel that the rows are for: the parameter, or after a fit the fitted one."""
        fitted = None if reset else self.__dict__.get("kernel_")
        return fitted or Kernel.resolve(self._meant("kernel")).with_column_indices(self._names)

    def _numbers(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        """Return rows and targets that are numbers, checked as scikit-learn does."""
        return self._validated(  # type: ignore[no-any-return]
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least,
            reset=reset,
        )


def is_stream(X: Any) -> bool:
    """Whether X is a source or an iterator of blocks, not an array, a frame or a list of rows."""
    return isinstance(X, DataSource) or (isinstance(X, Iterable) and not isinstance(X, Sized))


def refuse_blocks(X: Any) -> None:
    """Refuse a list of blocks: it could as well be a list of rows."""
    if isinstance(X, list) and X and isinstance(X[0], tuple) and np.ndim(X[0][0]) > 0:
        raise ValueError(
            "A list of blocks cannot be told from a list of rows. Give "
            "bochner.data.IteratorSource(blocks), or iter(blocks) to go through them once."
        )


def stream(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source whose batches are checked as they come."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Where X is a source or an iterator of blocks, y and sample_weight are part of it: "
            "give blocks (X, y) or (X, y, sample_weight)."
        )
    return mapped(as_source(X), checked)


def array_source(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source of checked arrays; the weights are checked here."""
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


def _place(batch: Batch) -> str:
    return f"Rows {batch.index.min()} to {batch.index.max()}"


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel, a name or a component, takes rows for its values."""
    named = isinstance(kernel, str) and kernel == "precomputed"
    return named or isinstance(kernel, Precomputed)


def in_single_precision(X: Any) -> Any:
    """Return rows, or refuse numbers that are infinite in the single precision of the features."""
    values = X.data if sp.issparse(X) else X
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"Numbers in X must be at most {LARGEST:g}, since features are made in single "
            f"precision; got {largest:g}. Divide such columns by their size."
        )
    return X


def require_square(source: DataSource, partial_rows: bool, scale: str | None) -> None:
    """Refuse rows that are not all values of a kernel between training rows, as they are."""
    if partial_rows or source.once:
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


def require_scaled_rows(kernel: Kernel, sample: Batch, scale: str | None) -> None:
    """Refuse a scaling that turns rows into what the kernel is not defined for."""
    try:
        kernel.require(sample.X)
    except ValueError as error:
        raise ValueError(
            f"{error} The rows are what scale={scale!r} has made of them. "
            "Give scale=None, or let the kernel see columns that may be scaled."
        ) from error
