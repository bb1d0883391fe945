"""RandomBinning: random binning features as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.fitting.resume import unchanged_on_error
from bochner.estimators.transformers.base import KernelTransformer
from bochner.features import SAMPLE_ROWS, Binning, BinningBasis, BinningDiagnostics, prepare
from bochner.validation import require_count, require_jobs, seed_of


class RandomBinning(KernelTransformer):
    """Random binning features of a kernel that is a product over the columns.

    Row x has the entry sqrt(k(0) / grids) in one column for each grid, that of the bin it lies
    in; so E phi(x)'phi(y) = k(x, y) (Rahimi and Recht 2007, Random features for large-scale kernel
    machines, Algorithm 2; Wu, Yen et al. 2016, Algorithm 1). The columns are the bins of the
    fitted rows; other rows have no entry where they lie in none of them.

    Parameters
    ----------
    kernel : str or Kernel
        "laplacian", or sums, multiples and column scales of such kernels. A bandwidth "median" is
        taken from a sample of the rows.
    grids : int
        The number of grids: entries of a row.
    random_state : int, RandomState, Generator or None
        Determines the grids and the sample.
    n_jobs : int or None
        The number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its bandwidth.
    basis_ : BinningBasis
        The features.
    binning_ : BinningDiagnostics
        Numbers of bins and grids, kappa, the collision probability and the predicted speed-up.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.estimators.transformers.binning import RandomBinning
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> Z = RandomBinning(grids=256, random_state=0).fit_transform(X)
    >>> Z.shape[0], Z.nnz
    (100, 25600)
    """

    basis_: BinningBasis
    binning_: BinningDiagnostics

    def __init__(
        self,
        kernel: Any = "laplacian",
        grids: int = 64,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.grids = grids
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Number the bins of the rows, in the order of the rows; `y` is ignored."""
        require_count("grids", self.grids)
        require_jobs(self.n_jobs)
        with unchanged_on_error(self), threads(self.n_jobs):
            self._learn_table(X)
            self._fit(self._validated(X, reset=True), seed_of(self.random_state))
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """Return the features of the rows, a CSR array (rows, bins) in the dtype of the rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        with threads(self.n_jobs):
            return self.basis_.matrix(self.basis_.encode(X)).astype(X.dtype)

    def _fit(self, X: Any, seed: int) -> None:
        features = Binning(self.grids)
        if self._table is not None:
            features = features.with_categories(self._table.categorical)
        sample = ArraySource(X).sample(SAMPLE_ROWS, seed)
        self.kernel_, basis = prepare(self._kernel(), features, sample, seed)
        assert isinstance(basis, BinningBasis)  # it is what `Binning` builds
        self.basis_, code = basis.extended(X)
        rows = np.zeros(self.basis_.size, np.int32)
        self.basis_.count(code, rows)
        self.binning_ = BinningDiagnostics.of(self.basis_, rows)

    @property
    def _n_features_out(self) -> int:
        return self.basis_.size
