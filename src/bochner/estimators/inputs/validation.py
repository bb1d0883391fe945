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
from bochner.data.files.formats.notation import other_numbers
from bochner.data.transforms.transform import checked_source
from bochner.data.weights import positive_rows
from bochner.estimators.inputs.ranges import (
    in_double_precision,
    refuse_large_weights,
    weights_in_range,
)
from bochner.estimators.inputs.schemas import (
    FittedColumns,
    SourceScoreMixin,
    with_shuffled_parts,
    with_shuffled_rows,
)
from bochner.estimators.inputs.tables import TableInput
from bochner.kernels import Kernel, Precomputed
from bochner.wording import AdvisedError

PREDICTED_ROWS = 16_384  # at a time
Counted = NDArray[np.bool_] | None  # which rows have a positive weight; None: all
FILLED_ROWS = 16_384  # of a stream, from which the replacements of missing numbers are learned


@contextmanager
def unchanged_on_error(attributes: dict[str, Any]) -> Iterator[None]:
    """Restore the attributes of an estimator, its `__dict__`, if the block fails."""
    before = dict(attributes)
    try:
        with named_columns(attributes):
            yield
    except BaseException:
        attributes.clear()
        attributes.update(before)
        raise


@contextmanager
def named_columns(attributes: dict[str, Any]) -> Iterator[None]:
    """Name the columns in an error of the block, if the attributes of an estimator know them."""
    try:
        yield
    except AdvisedError as error:
        names = attributes.get("feature_names_in_")
        if names is None or not error.columns or max(error.columns) >= len(names):
            raise
        raise error.with_names(names.tolist()) from error


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
        self, X: Any, y: Any, *, counted: Counted = None, reset: bool, least: int
    ) -> tuple[Any, NDArray[Any] | None]:
        """Return rows and targets, if there are any, validated as by scikit-learn.

        Only the `counted` rows (None: all) have a say in what is learned from them.
        """

    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int) -> DataSource:
        """Return the rows of positive weight, validated."""
        if is_stream(X):
            X = with_shuffled_parts(X)
            rows = self._stream(X, y, sample_weight, reset=reset)
            return with_shuffled_rows(X, positive_rows(rows))
        refuse_blocks(X)
        weight, counted = checked_weights(X, sample_weight)
        if counted is not None and np.count_nonzero(counted) < least:
            raise ValueError(
                f"At least {least} rows of positive weight are needed; got "
                f"{np.count_nonzero(counted)}. Give more rows a positive weight."
            )
        if reset:
            self._learn_table(X, counted)
            self.__dict__.pop("schema_", None)
        X, y = self._arrays(X, y, counted=counted, reset=reset, least=least)
        source = ArraySource(X, y, weight)
        # A precomputed kernel has a column for each row, so that none can be left out.
        return source if is_precomputed(self.kernel) else positive_rows(source)

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
        with named_columns(self.__dict__):
            source = self._stream(X, None, None, reset=False)
            for batch in source.batches(PREDICTED_ROWS):
                self._kernel_of_rows(False).require(batch.X)
                yield ValidatedRows(batch.X)

    def _validated(
        self,
        X: Any,
        y: Any = "no_validation",
        *,
        counted: Counted = None,
        reset: bool,
        **checks: Any,
    ) -> Any:
        """Return rows, and targets if there are any, validated as by scikit-learn.

        Missing numbers are replaced, by what the `counted` rows say; values of a precomputed kernel
        must not be missing.
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
            self._filling = Filling.learn(rows if counted is None else rows[counted])
        rows = self._filling.rows(rows)
        self._kernel_of_rows(reset).require(rows)
        return (rows, *targets) if targets else rows

    def _kernel_of_rows(self, reset: bool) -> Kernel:
        """Return the kernel that validates rows: the fitted one, or for `reset` the parameter."""
        fitted = None if reset else self.__dict__.get("kernel_")
        return fitted or Kernel.resolve(self._value_of("kernel")).with_column_indices(self._names)


class NumericRegressor(SourceScoreMixin, RegressorMixin, InputValidation):  # type: ignore[misc]
    """A regressor whose targets are numbers, in one or several columns."""

    def _arrays(
        self, X: Any, y: Any, *, counted: Counted = None, reset: bool, least: int
    ) -> tuple[Any, NDArray[Any]]:
        refuse_other_notation(y)
        checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": least}
        return self._validated(X, y, counted=counted, reset=reset, **checks)  # type: ignore[no-any-return]

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
    return checked_source(as_source(X), _checked_in_range)


def checked_weights(
    X: Any, sample_weight: Any
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_] | None]:
    """Return the validated weights of rows, and which are positive; None if all rows are alike."""
    if sample_weight is None:
        return None, None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError(
            "sample_weight is zero for every row: there is nothing to learn. Give at least one row "
            "a positive weight."
        )
    weight = weights_in_range(weight)
    return weight, None if weight.all() else weight > 0


def refuse_other_notation(y: Any) -> None:
    """Refuse targets of text that are numbers in another notation, such as $1,234."""
    cells = np.asarray(y)
    if cells.ndim == 0 or cells.dtype.kind not in "OU":
        return
    others = other_numbers([cell for cell in cells.flat if isinstance(cell, str)])
    if others:
        raise ValueError(
            f"y seems to hold numbers that are not written like 1234.5, but {str(others[0])!r}. "
            "Turn them into numbers."
        )


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
    in_double_precision(batch.X)
    return batch


def _checked_in_range(batch: Batch) -> Batch:
    if batch.weight is not None:
        refuse_large_weights(batch.weight)
    return checked(batch)


def _place(batch: Batch) -> str:
    return f"Rows {batch.index.min()} to {batch.index.max()}"


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel, a name or a component, takes rows for its values."""
    named = isinstance(kernel, str) and kernel == "precomputed"
    return named or isinstance(kernel, Precomputed)


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
