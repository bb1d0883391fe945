"""FeaturePosterior: the posterior in closed form, for a fixed number of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve, solve_lower
from bochner.compute.linear_algebra.products import gram, product, transposed_product
from bochner.data import Batch
from bochner.features import Basis, BinningBasis, DenseBasis, RandomBasis, WhitenedBasis
from bochner.features.basis import extend_and_encode
from bochner.kernels import Kernel
from bochner.posterior.posterior import Posterior, clip_variance, require_few
from bochner.posterior.units import Units
from bochner.records import Validated, require_sound
from bochner.solvers.solver import require_weight

MOST_FEATURES = 10_000  # 800 MB for the matrix of their products, and as much for its factor
LEAST_NOISE = 1e-8  # times k(x, x), for a row of mean weight: less is lost in rounding
SEARCHED = 3.0  # half-width of the search interval of log(noise)
MOST_SEARCHES = 8
PRECISION = 0.01  # of log(noise)
ROUNDING = 10 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class FeatureSums(Validated):
    """Sums over rows with features z_i, targets y_i minus `origin`, and weights w_i.

    `gram` is sum w z z', `cross` sum w z y', `plain` sum w z, `total` sum w y and `squares` sum w
    y^2; `total_weight` is sum w, `logarithms` sum log w, `rows` the number of rows with w > 0. Rows
    can be added in batches, from a stream, or over several calls.
    """

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    plain: NDArray[np.float64]
    origin: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    total_weight: float = 0.0
    logarithms: float = 0.0
    rows: int = 0

    def validate(self) -> None:
        """Check that all sums are of the same features and outputs."""
        size, outputs = self.cross.shape if self.cross.ndim == 2 else (-1, -1)
        shapes: dict[str, tuple[int, ...]] = {
            "gram": (size, size),
            "cross": (size, outputs),
            "plain": (size,),
            **dict.fromkeys(("origin", "total", "squares"), (outputs,)),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            sound = array.shape == shape and array.dtype == np.float64
            require_sound(sound, f"{name} has another shape")

    @classmethod
    def empty(cls, size: int, origin: NDArray[np.float64]) -> FeatureSums:
        """Return zero sums."""
        outputs = len(origin)
        gram, cross, plain = np.zeros((size, size)), np.zeros((size, outputs)), np.zeros(size)
        return cls(gram, cross, plain, origin, np.zeros(outputs), np.zeros(outputs))

    def add(self, Z: NDArray[Any], batch: Batch) -> FeatureSums:
        """Return the sums with a batch of features Z added; `gram` is changed in place."""
        weight = batch.weights
        root, y = np.sqrt(weight)[:, None], batch.targets - self.origin
        weighted = np.ascontiguousarray(root * Z, np.float64)
        np.add(self.gram, gram(weighted), out=self.gram)
        products = transposed_product(weighted, np.ascontiguousarray(np.hstack([root * y, root])))
        positive = weight > 0
        return replace(
            self,
            cross=self.cross + products[:, :-1],
            plain=self.plain + products[:, -1],
            total=self.total + weight @ y,
            squares=self.squares + weight @ np.square(y),
            total_weight=self.total_weight + float(weight.sum()),
            logarithms=self.logarithms + float(np.log(weight[positive]).sum()),
            rows=self.rows + int(positive.sum()),
        )

    def on_larger_basis(self, basis: Basis, before: Basis) -> FeatureSums:
        """Return the sums for a basis with more functions, which are 0 at all rows so far."""
        if basis is before or basis.size == before.size:
            return self
        require_few_features(basis.size)
        wide = basis.embed_weights(self.gram, before)
        tall = np.ascontiguousarray(basis.embed_weights(np.ascontiguousarray(wide.T), before))
        cross, plain = (basis.embed_weights(part, before) for part in (self.cross, self.plain))
        return replace(self, gram=tall, cross=cross, plain=plain)

    @property
    def units(self) -> Units:
        """Mean and standard deviation of the targets of all rows."""
        require_weight(self.total_weight)
        mean = self.total / self.total_weight
        units = Units.of(mean, self.squares / self.total_weight - np.square(mean))
        return Units(self.origin + mean, units.deviation)

    def in_units(self, units: Units) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum w z y' and sum w y^2 for targets in other units."""
        shift = units.location - self.origin
        cross = (self.cross - np.outer(self.plain, shift)) / units.deviation
        squares = self.squares - 2 * shift * self.total + self.total_weight * np.square(shift)
        return cross, np.maximum(squares, 0.0) / np.square(units.deviation)


