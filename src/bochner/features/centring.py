"""Centring: rows in the dtype of a basis, shifted so that single precision is accurate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.data.transforms.scaling import weighted_mean
from bochner.records import Validated, require_sound

CENTRED_ROWS = 1024  # at a time
MOST_FUNCTIONS = 1 << 31  # columns, or functions of a basis


@dataclass(frozen=True, eq=False)
class Centring(Validated):
    """Checks the number of columns, casts, and subtracts `centre`, unless that is None.

    If a kernel depends on differences of rows only, a shift does not change it, and small numbers
    have small rounding errors. Sparse rows are not shifted, since a shift makes them dense.
    """

    n_columns: int
    centre: NDArray[np.float64] | None
    dtype: np.dtype[Any]

    def validate(self) -> None:
        """Check the number of columns, the centre and the dtype."""
        require_sound(0 < self.n_columns < MOST_FUNCTIONS, "its number of columns is impossible")
        fits = self.centre is None or self.centre.shape == (self.n_columns,)
        require_sound(fits, "its centre has another number of columns")
        require_sound(self.dtype in (np.float32, np.float64), "its dtype is not float32 or float64")

    @property
    def input_columns(self) -> int:
        """The number of columns of the rows that it takes."""
        return self.n_columns

    @classmethod
    def at_mean(cls, X: Any, dtype: Any, weight: NDArray[np.float64] | None = None) -> Centring:
        """Shift by the (weighted) mean of these rows; sparse rows are not shifted."""
        centre = None if sp.issparse(X) else weighted_mean(X, weight)
        return cls(X.shape[1], centre, np.dtype(dtype))

    @classmethod
    def in_place(cls, X: Any, dtype: Any) -> Centring:
        """Do not shift the rows."""
        return cls(X.shape[1], None, np.dtype(dtype))

    def __call__(self, X: Any) -> Any:
        """Return the rows, dense or CSR."""
        X = checked_columns(X, self.n_columns)
        if self.centre is None:
            return X.astype(self.dtype, copy=False)
        return self._centred(X.toarray() if sp.issparse(X) else X, self.centre)

    def undone(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return centred rows without the shift."""
        return rows if self.centre is None else rows + self.centre

    def _centred(self, X: NDArray[Any], centre: NDArray[np.float64]) -> NDArray[Any]:
        rows = np.empty(X.shape, self.dtype)

        def subtract(top: int, bottom: int) -> None:
            rows[top:bottom] = X[top:bottom] - centre

        each_tile(subtract, len(X), CENTRED_ROWS)
        return rows


def checked_columns(X: Any, n_columns: int) -> Any:
    """Return rows as an array or CSR, or raise a ValueError if they have other columns."""
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.ndim == 2 and X.shape[1] == n_columns:
        return X
    raise ValueError(
        f"This basis was built for rows of {n_columns} columns; got an array of shape {X.shape}."
    )
