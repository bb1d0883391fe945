"""FunctionPosterior: the variance at given rows, by a function for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import product
from bochner.data import Batch
from bochner.features import Basis, RandomBasis
from bochner.kernels import Kernel
from bochner.posterior.posterior import Posterior, require_few, within
from bochner.posterior.ridge import Ridge
from bochner.problem import Expansion

TOGETHER = 1_024  # functions learned at once


@dataclass(frozen=True, eq=False)
class FunctionPosterior(Posterior):
    r"""The posterior by functions f_x = k(., X) (K + noise W^-1)^-1 k(X, x), one for each test row.

    The variance at x is k(x, x) - f_x(x), and f_x is the ridge regression whose targets are
    k(x, x_i) (Dai et al. 2014, section 4). The training rows are kept: functions are learned when
    the test rows are known, by any solver, many at a time. On a number of random features k is
    their own kernel, phi(x)'phi(x'), in the targets as well: where the variance is a thousandth of
    the prior, what the features miss of k would be more than all of it.
    """

    kernel: Kernel
    ridge: Ridge
    expansion: Expansion
    outputs: int

    @classmethod
    def learn(cls, kernel: Kernel, ridge: Ridge, outputs: int) -> FunctionPosterior:
        """Run the solver on the targets."""
        if ridge.source.once:
            raise ValueError(
                "variance='functions' reads the training rows again for every new test row; got "
                "an iterator, which is read once. Give arrays, or variance='features'."
            )
        return cls(kernel, ridge, ridge.learned(_own), outputs)

    def mean(self, X: Any) -> NDArray[np.float64]:
        """Return the function learned for the targets."""
        return np.asarray(self.expansion(X), np.float64)

    def variance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x) - f_x(x)."""
        known = np.empty(X.shape[0])

        for top in range(0, len(known), TOGETHER):
            rows = X[top : top + TOGETHER]
            known[top : top + TOGETHER] = self._learned(rows).diagonal()
        prior = self._variances(X)
        return np.repeat(within((prior - known)[:, None], prior), self.outputs, axis=1)

    def covariance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x') - f_x(x'), the mean of both orders."""
        require_few(X.shape[0])
        known = self._learned(X)
        found = np.asarray(self._covariances(X, X), np.float64) - (known + known.T) / 2
        return np.repeat(found[:, :, None], self.outputs, axis=2)

    def _learned(self, X: Any) -> NDArray[np.float64]:
        """Return f_x'(x) of all pairs, x' along the columns."""
        functions = self.ridge.fitted(lambda batch: self._covariances(batch.X, X))
        return np.asarray(functions(X), np.float64)

    def _covariances(self, A: Any, B: Any) -> NDArray[Any]:
        """Return k(A, B) of the functions that the solver has."""
        basis = _finite(self.ridge.basis)
        if basis is None:
            return self.kernel(A, B)
        left, right = (basis.columns(basis.encode(rows)) for rows in (A, B))
        return product(left, np.ascontiguousarray(right.T))

    def _variances(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x) of the functions that the solver has."""
        basis = _finite(self.ridge.basis)
        if basis is None:
            return np.asarray(self.kernel.diagonal(X), np.float64)
        phi = np.asarray(basis.columns(basis.encode(X)), np.float64)
        return np.einsum("ij,ij->i", phi, phi)  # type: ignore[no-any-return]


def _finite(basis: Basis) -> RandomBasis | None:
    """Return a basis of a number of random functions, which have a kernel of their own."""
    return basis if isinstance(basis, RandomBasis) and basis.size is not None else None


def _own(batch: Batch) -> NDArray[Any]:
    """Return the targets that the rows came with."""
    assert batch.y is not None  # targets are coded
    return batch.y
