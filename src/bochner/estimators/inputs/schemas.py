"""Columns of the fitted rows, rows of files and other sources, and targets for scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, FileSource, Filling, RandomAccess, Schema, shuffled
from bochner.data.files.file_source import FileStream
from bochner.data.files.schema.schema import NumberedNames
from bochner.estimators.inputs.tables import Table

SCORED_ROWS = 65_536  # at a time
BUFFER_BYTES = 1 << 26
FEWEST_BUFFERED, MOST_BUFFERED = 1_024, 65_536  # rows


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """The columns of the rows of a fit: their number, names, categories and replacements for NaN.

    `table` maps categories to numbers, None if all columns are numbers. `schema` is that of the
    file of the fit, None for other rows.
    """

    count: int
    names: NDArray[Any] | None
    table: Table | None
    filling: Filling
    schema: Schema | None = None

    @classmethod
    def learn(cls, given: Any, source: DataSource, learned_rows: int) -> FittedColumns:
        """Return the columns of a file by its schema, those of other sources by a sample."""
        if not isinstance(given, FileSource):
            some = source.sample(learned_rows)
            filling = Filling.learn(some[some.weights > 0].X if some.weights.any() else some.X)
            return cls(source.n_columns, None, None, filling)
        schema = given.schema
        learned = schema.categorical or schema.parts
        table = Table(tuple(schema.names), schema.categories, schema.parts) if learned else None
        names = np.array(schema.names, dtype=object) if schema.named else None
        # Not source.n_columns, which reads rows: errors in these name the columns stored here.
        return cls(given.n_columns, names, table, Filling(np.array(schema.filling)), schema)

    def as_schema(self) -> Schema:
        """Return the schema by which files with these columns are read."""
        if self.schema is not None:
            return self.schema
        named = self.names is not None
        names = NumberedNames(self.count) if self.names is None else tuple(map(str, self.names))
        return Schema(
            names,
            (None,) * self.count if self.table is None else self.table.categories,
            missing="own",
            filling=tuple(self.filling.values.tolist()),
            named=named,
            parts=() if self.table is None else self.table.parts,
        )

    def require(self, given: Any, source: DataSource, owner: str) -> None:
        """Refuse other columns, and files whose categories have other numbers."""
        if source.n_columns != self.count:
            raise ValueError(
                f"X has {source.n_columns} columns, but {owner} was fitted with "
                f"{self.count}. Give the same columns."
            )
        if not isinstance(given, FileSource):
            return
        schema, known = given.schema, self.as_schema()
        same = (schema.categories, schema.parts) == (known.categories, known.parts)
        if not same or (schema.named and known.named and schema.names != known.names):
            raise ValueError(
                f"The file's columns or categories are not those that {owner} was fitted with. "
                "Read it as the rows of the fit were read: open_source(path, schema=model.schema_)."
            )


def schema_of(estimator: Any) -> Schema:
    """Return the schema by which files are read for a fitted estimator.

    It is `schema_` after a fit to files. After a fit to arrays or data frames it has the names of
    the columns, their categories and the replacements for missing numbers, but no targets.
    """
    columns: FittedColumns = estimator._columns
    return columns.as_schema()


def with_shuffled_parts(given: Any) -> Any:
    """Return a file that is read in parts with the parts in a new order each pass."""
    return given.mixed() if isinstance(given, FileStream) else given


def with_shuffled_rows(given: Any, source: DataSource) -> DataSource:
    """Return training rows: those of a file that is not in memory pass a shuffling buffer.

    Files are often sorted, and stochastic gradients need batches of unlike rows.
    """
    if not isinstance(given, FileSource) or isinstance(given, RandomAccess) or given.once:
        return source
    rows = BUFFER_BYTES // (8 * source.n_columns)
    return shuffled(source, min(MOST_BUFFERED, max(FEWEST_BUFFERED, rows)))


def concatenated(parts: Iterable[Any]) -> Any:
    """Return the predictions, arrays or tuples of arrays, of consecutive parts of the rows."""
    parts = list(parts)
    if not parts:
        raise ValueError("There must be at least one row to predict; the source has none (left).")
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    return np.concatenate(parts)


def read_targets(source: DataSource) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return all targets and weights of a source."""
    batches = list(source.batches(SCORED_ROWS))
    y = [batch.y for batch in batches if batch.y is not None]
    if not y:
        raise ValueError(
            "A score needs targets; the source has none. Give a file with the target's column, or "
            "blocks (X, y)."
        )
    weight = [batch.weight for batch in batches if batch.weight is not None]
    return np.concatenate(y), np.concatenate(weight) if weight else None


class SourceScoreMixin:
    """Lets `score` take a source with targets in place of X and y."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return scikit-learn's score: accuracy for classifiers, R^2 for regressors.

        X and y are arrays, or X is a source with targets.
        """
        if isinstance(X, DataSource):
            y, sample_weight = read_targets(X)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
