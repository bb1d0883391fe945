"""What displays of bands share: a column to draw along, and rows in its order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.predictions import some


def along(X: Any, column: int) -> NDArray[np.float64]:
    """Return a column of rows, dense, sparse or of a data frame."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, column], dtype=np.float64)
    if hasattr(X, "toarray"):
        return np.asarray(X[:, [column]].toarray()[:, 0], dtype=np.float64)
    return np.asarray(X, dtype=np.float64)[:, column]


def sorted_rows(x: Any, *columns: Any) -> tuple[Any, ...]:
    """Return x and columns, in the order of x and at most as many rows as a picture can show."""
    x = np.asarray(x, dtype=np.float64)
    order = np.argsort(x, kind="stable")[some(len(x))]
    found = [None if c is None else np.asarray(c, dtype=np.float64)[order] for c in columns]
    return (x[order], *found)
