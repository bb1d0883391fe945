"""OperatorPosterior: the variance by an operator over random features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.features import RandomBasis
from bochner.kernels import Kernel
from bochner.posterior.posterior import Posterior, clip_variance, require_few
from bochner.posterior.ridge import Ridge
from bochner.problem import Expansion

MOST_FEATURES = 8_192  # 512 MB for the operator, and as much for the mean of its iterates


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
            assert batch.y is not None  # targets are coded
            return np.hstack([basis.columns(basis.encode(batch.X)), batch.y])

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
            "variance='operator' needs a number of random features; got others. Give "
            "features=Fourier(size), or variance='features'."
        )
    if basis.size > MOST_FEATURES:
        raise ValueError(
            f"variance='operator' takes at most {MOST_FEATURES:,} features, since its memory is "
            f"the square of their number; got {basis.size:,}. Give fewer, or variance='functions' "
            "for test rows that are known in advance."
        )
    return basis
