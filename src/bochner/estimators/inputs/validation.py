"""Border: what users give as rows and targets becomes a source of checked numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from bochner.data import Batch, DataSource, Filling, Schema, mapped
from bochner.estimators.automatic.defaults import is_precomputed
from bochner.estimators.inputs.schemas import (
    CheckedRows,
    mixed,
    require_columns,
    settle_columns,
    with_parts_mixed,
)
from bochner.estimators.inputs.sources import (
    array_source,
    is_stream,
    refuse_blocks,
    refuse_missing,
    stream,
    validated_table,
)
from bochner.estimators.inputs.tables import Table, has_categories
from bochner.estimators.parameters.named_components import NamedComponents
from bochner.kernels import Kernel

PREDICTED_ROWS = 16_384  # at a time
FILLED_ROWS = 16_384  # of a stream, from which it is learned what stands for missing numbers


class Border(NamedComponents):
    """The part of an estimator with a kernel that looks at rows and targets first.

    `_table` says how a data frame with text becomes numbers; for other rows it is None. `_filling`
    says what stands for missing numbers.
    """

    kernel: Any
    _table: Table | None
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
        """Walk through the rows of a source in parts that need no further look."""
        source = self._stream(X, None, None, reset=False)
        for batch in source.batches(PREDICTED_ROWS):
            self._seen_by(False).require(batch.X)
            yield CheckedRows(batch.X)

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
        """Return rows, and targets if there are any, checked as scikit-learn does.

        What is missing is filled in; of a kernel's values none may be.
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
            found = validated_table(self, self._table, X, y, checks)
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
        """Return the kernel that is to see the rows: the one that was asked for, or the fitted."""
        fitted = None if reset else self.__dict__.get("kernel_")
        return fitted or Kernel.resolve(self._meant("kernel")).placed(self._names)

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
