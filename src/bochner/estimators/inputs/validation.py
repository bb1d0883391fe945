"""InputValidation: the rows and targets of users become a source of validated numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from bochner.component import NamedComponents
from bochner.data import ArraySource, Batch, DataSource, Filling, Schema, as_source, mapped
from bochner.data.transforms.transform import checked_source
from bochner.estimators.inputs.schemas import (
    FittedColumns,
    SourceScoreMixin,
    with_shuffled_parts,
    with_shuffled_rows,
)
from bochner.estimators.inputs.tables import TableInput
from bochner.kernels import Kernel, Precomputed

LARGEST = 1e37  # that single precision holds, with room for a sum
PREDICTED_ROWS = 16_384  # at a time
FILLED_ROWS = 16_384  # of a stream, from which the replacements of missing numbers are learned


@contextmanager
def unchanged_on_error(attributes: dict[str, Any]) -> Iterator[None]:
    """Restore the attributes of an estimator, its `__dict__`, if the block fails."""
    before = dict(attributes)
    try:
        yield
    except BaseException:
        attributes.clear()
        attributes.update(before)
        raise


@dataclass(frozen=True, eq=False)
class ValidatedRows:
    """Rows of finite numbers, which need no further validation."""

    rows: Any


class InputValidation(TableInput, NamedComponents):
    """Validates the rows and targets of an estimator with a kernel.

    `_filling` replaces missing numbers.
    """

    kernel: Any
    _filling: Filling
    schema_: Schema

    @abstractmethod
    def _arrays(
        self, X: Any, y: Any, *, reset: bool, least: int
    ) -> tuple[Any, NDArray[Any] | None]:
        """Return rows and targets, if there are any, validated as by scikit-learn."""

    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int) -> DataSource:
        if not is_stream(X):
            refuse_blocks(X)
            if reset:
                self._learn_table(X)
                self.__dict__.pop("schema_", None)
            X, y = self._arrays(X, y, reset=reset, least=least)
            return array_source(X, y, sample_weight)
        X = with_shuffled_parts(X)
        return with_shuffled_rows(X, self._stream(X, y, sample_weight, reset=reset))

    def _stream(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> DataSource:
        """Return the rows of a source in their order, validated and without missing numbers."""
        source = stream(X, y, sample_weight)
        if reset:
            self._store_columns(FittedColumns.learn(X, source, FILLED_ROWS))
        else:
            self._columns.require(X, source, type(self).__name__)
        return mapped(source, self._filling)

    @property
    def _columns(self) -> FittedColumns:
        """The columns of the fit as a record."""
        schema = self.__dict__.get("schema_")
        columns = int(self.n_features_in_)
        return FittedColumns(columns, self._names, self._table, self._filling, schema)

    def _store_columns(self, columns: FittedColumns) -> None:
        for name in ("feature_names_in_", "schema_"):
            self.__dict__.pop(name, None)
        self.n_features_in_ = columns.count
        if columns.schema is not None:
            self.schema_ = columns.schema
        self._table, self._filling = columns.table, columns.filling
        if columns.names is not None:
            self.feature_names_in_ = columns.names

    def _validated_parts(self, X: Any) -> Iterator[ValidatedRows]:
        """Yield the rows of a source in validated parts."""
        source = self._stream(X, None, None, reset=False)
        for batch in source.batches(PREDICTED_ROWS):
            self._kernel_of_rows(False).require(batch.X)
            yield ValidatedRows(batch.X)

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
        """Return rows, and targets if there are any, validated as by scikit-learn.

        Missing numbers are replaced; values of a precomputed kernel must not be missing.
        """
        if isinstance(X, ValidatedRows):
            return X.rows
        if is_stream(X):
            source = self._stream(X, None, None, reset=False)
            return Batch.join(list(source.batches(PREDICTED_ROWS))).X
        checks["ensure_all_finite"] = True if is_precomputed(self.kernel) else "allow-nan"
        found = self._validated_arrays(X, y, reset=reset, **checks)
        rows, *targets = found if isinstance(found, tuple) else (found,)
        refuse_missing(rows)
        if reset:
            self._filling = Filling.learn(rows)
        rows = self._filling.rows(rows)
        self._kernel_of_rows(reset).require(rows)
        return (rows, *targets) if targets else rows

    def _kernel_of_rows(self, reset: bool) -> Kernel:
        """Return the kernel that validates rows: the fitted one, or for `reset` the parameter."""
        fitted = None if reset else self.__dict__.get("kernel_")
        return fitted or Kernel.resolve(self._value_of("kernel")).with_column_indices(self._names)


class NumericRegressor(SourceScoreMixin, RegressorMixin, InputValidation):  # type: ignore[misc]
    """A regressor whose targets are numbers, in one or several columns."""

    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": least}
        return self._validated(X, y, reset=reset, **checks)  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags


def is_stream(X: Any) -> bool:
    """Whether X is a source or an iterator of blocks, not an array, a frame or a list of rows."""
    return isinstance(X, DataSource) or (isinstance(X, Iterable) and not isinstance(X, Sized))


def refuse_blocks(X: Any) -> None:
    """Refuse a list of blocks, which could also be a list of rows."""
    if isinstance(X, list) and X and isinstance(X[0], tuple) and np.ndim(X[0][0]) > 0:
        raise ValueError(
            "A list of blocks could also be a list of rows. Give "
            "bochner.data.IteratorSource(blocks), or iter(blocks) to read them once."
        )


def stream(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source whose rows are validated when they are read."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Where X is a source or an iterator of blocks, y and sample_weight are part of it: "
            "give blocks (X, y) or (X, y, sample_weight)."
        )
    return checked_source(as_source(X), checked)


def array_source(X: Any, y: Any, sample_weight: Any) -> DataSource:
    """Return a source of validated arrays; this validates the weights."""
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
    """Refuse sparse rows with NaN."""
    if sp.issparse(X) and np.isnan(X.data).any():
        raise ValueError(
            "Sparse rows must not hold NaN. Give dense rows, in which a missing number is allowed, "
            "or fill it in."
        )


def checked(batch: Batch) -> Batch:
    """Return the batch if its numbers are finite or missing and its weights are valid."""
    values = batch.X.data if sp.issparse(batch.X) else batch.X
    if np.isinf(values).any():
        raise ValueError(f"{_place(batch)} contain infinity. Drop such rows or fill them in first.")
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
            f"{error} The rows were scaled by scale={scale!r}. Give scale=None, or restrict the "
            "kernel to columns that may be scaled."
        ) from error
