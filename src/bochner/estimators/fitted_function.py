"""FittedFunction: what an estimator can do once it has a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bochner.compute.pool import threads
from bochner.estimators.preparation import Preparation
from bochner.problem import Expansion

PREDICTED_ROWS = 16_384  # at a time


class FittedFunction(Preparation):
    """The part of a kernel machine that comes after its last batch."""

    expansion_: Expansion

    def _evaluate(self, X: Any) -> NDArray[Any]:
        """Return f at rows, (rows, outputs), in float32 for float32 rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        values = np.empty((X.shape[0], self._setup.targets.outputs), X.dtype)
        with threads(self.n_jobs):
            for start in range(0, len(values), PREDICTED_ROWS):
                rows = slice(start, start + PREDICTED_ROWS)
                values[rows] = self.expansion_(self._setup.rows(X[rows]))
        return values

    def __sklearn_is_fitted__(self) -> bool:
        return "expansion_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
