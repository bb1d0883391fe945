"""Posteriors by ridge regression: an operator over random features, or a function a test row."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import product
from bochner.data import Batch
from bochner.features import Basis, RandomBasis
from bochner.kernels import Kernel
from bochner.posterior.posterior import Posterior, clip_variance, require_few
from bochner.posterior.ridge import Ridge
from bochner.problem import Expansion

MOST_FEATURES = 8_192  # 512 MB for the operator, and as much for the mean of its iterates
TOGETHER = 1_024  # functions fitted at once


@dataclass(frozen=True, eq=False)
class OperatorPosterior(Posterior):
    r"""The posterior by the operator A = C (C + noise/n I)^-1, C = mean of phi(x_i) phi(x_i)'.

    The variance is k(x, x) - phi(x)'A phi(x). A minimises mean |phi(x_i) - A phi(x_i)|^2 / 2 +
    noise/(2n) |A|^2: it is the ridge regression whose targets are the features themselves, fitted
    by doubly stochastic gradients (Dai et al. 2014, section 4, Eq. 10, and appendix D). A function
    with the outputs (phi(x), y) gives the operator and the mean together.
    """

    kernel: Kernel
    expansion: Expansion
    outputs: int

    @classmethod
    def learn(cls, kernel: Kernel, ridge: Ridge, outputs: int) -> OperatorPosterior:
        """Run the solver."""
        basis = require_random(ridge.basis)

        def targets(batch: Batch) -> NDArray[Any]:
            return np.hstack([basis.columns(basis.encode(batch.X)), batch.targets])

        return cls(kernel, ridge.fit(targets), outputs)

    def mean(self, X: Any) -> NDArray[np.float64]:
        """Return the function fitted to the targets."""
        return self._values(X)[1][:, -self.outputs :]

    def variance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x) - phi(x)'A phi(x), with k(x, x) = phi(x)'phi(x)."""
        phi, values = self._values(X)
        prior = np.einsum("ij,ij->i", phi, phi)
        known = np.einsum("ij,ij->i", phi, values[:, : -self.outputs])
        return np.repeat(clip_variance((prior - known)[:, None], prior), self.outputs, axis=1)

    def covariance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x') - phi(x)'A phi(x'), averaged over both orders."""
        require_few(X.shape[0])
        phi, values = self._values(X)
        known = phi @ values[:, : -self.outputs].T
        found = phi @ phi.T - (known + known.T) / 2
        return np.repeat(found[:, :, None], self.outputs, axis=2)

    def _values(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the features and the fitted function at rows."""
        basis = require_random(self.expansion.basis)
        code = basis.encode(X)
        found = self.expansion.evaluate(code)
        return np.asarray(basis.columns(code), np.float64), np.asarray(found, np.float64)


def require_random(basis: Any) -> RandomBasis:
    """Return the basis if it has a moderate number of random functions, or refuse it."""
    if not isinstance(basis, RandomBasis) or basis.size is None:
        raise ValueError(
            "variance='operator' needs a fixed number of random features; got others. Give "
            "features=Fourier(size), or variance='features'."
        )
    if basis.size > MOST_FEATURES:
        raise ValueError(
            f"variance='operator' takes at most {MOST_FEATURES:,} features, since its memory is "
            f"the square of their number; got {basis.size:,}. Give fewer, or variance='functions' "
            "for test rows that are known in advance."
        )
    return basis


@dataclass(frozen=True, eq=False)
class FunctionPosterior(Posterior):
    r"""The posterior by functions f_x = k(., X) (K + noise W^-1)^-1 k(X, x), one for each test row.

    The variance at x is k(x, x) - f_x(x), and f_x is the ridge regression whose targets are
    k(x, x_i) (Dai et al. 2014, section 4). The posterior stores the training rows and fits the
    functions when the test rows are known, by any solver, many at a time. For a finite number of
    random features, k is phi(x)'phi(x') in the targets as well: the error of the features'
    approximation of k would exceed a small variance.
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
        return cls(kernel, ridge, ridge.fit(attrgetter("targets")), outputs)

    def mean(self, X: Any) -> NDArray[np.float64]:
        """Return the function fitted to the targets."""
        return np.asarray(self.expansion(X), np.float64)

    def variance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x) - f_x(x)."""
        known = np.empty(X.shape[0])
        for top in range(0, len(known), TOGETHER):
            rows = X[top : top + TOGETHER]
            known[top : top + TOGETHER] = self._fit_functions(rows).diagonal()
        prior = self._prior_variances(X)
        return np.repeat(clip_variance((prior - known)[:, None], prior), self.outputs, axis=1)

    def covariance(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x') - f_x(x'), averaged over both orders."""
        require_few(X.shape[0])
        known = self._fit_functions(X)
        found = np.asarray(self._prior_covariances(X, X), np.float64) - (known + known.T) / 2
        return np.repeat(found[:, :, None], self.outputs, axis=2)

    def _fit_functions(self, X: Any) -> NDArray[np.float64]:
        """Return f_x'(x) for all pairs, x' along the columns."""
        functions = self.ridge.fit_completely(lambda batch: self._prior_covariances(batch.X, X))
        return np.asarray(functions(X), np.float64)

    def _prior_covariances(self, A: Any, B: Any) -> NDArray[Any]:
        """Return k(A, B) in the solver's basis."""
        basis = _finite(self.ridge.basis)
        if basis is None:
            return self.kernel(A, B)
        left, right = (basis.columns(basis.encode(rows)) for rows in (A, B))
        return product(left, np.ascontiguousarray(right.T))

    def _prior_variances(self, X: Any) -> NDArray[np.float64]:
        """Return k(x, x) in the solver's basis."""
        basis = _finite(self.ridge.basis)
        if basis is None:
            return np.asarray(self.kernel.diagonal(X), np.float64)
        phi = np.asarray(basis.columns(basis.encode(X)), np.float64)
        return np.einsum("ij,ij->i", phi, phi)  # type: ignore[no-any-return]


def _finite(basis: Basis) -> RandomBasis | None:
    """Return the basis if it has a finite number of random functions, else None."""
    return basis if isinstance(basis, RandomBasis) and basis.size is not None else None
