"""The preconditioner of EigenPro: the top of a spectrum, flattened; batch and step size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import gram, product, transposed_product
from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.features import CenterBasis, DenseBasis
from bochner.spectra import eigenpairs, singular

HEAVIEST_ROWS = 64
TILE_ROWS = 256  # of a matrix in double precision
TEST_ROWS = 2048  # at which the eigenfunctions are evaluated
DAMPED = 0.95  # power of the ratios of eigenvalues: those of a subsample are not exact
NEARLY = 0.99  # of the longest step


@dataclass(frozen=True)
class Momentum:
    """w' = u - rate g, u' = w' + share (w' - w) + correction rate g, g the gradient at u.

    Without the correction these are Nesterov's steps, which need not accelerate stochastic
    gradients. With L = beta / m + (1 - 1/m) top, kappa = L / mu and the statistical condition
    number kappa_m = n / m + (m - 1) / m, the share is (s - 1) / (s + 1) and the correction
    s / (s + 1) (1 - 1 / kappa_m), s = sqrt(kappa kappa_m) (Liu and Belkin 2020, Accelerating SGD
    with momentum for over-parameterized learning, Eq. 5 and Theorem 2; AxlePro is this with the
    preconditioner of EigenPro).
    """

    share: float = 0.0
    correction: float = 0.0

    @classmethod
    def of(cls, beta: float, top: float, batch: int, rows: int) -> Momentum:
        """Return the values for a batch, with mu = top / n."""
        smoothness = beta / batch + (1 - 1 / batch) * top
        condition = smoothness * rows / top
        spread = rows / batch + (batch - 1) / batch
        s = sqrt(condition * spread)
        return cls((s - 1) / (s + 1), s / (s + 1) * (1 - 1 / spread))

    def ahead(self, now: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
        """Return the point of the next gradient, before the correction."""
        return np.asarray(now + self.share * (now - before))


@dataclass(frozen=True)
class Eigenfunctions:
    """Eigenvalues of H = mean of w_x phi(x) phi(x)', and what represents the eigenvectors.

    `vectors` are their weights: of kernel functions at the subsample times sqrt(s lambda_i), or of
    the features. At test rows, `at_rows` are sqrt(w_x) e_i(x), and `matrix` is
    sqrt(w_x w_z) k(x, z), w_x being the weight of a row relative to the mean weight.
    """

    values: NDArray[np.float64]
    vectors: NDArray[Any]
    at_rows: NDArray[np.float64]
    matrix: NDArray[Any]

    def above(self, floor: float) -> Eigenfunctions:
        """Return those whose eigenvalue is at least this share of the largest one."""
        count = max(1, int(np.count_nonzero(self.values >= floor * self.values[0])))
        return replace(
            self,
            values=self.values[:count],
            vectors=self.vectors[:, :count],
            at_rows=self.at_rows[:, :count],
        )

    def beta(self, flat: Flattening) -> float:
        """Return the largest w_x k_P(x, x) = w_x (k(x, x) - sum_i shrink_i e_i(x)^2)."""
        return float(np.max(self._diagonal(flat), initial=np.finfo(np.float32).tiny))

    def top(self, flat: Flattening) -> float:
        """Return the largest eigenvalue of P H, by its estimate at the test rows if that is larger.

        Eigenvectors of a subsample lower the top by less than their eigenvalues predict. In n rows
        the estimate of a spectrum of trace t is too high by t / n.
        """
        some = self.at_rows[:, : len(flat.shrink)]
        matrix = self.matrix - product(some * flat.shrink, some.T)
        highest = float(eigenpairs(matrix, 1, Random(0)).values[0])
        return max(flat.top, highest - float(self._diagonal(flat).mean()) / len(matrix))

    def _diagonal(self, flat: Flattening) -> NDArray[np.float64]:
        some = self.at_rows[:, : len(flat.shrink)]
        return np.asarray(np.diagonal(self.matrix) - some**2 @ flat.shrink)


def of_centers(
    basis: CenterBasis, sample: Batch, size: int, count: int, rng: Random
) -> Eigenfunctions:
    """Return the eigenfunctions on the first `size` centres."""
    roots = np.sqrt(center_weights(basis, sample, size))
    matrix = _weighted(basis.columns(basis.centers[:size], 0, size), roots)
    spectrum = eigenpairs(matrix, count + 1, rng)
    del matrix
    vectors = roots[:, None] * spectrum.vectors
    test, weights = _test_rows(sample)
    roots = np.sqrt(weights)
    values = product(basis.columns(basis.encode(test.X), 0, size), vectors)
    at_rows = roots[:, None] * values / np.sqrt(size * spectrum.values)
    matrix = basis.pairs(test) * np.outer(roots, roots)
    return Eigenfunctions(spectrum.values, vectors, at_rows, matrix)


def of_features(
    basis: DenseBasis, sample: Batch, size: int, count: int, rng: Random
) -> Eigenfunctions:
    """Return the eigenvectors of the features' covariance on `size` rows of the sample."""
    places = _spread(len(sample), size)
    roots = np.sqrt(relative_weights(sample)[places]).astype(np.float32)
    columns = basis.columns(basis.encode_batch(sample[places])) * roots[:, None]
    values, vectors = singular(columns, count + 1, rng)
    test, weights = _test_rows(sample)
    roots = np.sqrt(weights).astype(np.float32)
    columns = basis.columns(basis.encode_batch(test)) * roots[:, None]
    return Eigenfunctions(values, vectors, product(columns, vectors), gram(columns.T))


