"""RandomBinning: the transformer to random binning features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.inputs.validation import unchanged_on_error
from bochner.estimators.transformers.base import KernelTransformer
from bochner.features import SAMPLE_ROWS, Binning, BinningBasis, BinningDiagnostics, prepare
from bochner.validation import require_count, require_jobs, seed_of


class RandomBinning(KernelTransformer):
    """Random binning features of a kernel that is a product over the columns.

    For each grid, row x has the entry sqrt(k(0) / grids) in the column of the bin that contains it,
    so that E phi(x)'phi(y) = k(x, y) (Rahimi and Recht 2007, Random features for large-scale kernel
    machines, Algorithm 2; Wu, Yen et al. 2016, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel, default="laplacian"
        "laplacian", or sums, multiples and column scales of such kernels. A bandwidth "median" is
        computed from a sample of the rows.
    grids : int, default=64
        The number of grids, which is the number of entries of a row.
    random_state : int, RandomState, Generator or None, default=None
        Determines the grids and the sample.
    n_jobs : int or None, default=None
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_ : Kernel, BinningBasis
        The kernel with its bandwidth, and the features.
    binning_ : BinningDiagnostics
        Numbers of bins and grids, kappa, the collision probability and the predicted speed-up.
    n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : Dense features of shift-invariant kernels.

    Notes
    -----
    The columns are the bins of the fitted rows. Other rows have no entry for grids in which they
    lie in none of these bins.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomBinning
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
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            self._learn_table(X)
            self._fit(self._validated_arrays(X, reset=True), seed_of(self.random_state))
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """Return the features of the rows, a CSR array (rows, bins) in the dtype of the rows."""
        check_is_fitted(self)
        X = self._validated_arrays(X, reset=False)
        with threads(self.n_jobs):
            return self.basis_.matrix(self.basis_.encode(X)).astype(X.dtype)

    def _fit(self, X: Any, seed: int) -> None:
        features = Binning(self.grids)
        if self._table is not None:
            features = features.with_categories(self._table.categorical)
        sample = ArraySource(X).sample(SAMPLE_ROWS, seed)
        self.kernel_, basis = prepare(self._kernel(), features, sample, seed)
        assert isinstance(basis, BinningBasis)  # `Binning` builds it
        self.basis_, code = basis.extended(X)
        rows = np.zeros(self.basis_.size, np.int32)
        self.basis_.count(code, rows)
        self.binning_ = BinningDiagnostics.of(self.basis_, rows)

    @property
    def _n_features_out(self) -> int:
        return self.basis_.size
