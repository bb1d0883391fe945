"""Files: what an estimator takes from the schema of a file, and the rows of sources it predicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, FileSource, Filling, RandomAccess, Schema, shuffled
from bochner.data.files.file_source import FileStream
from bochner.estimators.inputs.tables import Table

WALKED_ROWS = 65_536  # at a time
MIXED_BYTES = 1 << 26
MOST_MIXED, FEWEST_MIXED = 65_536, 1_024  # rows


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that are numbers already, without missing ones; they need no check."""

    rows: Any


def table_of(schema: Schema) -> Table | None:
    """Return how data frames with these columns become numbers, None if they are numbers."""
    return Table(schema.names, schema.categories) if schema.categorical else None


def settle_columns(estimator: Any, given: Any, source: DataSource, learned_rows: int) -> None:
    """Take columns, categories and fillings from a file's schema, or from rows of a source."""
    for name in ("feature_names_in_", "schema_"):
        estimator.__dict__.pop(name, None)
    estimator.n_features_in_ = source.n_columns
    if not isinstance(given, FileSource):
        estimator._table, estimator._filling = None, Filling.learn(source.sample(learned_rows).X)
        return
    schema = estimator.schema_ = given.schema
    estimator._table, estimator._filling = table_of(schema), Filling(np.array(schema.filling))
    if schema.named:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)


def require_columns(estimator: Any, given: Any, source: DataSource) -> None:
    """Refuse rows of other columns than the fit's, and files whose categories are numbered anew."""
    name = type(estimator).__name__
    if source.n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_columns} columns, but {name} was fitted with "
            f"{estimator.n_features_in_}. Give the same columns."
        )
    if not isinstance(given, FileSource):
        return
    schema, known = given.schema, schema_of(estimator)
    same = schema.categories == known.categories
    if not same or (schema.named and known.named and schema.names != known.names):
        raise ValueError(
            f"The file's columns or categories are not those that {name} was fitted with. Read it "
            "as the rows of the fit were read: open_source(path, schema=model.schema_)."
        )


def with_parts_mixed(given: Any) -> Any:
    """Return rows of files that are not kept with their parts in a new order each pass."""
    return given.mixed() if isinstance(given, FileStream) else given


def mixed(given: Any, source: DataSource) -> DataSource:
    """Return rows to learn from: those of a file that are not kept go through a buffer.

    Files are often sorted, and steps on rows that are alike lead astray.
    """
    if not isinstance(given, FileSource) or isinstance(given, RandomAccess) or given.once:
        return source
    rows = MIXED_BYTES // (8 * source.n_columns)
    return shuffled(source, min(MOST_MIXED, max(FEWEST_MIXED, rows)))


def schema_of(estimator: Any) -> Schema:
    """Return the schema by which files are read for a fitted estimator.

    It is `schema_` after a fit to files. After a fit to arrays or data frames it has the names of
    the columns, their categories and what stands for missing numbers, but no targets.
    """
    if "schema_" in estimator.__dict__:
        return estimator.schema_  # type: ignore[no-any-return]
    table: Table | None = estimator._table
    columns = int(estimator.n_features_in_)
    named = "feature_names_in_" in estimator.__dict__
    names = estimator.feature_names_in_ if named else range(columns)
    return Schema(
        tuple(map(str, names)),
        (None,) * columns if table is None else table.categories,
        missing="own",
        filling=tuple(estimator._filling.values.tolist()),
        named=named,
    )


def joined(parts: Iterable[Any]) -> Any:
    """Return the predictions of parts of the rows one after the other, or tuples of such."""
    parts = list(parts)
    if not parts:
        raise ValueError("There must be at least one row to predict; the source has none (left).")
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    return np.concatenate(parts)


def targets_of(source: DataSource) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return all targets and weights of a source, to judge predictions by."""
    batches = list(source.batches(WALKED_ROWS))
    y = [batch.y for batch in batches if batch.y is not None]
    if not y:
        raise ValueError(
            "Predictions are judged by targets, but the source has none. Give a file with the "
            "target's column, or blocks (X, y)."
        )
    weight = [batch.weight for batch in batches if batch.weight is not None]
    return np.concatenate(y), np.concatenate(weight) if weight else None


class SourceScore:
    """A `score` that takes sources, which bring their own targets, too."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return how good predictions are, as scikit-learn judges them.

        X and y are arrays, or X is a source with targets.
        """
        if isinstance(X, DataSource):
            y, sample_weight = targets_of(X)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