def extended(basis: Basis, X: Any) -> tuple[Basis, NDArray[np.float64]]:
    """Return the basis extended by the bins of new rows, and its values, (rows, size)."""
    larger, code = extend_and_encode(basis, X)
    require_few_features(larger.size)
    return larger, feature_values(larger, code)


def feature_values(basis: Basis, code: Any) -> NDArray[np.float64]:
    """Return the basis functions at encoded rows, (rows, size), in double precision."""
    if not isinstance(basis, DenseBasis | WhitenedBasis | BinningBasis):
        raise ValueError(
            "A Gaussian process needs features of columns of numbers, features=Fourier(size), "
            f"Centers(size) or Binning(grids); got those of a {type(basis).__name__}."
        )
    return np.asarray(basis.columns(code), np.float64)


def require_few_features(size: int | None) -> None:
    """Refuse more features than the matrix of their products allows."""
    if size is None:
        raise ValueError(
            "variance='features' needs a fixed number of features; got a growing one. Give "
            "features=Fourier(size), Centers(size) or Binning(grids)."
        )
    if size > MOST_FEATURES:
        raise ValueError(
            f"variance='features' takes at most {MOST_FEATURES:,} features, since its memory is "
            f"the square of their number; got {size:,}. Give fewer: features=Centers(2000), "
            "Fourier(2000), or fewer grids of a larger bandwidth."
        )


