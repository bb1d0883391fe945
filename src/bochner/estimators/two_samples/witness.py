"""KernelWitness: where one sample has more mass than another."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.compute.pool import threads
from bochner.estimators.inputs.validation import is_stream
from bochner.features import Basis
from bochner.kernels import Kernel
from bochner.problem import Expansion


class KernelWitness(BaseEstimator):  # type: ignore[misc]
    """The witness function of the maximum mean discrepancy, mean of k(x, .) - mean of k(y, .).

    It is positive where the sample X has more mass than Y, seen through the kernel (Gretton et
    al. 2012, A kernel two-sample test, section 2.3), here in random features.

    Parameters
    ----------
    kernel, size, random_state, n_jobs
        As those of `two_sample_test`.

    Attributes
    ----------
    kernel_, expansion_
        The kernel with its bandwidth, and the function.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelWitness
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 1
    >>> KernelWitness(random_state=0).fit(X, Y).predict([[-1.0], [2.0]]) > 0
    array([ True, False])
    """

    kernel_: Kernel
    expansion_: Expansion
    n_features_in_: int

    def __init__(
        self,
        kernel: Any = "auto",
        size: int = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.size = size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of(
        cls, kernel: Kernel, basis: Basis, weights: NDArray[np.float64], columns: int
    ) -> KernelWitness:
        """Return the fitted witness with these weights."""
        witness = cls(kernel, len(weights))
        witness.kernel_, witness.n_features_in_ = kernel, columns
        witness.expansion_ = Expansion(basis, weights[:, None], np.zeros(1))
        return witness

    def fit(self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None) -> Self:
        """Fit to two samples, weighted or not: arrays, sources or iterators of blocks."""
        from bochner.estimators.two_samples.two_sample_test import (
            two_sample_test,  # which gives witnesses
        )

        found = two_sample_test(
            X,
            Y,
            sample_weight_X=sample_weight_X,
            sample_weight_Y=sample_weight_Y,
            kernel=self.kernel,
            size=self.size,
            permutations=1,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        ).witness
        self.kernel_, self.expansion_ = found.kernel_, found.expansion_
        self.n_features_in_ = found.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if not is_stream(X):
            validate_data(self, X, skip_check_array=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the witness at rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        with threads(self.n_jobs):
            return np.asarray(self.expansion_(X)[:, 0])