def _weighted(matrix: NDArray[Any], roots: NDArray[np.float64]) -> NDArray[Any]:
    """Multiply the entries of a matrix by r_i r_j, in double precision and in place."""
    for top in range(0, len(matrix), TILE_ROWS):
        rows = slice(top, top + TILE_ROWS)
        matrix[rows] *= np.outer(roots[rows], roots)
    return matrix


def relative_weights(batch: Batch) -> NDArray[np.float64]:
    """Return the weights of rows, of mean 1."""
    if batch.weight is None or not batch.weight.any():
        return np.ones(len(batch))
    return np.asarray(batch.weight / batch.weight.mean())


def center_weights(basis: CenterBasis, sample: Batch, size: int) -> NDArray[np.float64]:
    """Return the relative weights of the first centres, 1 for those not in the sample."""
    weights = np.ones(basis.size)
    numbers = basis.numbers(sample.index)
    weights[numbers[numbers >= 0]] = relative_weights(sample)[numbers >= 0]
    return weights[:size]


def _test_rows(sample: Batch) -> tuple[Batch, NDArray[np.float64]]:
    """Return some rows, the heaviest among them, and their weights relative to the sample's mean.

    A row heavier than all of these could make the steps diverge.
    """
    weights = relative_weights(sample)
    places = _spread(len(sample), TEST_ROWS)
    if sample.weight is not None:
        places = np.union1d(places, np.argsort(weights, kind="stable")[-HEAVIEST_ROWS:])
    return sample[places], weights[places]


def _spread(rows: int, size: int) -> NDArray[np.int64]:
    """Return at most `size` row numbers, evenly spread."""
    return np.unique(np.linspace(0, rows - 1, min(size, rows)).astype(np.int64))


@dataclass(frozen=True)
class Flattening:
    """The reduction of each of the top eigenvalues, to tau lambda_i (lambda_q / lambda_i)^p.

    `shrink` holds 1 - tau (lambda_q / lambda_i)^p for the first q of the eigenvalues, and `top` is
    the largest eigenvalue after that (Ma and Belkin 2017, Eq. 17; the power p = 0.95 is from
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
    """The number of rows in a batch, and the step size per row.

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
        """Return the step with momentum, 1 / L."""
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
