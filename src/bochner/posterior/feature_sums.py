"""FeatureSums: all that Gaussian process regression on features needs to know of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import gram, transposed_product
from bochner.data import Batch
from bochner.features import Basis, BinningBasis, DenseBasis, WhitenedBasis
from bochner.posterior.units import Units, require_mass, weights_of

MOST_FEATURES = 10_000  # 800 MB for their products, and as much for a factor of them


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Sums over rows with features z_i, targets y_i about `origin` and weights w_i.

    `gram` is sum w z z', `cross` sum w z y', `plain` sum w z, `total` sum w y and `squares`
    sum w y^2; `mass` is sum w, `logarithms` sum log w, `rows` the number of rows with a weight.
    Sums of parts are sums of all, so rows may come in batches, from a stream, or over time.
    """

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    plain: NDArray[np.float64]
    origin: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    mass: float = 0.0
    logarithms: float = 0.0
    rows: int = 0

    @classmethod
    def empty(cls, size: int, origin: NDArray[np.float64]) -> FeatureSums:
        """Return the sums over no row."""
        outputs = len(origin)
        gram, cross, plain = np.zeros((size, size)), np.zeros((size, outputs)), np.zeros(size)
        return cls(gram, cross, plain, origin, np.zeros(outputs), np.zeros(outputs))

    def added(self, Z: NDArray[Any], batch: Batch) -> FeatureSums:
        """Return the sums with the rows of a batch, whose features are Z; these are used up."""
        weight = weights_of(batch)
        assert batch.y is not None  # targets are coded
        root, y = np.sqrt(weight)[:, None], batch.y - self.origin
        weighted = np.ascontiguousarray(root * Z, np.float64)
        np.add(self.gram, gram(weighted), out=self.gram)
        beside = transposed_product(weighted, np.ascontiguousarray(np.hstack([root * y, root])))
        some = weight > 0
        return replace(
            self,
            cross=self.cross + beside[:, :-1],
            plain=self.plain + beside[:, -1],
            total=self.total + weight @ y,
            squares=self.squares + weight @ np.square(y),
            mass=self.mass + float(weight.sum()),
            logarithms=self.logarithms + float(np.log(weight[some]).sum()),
            rows=self.rows + int(some.sum()),
        )

    def grown(self, basis: Basis, before: Basis) -> FeatureSums:
        """Return the sums for a basis that has further functions, which no row so far has met."""
        if basis is before or basis.size == before.size:
            return self
        require_few_features(basis.size)
        wide = basis.spread(self.gram, before)
        tall = np.ascontiguousarray(basis.spread(np.ascontiguousarray(wide.T), before))
        cross, plain = (basis.spread(part, before) for part in (self.cross, self.plain))
        return replace(self, gram=tall, cross=cross, plain=plain)

    @property
    def units(self) -> Units:
        """Mean and deviation of the targets of all rows."""
        require_mass(self.mass)
        mean = self.total / self.mass
        units = Units.of(mean, self.squares / self.mass - np.square(mean))
        return Units(self.origin + mean, units.deviation)

    def targets(self, units: Units) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sum w z y' and sum w y^2 for targets in other units."""
        shift = units.location - self.origin
        cross = (self.cross - np.outer(self.plain, shift)) / units.deviation
        squares = self.squares - 2 * shift * self.total + self.mass * np.square(shift)
        return cross, np.maximum(squares, 0.0) / np.square(units.deviation)


def extended(basis: Basis, X: Any) -> tuple[Basis, NDArray[np.float64]]:
    """Return the basis with the functions that rows call for, and their values, (rows, size)."""
    larger, code = basis.extended(X)
    require_few_features(larger.size)
    return larger, values(larger, code)


def values(basis: Basis, code: Any) -> NDArray[np.float64]:
    """Return the functions of a basis at encoded rows, (rows, size), in double precision."""
    if not isinstance(basis, DenseBasis | WhitenedBasis | BinningBasis):
        raise ValueError(
            "A Gaussian process needs features that can be written down: Fourier(size), "
            f"Centers(size) or Binning(grids); got those of a {type(basis).__name__}."
        )
    return np.asarray(basis.columns(code), np.float64)


def require_few_features(size: int | None) -> None:
    """Refuse features whose products do not fit."""
    if size is None:
        raise ValueError(
            "variance='features' needs a number of features; got an endless supply. Give "
            "features=Fourier(size), Centers(size) or Binning(grids)."
        )
    if size > MOST_FEATURES:
        raise ValueError(
            f"variance='features' takes at most {MOST_FEATURES:,} features, since its memory is "
            f"the square of their number; got {size:,}. Give fewer: features=Centers(2000), "
            "Fourier(2000), or fewer grids of a larger bandwidth."
        )