@dataclass(frozen=True, eq=False)
class FeaturePosterior(Posterior, Validated):
    r"""The posterior for k(x, x') = phi(x)'phi(x'), by a Cholesky factor of Z'WZ + noise I.

    With A = Z'WZ + noise I, Z the features of the rows, f has the mean phi(x)'A^-1 Z'W y and the
    variance

        noise phi(x)'A^-1 phi(x) + k(x, x) - phi(x)'phi(x)

    (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq. 2.11). Random
    features approximate all of k, so k(x, x) - phi(x)'phi(x) is left out. For centres it is the
    part of the prior variance outside their span, so that far from them the variance is the prior's
    (the deterministic training conditional of Quinonero-Candela and Rasmussen 2005, A unifying view
    of sparse approximate Gaussian process regression); if all rows are centres the posterior is
    exact. For bins it is the variance of bins without training rows.

    `noises` has a noise variance for each output, in `units`.
    """

    basis: Basis
    kernel: Kernel
    sums: FeatureSums
    units: Units
    noises: NDArray[np.float64]

    def validate(self) -> None:
        """Check that basis, sums, units and noises are of the same features and outputs."""
        size, outputs = self.sums.cross.shape
        require_sound(self.basis.size == size, "sums and functions differ in number")
        require_sound(self.noises.shape == (outputs,), "noises and outputs differ in number")
        require_sound(bool(np.isfinite(self.sums.gram).all()), "its sums are not finite")
        require_sound(bool((self.noises > 0).all()), "its noises are not positive")
        fits = self.units.location.shape == (outputs,)
        require_sound(fits, "units and outputs differ in number")

    @cached_property
    def factors(self) -> dict[float, NDArray[np.float64]]:
        """The Cholesky factor of A for each noise."""
        return {noise: factor(self.sums, noise) for noise in set(self.noises.tolist())}

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """A^-1 Z'W y."""
        cross = self.sums.in_units(self.units)[0]
        columns = [
            solve(self.factors[noise], np.ascontiguousarray(cross[:, [j]]))
            for j, noise in enumerate(self.noises.tolist())
        ]
        return np.hstack(columns)

    def mean(self, X: Any) -> NDArray[np.float64]:
        """Return phi(x)'A^-1 Z'W y."""
        return product(self._features(X), self.weights)

    def variance(self, X: Any) -> NDArray[np.float64]:
        """Return noise phi(x)'A^-1 phi(x) + k(x, x) - phi(x)'phi(x)."""
        Z = self._features(X)
        squares = np.einsum("ij,ij->i", Z, Z)
        prior = squares if self.spans_kernel else np.asarray(self.kernel.diagonal(X), np.float64)
        rest = prior - squares
        inside = {noise: noise * self._squares(noise, Z) for noise in self.factors}
        found = np.stack([inside[noise] for noise in self.noises.tolist()], axis=1)
        return clip_variance(found + np.maximum(rest, 0.0)[:, None], prior)

    def covariance(self, X: Any) -> NDArray[np.float64]:
        """Return noise phi(x)'A^-1 phi(x') + k(x, x') - phi(x)'phi(x')."""
        require_few(X.shape[0])
        Z = self._features(X)
        inside = {n: n * gram(solve_lower(self.factors[n], Z.T)) for n in self.factors}
        found = np.stack([inside[noise] for noise in self.noises.tolist()], axis=2)
        if not self.spans_kernel:
            rest = np.asarray(self.kernel(X), np.float64) - gram(np.ascontiguousarray(Z.T))
            found += rest[:, :, None]
        return found

    @property
    def spans_kernel(self) -> bool:
        """Whether the features approximate all of the kernel, as random ones do."""
        return isinstance(self.basis, RandomBasis)

    def log_likelihood(self, noises: NDArray[np.float64]) -> float:
        """Return the log density of the targets in their original units."""
        scale = self.sums.rows * float(np.log(self.units.deviation).sum())
        return log_likelihood(self.sums, self.units, noises) - scale

    def _features(self, X: Any) -> NDArray[np.float64]:
        return feature_values(self.basis, self.basis.encode(X))

    def _squares(self, noise: float, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = solve_lower(self.factors[noise], Z.T)
        return np.asarray(np.einsum("ji,ji->i", inner, inner))


def factor(sums: FeatureSums, noise: float) -> NDArray[np.float64]:
    """Return L with L L' = Z'WZ + noise I."""
    A = sums.gram.copy()
    np.einsum("ii->i", A)[:] += noise
    return jittered_cholesky(A, 0.0)[0]


def least_noise(sums: FeatureSums, prior: float) -> float:
    """Return the smallest noise that exceeds the rounding of the sums; `prior` is k(x, x)."""
    typical = sums.total_weight / max(sums.rows, 1)
    return max(LEAST_NOISE * prior * typical, ROUNDING * float(np.trace(sums.gram)))


def log_likelihood(sums: FeatureSums, units: Units, noises: NDArray[np.float64]) -> float:
    r"""Return sum over outputs of log N(y; 0, Z Z' + noise W^-1), for targets in `units`.

    By the matrix determinant lemma and Woodbury's formula, with A = Z'WZ + noise I, n rows and D
    features, -2 log N = n log(2 pi) - sum log w + (n - D) log noise + log det A
    + (y'Wy - y'WZ A^-1 Z'Wy) / noise (Rasmussen and Williams 2006, Eq. A.9 and A.10).
    """
    (cross, squares), n, total = sums.in_units(units), sums.rows, 0.0
    for noise in set(noises.tolist()):
        same = np.flatnonzero(noises == noise)
        lower = factor(sums, noise)
        explained = np.square(solve_lower(lower, cross[:, same])).sum(axis=0)
        fixed = n * np.log(2 * np.pi) - sums.logarithms + (n - len(lower)) * np.log(noise)
        determinant = 2 * float(np.log(lower.diagonal()).sum())
        misfit = np.maximum(squares[same] - explained, 0.0).sum() / noise
        total -= 0.5 * (len(same) * (fixed + determinant) + misfit)
    return float(total)


def best_noise(sums: FeatureSums, units: Units, guess: float, least: float) -> float:
    """Return the noise of greatest likelihood on all rows, the same for all outputs in `units`.

    The search starts at a guess from a sample. The noise on all rows may be larger, since it
    includes what the features miss of the kernel: a search that ends at a bound is repeated there.
    """
    outputs = np.ones(len(units.deviation))

    def objective(t: float) -> float:
        return -log_likelihood(sums, units, np.exp(t) * outputs)

    floor, t, tried = np.log(least), float(np.log(max(guess, least))), 0
    while tried < MOST_SEARCHES:
        low, high = max(t - SEARCHED, floor), t + SEARCHED
        found = minimize_scalar(
            objective, bounds=(low, high), method="bounded", options={"xatol": PRECISION}
        )
        t, tried = float(found.x), tried + 1
        at_bound = t > high - 2 * PRECISION or floor < low > t - 2 * PRECISION
        if not at_bound:
            break
    return max(float(np.exp(t)), least)
