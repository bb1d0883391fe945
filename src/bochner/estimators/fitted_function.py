"""FittedFunction: what an estimator can do once it has a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bochner.compute.pool import threads
from bochner.estimators.border import PREDICTED_ROWS
from bochner.estimators.choices import is_precomputed
from bochner.estimators.files import joined
from bochner.estimators.preparation import Preparation
from bochner.estimators.sources import is_stream
from bochner.problem import Expansion


class FittedFunction(Preparation):
    """The part of a kernel machine that comes after its last batch."""

    expansion_: Expansion

    def _evaluate(self, X: Any) -> NDArray[Any]:
        """Return f at rows, (rows, outputs), in float32 for float32 rows."""
        check_is_fitted(self)
        if is_stream(X):
            return joined(map(self._evaluate, self._checked(X)))  # type: ignore[no-any-return]
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
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = not is_precomputed(self.kernel)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # A copy has not the rows of a precomputed kernel, so it goes on by beginning anew.
        state: dict[str, Any] = super().__getstate__()
        return state | ({"_digest": None} if is_precomputed(self.__dict__.get("kernel_")) else {})
