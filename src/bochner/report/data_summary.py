"""DataSummary: the rows, columns and target of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Column:
    """A summary of a column: name, kind, missing values, and range or number of categories.

    Parameters
    ----------
    name, kind : str
        The kind is a noun such as "number" or "category".
    missing : int
        The number of missing values.
    low, mean, high : float or None
        The least, mean and greatest number of a numeric column.
    categories : int or None
        The number of categories.

    Examples
    --------
    >>> Column("age", "number", low=18, mean=41.5, high=97).kind
    'number'
    """

    name: str
    kind: str
    missing: int = 0
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    categories: int | None = None


@dataclass(frozen=True, eq=False)
class DataSummary:
    """A summary of the data for a report.

    Parameters
    ----------
    rows : int
        The number of training rows.
    columns : sequence of Column
    target : str
        The name of the target.
    values : array
        The targets of the rows, or of a sample of them.
    source : str or None
        Where the rows come from, such as the name of a file.
    test_rows : int or None
        The number of rows that the models were evaluated on.
    malformed : int
        The number of rows that were skipped because they could not be read.

    Examples
    --------
    >>> import numpy as np
    >>> summary = DataSummary.of(np.zeros((3, 2)), [1.0, 2.0, 3.0], target="price")
    >>> summary.rows, [column.name for column in summary.columns]
    (3, ['column 0', 'column 1'])
    """

    rows: int
    columns: Sequence[Column]
    target: str
    values: NDArray[Any]
    source: str | None = None
    test_rows: int | None = None
    malformed: int = 0

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        target: str = "target",
        names: Sequence[Any] | None = None,
        source: str | None = None,
        test_rows: int | None = None,
    ) -> DataSummary:
        """Summarise arrays, sparse rows or a data frame."""
        rows, count = X.shape if hasattr(X, "shape") else np.shape(X)
        found = getattr(X, "columns", None) if names is None else names
        names = [f"column {j}" for j in range(count)] if found is None else list(found)
        if len(names) != count:
            raise ValueError(f"There must be a name for each of {count} columns; got {len(names)}.")
        X = X.tocsc() if hasattr(X, "tocsc") else X  # for quick access to columns
        columns = [_summarize(str(name), column_values(X, j, None)) for j, name in enumerate(names)]
        return cls(rows, columns, target, np.asarray(y), source, test_rows)

    @property
    def missing(self) -> int:
        """The number of missing values in all columns."""
        return sum(column.missing for column in self.columns)

    @property
    def kinds(self) -> dict[str, int]:
        """The number of columns of each kind."""
        found: dict[str, int] = {}
        for column in self.columns:
            found[column.kind] = found.get(column.kind, 0) + 1
        return found


def column_values(X: Any, j: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a column of an array, of sparse rows or of a data frame."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, j], dtype)
    if hasattr(X, "toarray"):
        return np.asarray(X[:, [j]].toarray()[:, 0], dtype)
    return np.asarray(X, dtype)[:, j]


def _summarize(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind not in "biuf":
        present = [str(v) for v in values.tolist() if v is not None and v == v]
        missing = len(values) - len(present)
        return Column(name, "category", missing, categories=len(set(present)))
    numbers = values.astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    missing = int(np.isnan(numbers).sum())
    if known.size == 0:
        return Column(name, "number", missing)
    return Column(
        name, "number", missing, float(known.min()), float(known.mean()), float(known.max())
    )
