"""Importances of columns: the share of a fitted function's variation that each column causes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bochner.compute.random.counter_based import Random
from bochner.data import DataSource
from bochner.estimators.inputs.validation import InputValidation, ValidatedRows

REFERENCE_ROWS, LEAST_ROWS = 256, 8
MOST_NUMBERS = 1 << 20  # of dense rows that are kept
MOST_CHANGES = 8_192  # rows at which a function is evaluated, unless these are of the least rows
BLOCK_NUMBERS = 1 << 22  # of changed rows at a time

Function = Callable[[Any], NDArray[Any]]
Importances = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """Some training rows in random order, before scaling, each with another one as its partner.

    The total effect of a column on a function f is the share of the variance of f that is lost if
    all other columns are known (Homma and Saltelli 1996, Importance measures in global sensitivity
    analysis of nonlinear models). `total_effects` estimates it by the values of f at rows that take
    this column from their partner (Jansen 1999, Analysis of variance designs for model output):
    mean of 1/2 (f(x) - f(x with the column of another row))^2, divided by the variance of f.
    """

    X: Any

    @classmethod
    def of(cls, source: DataSource) -> ReferenceRows:
        """Return rows of positive weight that represent a source."""
        first = source.sample(1).X
        dense = not sp.issparse(first)
        most = MOST_NUMBERS // max(first.shape[1], 1) if dense else REFERENCE_ROWS
        batch = source.sample(int(np.clip(most, LEAST_ROWS, REFERENCE_ROWS)))
        batch = batch[batch.weights > 0]
        order = Random(0).permutation(len(batch))
        return cls(batch.X.tocsr()[order] if sp.issparse(batch.X) else batch.X[order])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def joined(self, others: ReferenceRows) -> ReferenceRows:
        """Return these rows and others."""
        if sp.issparse(self.X) and sp.issparse(others.X):
            return ReferenceRows(sp.vstack([self.X, others.X], format="csr"))
        dense = (X.toarray() if sp.issparse(X) else X for X in (self.X, others.X))
        return ReferenceRows(np.concatenate(list(dense)))

    def changes(self) -> tuple[ReferenceRows, NDArray[np.int64], NDArray[np.int64]]:
        """Return as many rows as the work allows, and all entries where they differ from partners.

        An entry is a row and a column.
        """
        row, column = self._differences()
        ends = np.cumsum(np.bincount(row, minlength=len(self)))
        count = int(np.searchsorted(ends, MOST_CHANGES, side="right"))
        count = max(count, min(LEAST_ROWS, len(self)))
        if count == len(self):
            return self, row, column
        fewer = ReferenceRows(self.X[:count])
        return fewer, *fewer._differences()

    def total_effects(self, function: Function) -> Importances:
        """Return the share of each column in the sum of the total effects, averaged over outputs.

        They are 0 if the function is constant on the rows.
        """
        rows, row, column = self.changes()
        values = np.asarray(function(rows.X), np.float64)
        variance = values.var(axis=0)
        scale = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
        effects = np.zeros(self.X.shape[1])
        step = max(1, BLOCK_NUMBERS // self.X.shape[1])
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            changed = np.asarray(function(rows.changed(row[part], column[part])), np.float64)
            squares = np.square(changed - values[row[part]]) @ scale
            effects += np.bincount(column[part], squares, len(effects))
        return shares(effects)

    def changed(self, row: NDArray[np.int64], column: NDArray[np.int64]) -> Any:
        """Return these rows, each with the entry of one column from its partner."""
        X = self.X[row]
        partner = self.X[_partner(row, len(self))]
        places = np.arange(len(row)), column
        if not sp.issparse(X):
            X[places] = partner[places]
            return X
        other = np.asarray(partner[places]).ravel() - np.asarray(X[places]).ravel()
        found = sp.csr_array(X + sp.csr_array((other, places), X.shape))
        found.eliminate_zeros()
        return found

    def _differences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each entry that differs from the partner's, row by row."""
        partners = self.X[_partner(np.arange(len(self)), len(self))]
        row, column = (partners != self.X).nonzero()
        order = np.lexsort((column, row))
        return row[order].astype(np.int64), column[order].astype(np.int64)


def _partner(row: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    return (row + 1) % rows


def shares(values: NDArray[np.float64]) -> Importances:
    """Return values, of which those below 0 count as 0, divided by their sum; 0 if that is 0."""
    values = np.maximum(values, 0.0)
    total = values.sum()
    return np.asarray(values / total if total > 0 else values)


class ColumnImportances(InputValidation):
    """The base of estimators that tell how much each column contributes.

    A fit leaves a few rows in `_reference`. A copy, pickled or in a model file, has the importances
    in their place, so that it holds no rows for them.
    """

    _importances: Importances | None = None
    _reference: ReferenceRows | None = None

    @abstractmethod
    def _values(self, X: ValidatedRows) -> NDArray[Any]:
        """Return the fitted function at rows, (rows[, outputs])."""

    def _learned_importances(self) -> Importances | None:
        """Return importances that the fit has learned, if it has."""
        return None

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column contributes to the predictions: numbers from 0 on with sum 1.

        With learned scales these are the shares of `relevance_`, the increase of the held-out error
        without a column. Otherwise they are total effects: how much the fitted function changes if
        a column takes the value of another row, on up to 256 training rows. They are 0 if the
        function is constant. Computed when they are first asked for.
        """
        check_is_fitted(self)
        if self._importances is None:
            self._importances = self._compute_importances()
        if self._importances is None:
            raise AttributeError(
                f"This {type(self).__name__} has no importances of columns: it takes values of a "
                "kernel for rows, or comes from a file without them. Give the kernel and the rows, "
                "or fit again; sklearn.inspection.permutation_importance needs only predictions."
            )
        return self._importances

    def _compute_importances(self, most_changes: float = np.inf) -> Importances | None:
        """Return the importances, None without rows or if they take more evaluations."""
        if (learned := self._learned_importances()) is not None:
            return learned
        reference = self._reference
        if reference is None or len(reference) < 2:
            return None
        if np.isfinite(most_changes) and len(reference.changes()[1]) > most_changes:
            return None
        return reference.total_effects(self._function)

    def _function(self, X: Any) -> NDArray[Any]:
        values = self._values(ValidatedRows(X))
        return values[:, None] if values.ndim == 1 else values

    def _take_reference(self, source: DataSource, continues: bool) -> ReferenceRows:
        """Return some rows for a fit to keep at its end; of several calls those of the first ones.

        Until then there are none, as callbacks copy the estimator while its function is not theirs.
        """
        self.__dict__.pop("_importances", None)
        known: ReferenceRows | None = self.__dict__.pop("_reference", None)
        if known is None or not continues:
            return ReferenceRows.of(source)
        return known if len(known) >= REFERENCE_ROWS else known.joined(ReferenceRows.of(source))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_reference", None)
        if self._reference is not None and not state.get("_unfinished", False):
            if self._importances is None:
                self._importances = self._compute_importances(MOST_CHANGES)
            state["_importances"] = self._importances
        return state
