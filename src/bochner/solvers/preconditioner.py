"""Preconditioner: the top of a spectrum flattened, and the batch and step that this allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import product, transposed_product
from bochner.solvers.momentum import Momentum

DAMPED = 0.95  # power of the ratios of eigenvalues: those of a subsample are not exact
NEARLY = 0.99  # of the longest step


@dataclass(frozen=True)
class Flattening:
    """By how much each of the top eigenvalues is lowered: to tau lambda_i (lambda_q / lambda_i)^p.

    `shrink` holds 1 - tau (lambda_q / lambda_i)^p for the first q of the eigenvalues, and `top` is
    the largest eigenvalue that is left (Ma and Belkin 2017, Eq. 17; the power p = 0.95 is from
    EigenPro 2, Ma and Belkin 2019, Kernel machines that adapt to GPUs, section 4).
    """

    shrink: NDArray[np.float64]
    top: float

    @classmethod
    def of(cls, values: NDArray[np.float64], count: int, damping: float) -> Flattening:
        """Flatten the first `count` eigenvalues to the level of the next one."""
        if count == 0:
            return cls(np.empty(0), float(values[0]))
        level = values[min(count, len(values) - 1)]
        kept = np.minimum(damping * (level / values[:count]) ** DAMPED, 1.0)
        return cls(1.0 - kept, float(max(np.max(kept * values[:count]), level)))


@dataclass(frozen=True)
class Pace:
    """Rows of a batch, and how far each of them moves the function.

    A batch of m rows may be taken with steps up to m / beta while m is below the critical size
    beta / top, beyond that 2 m / (beta + (m - 1) top), where beta bounds k_P(x, x) of the
    preconditioned kernel (Ma, Bassily and Belkin 2018, The power of interpolation, section 4).
    `rate` is step / m.
    """

    batch: int
    rate: float
    momentum: Momentum = field(default_factory=Momentum)

    @classmethod
    def of(cls, beta: float, top: float, batch: int) -> Pace:
        """Return the longest safe step for a batch."""
        if batch <= critical(beta, top):
            return cls(batch, 1.0 / beta)
        return cls(batch, NEARLY * 2.0 / (beta + (batch - 1) * top))

    @classmethod
    def accelerated(cls, beta: float, top: float, batch: int, rows: int) -> Pace:
        """Return the step that goes with momentum: 1 / L of it."""
        momentum = Momentum.of(beta, top, batch, rows)
        return cls(batch, 1.0 / (beta + (batch - 1) * top), momentum)


def critical(beta: float, top: float) -> int:
    """Return the largest batch for which the step grows in proportion to it."""
    return int(beta / top) + 1


@dataclass(frozen=True)
class CenterPreconditioner:
    """P in the space of the kernel, for functions that are sums over rows.

    With eigenpairs (lambda_i, v_i) of k(S, S) / s for a subsample S of s rows, the eigenfunctions
    are e_i = sum_j v_ji k(s_j, .) / sqrt(s lambda_i). So P h is h minus the function with weights
    V D V' h(S) at S, D_i = shrink_i / (s lambda_i) (Ma and Belkin 2017, Table 2).
    """

    vectors: NDArray[Any]
    factors: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of rows of the subsample."""
        return len(self.vectors)

    def correction(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return V D V' h(S), given h(S)."""
        inner = transposed_product(self.vectors, np.asarray(values, self.vectors.dtype))
        return product(self.vectors, (self.factors[:, None] * inner).astype(self.vectors.dtype))


@dataclass(frozen=True)
class FeaturePreconditioner:
    """P = I - E diag(shrink) E' for weights of features, E orthonormal (Table 1)."""

    vectors: NDArray[Any]
    shrink: NDArray[np.float64]

    def __call__(self, gradient: NDArray[Any]) -> NDArray[Any]:
        """Return P times a gradient."""
        inner = transposed_product(self.vectors, np.asarray(gradient, self.vectors.dtype))
        flat = (self.shrink[:, None] * inner).astype(self.vectors.dtype)
        return gradient - product(self.vectors, flat)  # type: ignore[no-any-return]
