"""Suspicions: columns and labels that are probably not what the user means, found before a fit.

Each bar is high: continuous numbers that differ in every row, classes that are easy to tell apart,
and small tables raise no suspicion.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.inputs.tables import Table
from bochner.exceptions import DataWarning
from bochner.wording import amount

FEWEST_ROWS = 200  # below, chance explains too much
SAMPLE_ROWS = 2_000
MOST_COLUMNS = 256  # more are pixels or counts of words
READ_ROWS = 16_384  # at a time
LISTED = 5
NEARLY_ALL = 0.8  # of the rows, in different categories
SPARSEST = 3  # an identifier takes at least one in three of the numbers in its range
SAME = 0.9999  # share of the variance that a copy of the target explains
FEW_VALUES = 20  # a target with fewer values has other copies than monotone ones
FEWEST_LABELS, FEW_ROWS_A_LABEL = 100, 10
LARGE_MODEL, MUCH_LARGER = 50_000_000, 100  # bytes, and times the bytes of the rows
IDENTIFIER = re.compile(r"(?i)(^|[ _.-])(id|uuid|guid|index|rownames)$|^unnamed[: ]|(?-i:[a-z]ID$)")


def warn_of_columns(
    source: DataSource, names: NDArray[Any] | None, table: Table | None, *, of_files: bool = False
) -> None:
    """Warn of columns that number the rows, are constant, or give the target away.

    They are looked for in a sample; only numbers of rows are confirmed by reading all rows. Columns
    of files are left out in another way than those of data frames.
    """
    if source.once or source.n_rows is None or source.n_rows < FEWEST_ROWS:
        return
    if not 1 < source.n_columns <= MOST_COLUMNS:
        return
    sample = source.sample(SAMPLE_ROWS)
    if sp.issparse(sample.X):
        return
    columns = SuspectedColumns(source, sample, names, table, of_files)
    for sentence in columns.sentences():
        warnings.warn(sentence, DataWarning, stacklevel=5)


def warn_of_labels(counts: NDArray[np.int64]) -> None:
    """Warn of nearly as many labels as rows, given the number of rows of each label."""
    labels, rows = len(counts), int(counts.sum())
    if labels >= FEWEST_LABELS and rows < FEW_ROWS_A_LABEL * labels:
        warnings.warn(
            f"The target has {labels:,} different labels in {rows:,} rows, which is "
            f"{rows / labels:.1f} rows a label: they may be names or numbers rather than classes. "
            "Predict numbers by regression, or join rare labels.",
            DataWarning,
            stacklevel=5,
        )


class PlannedModel(Protocol):
    """A plan, which knows the expected size of its model."""

    @property
    def model_bytes(self) -> int | None:
        """The expected size of the model, None if it is unknown."""


def warn_of_size(plan: PlannedModel, source: DataSource) -> None:
    """Warn of a model that is expected to be much larger than its rows in double precision."""
    model_bytes, rows = plan.model_bytes, source.n_rows
    if model_bytes is None or rows is None or model_bytes < LARGE_MODEL:
        return
    data = 8 * rows * source.n_columns
    if model_bytes > MUCH_LARGER * data:
        warnings.warn(
            f"The model will take about {amount(model_bytes)}, more than {MUCH_LARGER} times as "
            f"much as its rows, {amount(data)}: it has a weight of each function for each label or "
            "output. Join rare labels, predict numbers by regression, or give fewer functions: "
            "features=Centers(500).",
            DataWarning,
            stacklevel=5,
        )


@dataclass(frozen=True, eq=False)
class SuspectedColumns:
    """Columns of a source, and a sample of its rows; `y` are the targets, in one column."""

    source: DataSource
    sample: Batch
    names: NDArray[Any] | None
    table: Table | None
    of_files: bool

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each kind of suspicion that has columns."""
        columns = set(range(self.sample.X.shape[1]))
        constant = sorted(filter(self._is_constant, columns))
        numbering = sorted(filter(self._numbers_rows, columns - set(constant)))
        others = columns - {*constant, *numbering}
        telling = sorted(filter(self._gives_target_away, others))
        if constant:
            what = "is constant" if len(constant) == 1 else "are constant"
            named = f"{self._listed(constant)} {what}"
            yield f"{named}: nothing can be learned, so {self._drop(constant)}"
        if numbering:
            what = "has" if len(numbering) == 1 else "have"
            yield (
                f"{self._listed(numbering)} {what} another value in (nearly) every row, as numbers "
                f"and names of rows have: nothing can be learned for other rows, so "
                f"{self._drop(numbering)}"
            )
        if len(telling) == 1 and len(others) > 1:
            yield (
                f"{self._listed(telling)} alone explains the target (nearly) completely, as a copy "
                f"of it would. If it is not known before the target: {self._drop(telling)}"
            )

    def _is_constant(self, j: int) -> bool:
        values = self.sample.X[:, j]
        return bool(np.ptp(values) == 0 and np.ptp(self._all_values(j)) == 0)

    def _numbers_rows(self, j: int) -> bool:
        """Whether each row has another category, or another whole number of a dense range."""
        rows = self.source.n_rows or 0
        categories = None if self.table is None else self.table.categories[j]
        if categories is not None:
            return len(categories) >= NEARLY_ALL * rows
        values = self.sample.X[:, j]
        if (values != np.floor(values)).any() or not _are_distinct(values):
            return False
        dense = np.ptp(values) < SPARSEST * rows
        named = IDENTIFIER.search(self._name(j)) is not None
        return bool(dense or named) and _are_distinct(self._all_values(j))

    def _gives_target_away(self, j: int) -> bool:
        """Whether the target is a monotone function of a column, or a renaming of it."""
        y = self.sample.y
        if y is None or y.size != len(y):
            return False
        x, y = self.sample.X[:, j], y.reshape(len(y))
        labels = len(np.unique(y))
        if y.dtype.kind in "iuf" and labels >= FEW_VALUES:
            return max(_share(x, y), _share(_codes(x), _codes(y))) > SAME
        if labels < 2 or labels != len(np.unique(x)):
            return False
        return bool(np.unique(np.stack([_codes(x), _codes(y)]), axis=1).shape[1] == labels)

    def _all_values(self, j: int) -> NDArray[Any]:
        """Return a column of all rows, or of the sample if the rows are a stream."""
        batches = iter([self.sample])
        if isinstance(self.source, RandomAccess) and len(self.sample) < self.source.n_rows:
            batches = self.source.batches(READ_ROWS)
        return np.concatenate([batch.X[:, j] for batch in batches])

    def _name(self, j: int) -> str:
        return str(j) if self.names is None else str(self.names[j])

    def _listed(self, columns: list[int]) -> str:
        names = [repr(self._name(j)) for j in columns] if self.names is not None else columns
        more = f" and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
        word = "Column" if len(columns) == 1 else "Columns"
        return f"{word} {', '.join(map(str, names[:LISTED]))}{more}"

    def _drop(self, columns: list[int]) -> str:
        """Return how to leave columns out, without a capital at the beginning."""
        if self.names is None:
            return f"leave {'it' if len(columns) == 1 else 'them'} out."
        names = [self._name(j) for j in columns]
        return f"leave out: {f'drop={names!r}' if self.of_files else f'X.drop(columns={names!r})'}."


def _are_distinct(values: NDArray[Any]) -> bool:
    return len(np.unique(values)) == len(values)


def _codes(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rank of each value among the distinct ones."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _share(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the share of the variance of y that a linear function of x explains."""
    x, y = (values.astype(np.float64) - float(values.mean()) for values in (x, y))
    x, y = (values / (np.abs(values).max() or 1.0) for values in (x, y))
    scale = float((x @ x) * (y @ y))
    return float(x @ y) ** 2 / scale if scale > 0 else 0.0
