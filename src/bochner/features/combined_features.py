"""Features of sums, products, stretches and chosen columns, made of those of the parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.combined_basis import ProductBasis, SeenBasis, SumBasis
from bochner.features.feature_map import FeatureMap
from bochner.features.maps_of_kernels import MAPS, map_of
from bochner.features.random_basis import RandomBasis
from bochner.features.sizes import whole_draws
from bochner.kernels import (
    GeneralProduct,
    GeneralScaled,
    GeneralStretched,
    GeneralSum,
    Kernel,
    OnColumns,
)
from bochner.kernels.rows import checked_rows

PARTS = 0x9A275  # keeps the seeds of parts apart


@dataclass
class SumFeatures(FeatureMap):
    """The features of a sum or a multiple of kernels: those of all parts side by side.

    Every part has as many functions as every other.

    Parameters
    ----------
    size : int or None
        The most functions: as many draws as there is room for. None means that there is no end to
        them.
    """

    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> SumBasis:
        """Return the basis made of those of the parts."""
        numbers, kernels = zip(*terms(kernel), strict=True)
        parts = _parts(kernels, sample, seed, dtype, memory)
        widths = [_width(part, sample) for part in parts]
        size = whole_draws(self.size, SumBasis(parts, numbers, widths, None).atom)
        return SumBasis(parts, numbers, widths, size)


@dataclass
class ProductFeatures(FeatureMap):
    """The features of a product of kernels: products of independent draws of each.

    Parameters
    ----------
    size : int or None
        The most functions: as many draws as there is room for. None means that there is no end to
        them.
    """

    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> ProductBasis:
        """Return the basis made of those of the factors."""
        number, kernels = factors(kernel)
        parts = _parts(kernels, sample, seed, dtype, memory)
        widths = [_width(part, sample) for part in parts]
        size = whole_draws(self.size, ProductBasis(parts, number, widths, None).atom)
        return ProductBasis(parts, number, widths, size)


@dataclass
class SeenFeatures(FeatureMap):
    """The features of a stretched kernel, or of one of some columns: at rows as the kernel sees.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
    """

    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> SeenBasis:
        """Return the basis of the kernel that is stretched, or that sees some columns."""
        assert isinstance(kernel, GeneralStretched | OnColumns)  # no others have these features
        rows = replace(sample, X=kernel.seen(checked_rows(sample.X)))
        inner = random_basis(kernel.kernel, self.size, rows, seed, dtype, memory)
        return SeenBasis(inner, kernel)


MAPS.update(
    {
        GeneralSum: SumFeatures,
        GeneralScaled: SumFeatures,
        GeneralProduct: ProductFeatures,
        GeneralStretched: SeenFeatures,
        OnColumns: SeenFeatures,
    }
)


def random_basis(
    kernel: Kernel,
    size: int | None,
    sample: Batch,
    seed: int,
    dtype: Any = np.float32,
    memory: int | None = None,
) -> RandomBasis:
    """Return the basis of the map of a kernel, of which any block approximates it.

    Where a map makes something else of a size, so many of its endless functions are taken.
    """
    own = map_of(kernel, size)
    features = own if issubclass(own.basis_type, RandomBasis) else SumFeatures(size)
    return cast(RandomBasis, features.build(kernel, sample, seed, dtype, memory))


def terms(kernel: Kernel) -> list[tuple[float, Kernel]]:
    """Return the kernels whose sum, times their numbers, is this one."""
    if isinstance(kernel, GeneralSum):
        return terms(kernel.left) + terms(kernel.right)
    if isinstance(kernel, GeneralScaled):
        return [(kernel.factor * number, part) for number, part in terms(kernel.kernel)]
    return [(1.0, kernel)]


def factors(kernel: Kernel) -> tuple[float, list[Kernel]]:
    """Return the number and the kernels whose product is this one."""
    if isinstance(kernel, GeneralProduct):
        (one, left), (two, right) = factors(kernel.left), factors(kernel.right)
        return one * two, left + right
    if isinstance(kernel, GeneralScaled):
        number, kernels = factors(kernel.kernel)
        return kernel.factor * number, kernels
    return 1.0, [kernel]


def _parts(
    kernels: Any, sample: Batch, seed: int, dtype: Any, memory: int | None
) -> list[RandomBasis]:
    """Return the endless bases of kernels, each with its own seed and a share of the memory."""
    share = memory_budget(memory) // len(kernels)
    seeds = [int(Random(seed, PARTS, i).integers(1)[0]) for i in range(len(kernels))]
    return [
        random_basis(kernel, None, sample, own, dtype, share)
        for kernel, own in zip(kernels, seeds, strict=True)
    ]


def _width(part: RandomBasis, sample: Batch) -> int:
    return int(part.encode(sample.X[:1]).shape[1])
