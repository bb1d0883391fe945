"""RandomFeatures: the random features that belong to a kernel, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.compute.memory import memory_budget
from bochner.compute.random import Random
from bochner.data.batch import Batch
from bochner.features.combined_basis import DividedBasis, ProductBasis, SumBasis
from bochner.features.exponential_fourier import ExponentialFourier
from bochner.features.feature_map import FeatureMap
from bochner.features.fourier import Fourier
from bochner.features.harmonics import Harmonics
from bochner.features.maclaurin import Maclaurin
from bochner.features.process_basis import ProcessFeatures
from bochner.features.random_basis import RandomBasis
from bochner.features.rectified import Rectified
from bochner.features.requirements import checked_size
from bochner.features.sketch import Sketch
from bochner.kernels import (
    ArcCosine,
    Exponential,
    GeneralProduct,
    GeneralScaled,
    GeneralStretched,
    GeneralSum,
    Kernel,
    Polynomial,
    PowerSeries,
    RandomProcess,
    ShiftInvariant,
    Zonal,
)
from bochner.kernels.stretched import column_scales

PARTS = 0x9A275  # keeps the seeds of parts apart


@dataclass
class RandomFeatures(FeatureMap, name="random"):
    """The random features that belong to a kernel.

    Shift-invariant kernels have waves, kernels made from random functions those. The features of a
    sum are those of its parts side by side, those of a product the products of independent draws
    of its factors: the mean of phi(x)'phi(y) is k(x, y) in each case.

    Parameters
    ----------
    size : int or None
        The number of functions, a multiple of those that are drawn together: 2 for a wave, the
        product for a product of kernels, as many of each part for a sum. None means that there is
        no end to them.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import RandomFeatures
    >>> from bochner.kernels import Gaussian, RandomProcess
    >>> def normal(n_columns, size, rng):
    ...     return rng.normal((n_columns, size))
    >>> linear = RandomProcess(lambda omega, X: X @ omega, normal)
    >>> kernel, X = Gaussian(1.0) + 0.5 * linear, np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> basis = RandomFeatures(60_000).build(kernel, ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1.5, 0.6 + 0.5 and 2
    array([[1.5, 1.1],
           [1.1, 2. ]], dtype=float32)
    """

    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RandomBasis:
        """Return the basis of the map that belongs to the kernel."""
        return _random(map_of(kernel, self.size).build(kernel, sample, seed, dtype, memory), kernel)


@dataclass
class SumFeatures(FeatureMap):
    """The features of a sum or a multiple of kernels: those of all parts side by side.

    Every part has as many functions as every other.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
    """

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
        basis = SumBasis(parts, numbers, widths, None)
        size = checked_size(self.size, basis.atom)
        return basis if size is None else SumBasis(parts, numbers, widths, size)


@dataclass
class ProductFeatures(FeatureMap):
    """The features of a product of kernels: products of independent draws of each.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
    """

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
        basis = ProductBasis(parts, number, widths, None)
        size = checked_size(self.size, basis.atom)
        return basis if size is None else ProductBasis(parts, number, widths, size)


@dataclass
class StretchedFeatures(FeatureMap):
    """The features of a stretched kernel: those of the kernel at divided rows.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
    """

    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> DividedBasis:
        """Return the basis of the kernel that is stretched."""
        assert isinstance(kernel, GeneralStretched)  # the only kernel that has these features
        rows = Batch(kernel.divided(sample.X), sample.y, sample.index, sample.weight)
        inner = RandomFeatures(self.size).build(kernel.kernel, rows, seed, dtype, memory)
        return DividedBasis(inner, column_scales(kernel.scales, sample.X.shape[1]))


# The map that belongs to each kind of kernel; the nearest base class of a kernel counts.
MAPS: dict[type[Any], Any] = {
    ShiftInvariant: Fourier,
    Polynomial: Sketch,
    Exponential: ExponentialFourier,
    PowerSeries: Maclaurin,
    ArcCosine: Rectified,
    Zonal: Harmonics,
    RandomProcess: ProcessFeatures,
    GeneralSum: SumFeatures,
    GeneralScaled: SumFeatures,
    GeneralProduct: ProductFeatures,
    GeneralStretched: StretchedFeatures,
}


def has_map(kernel: Kernel) -> bool:
    """Whether random features are known of a kernel, and of all that it is made of."""
    parts = [value for value in vars(kernel).values() if isinstance(value, Kernel)]
    return _known(kernel) is not None and all(map(has_map, parts))


def map_of(kernel: Kernel, size: int | None = None) -> FeatureMap:
    """Return the map that belongs to a kernel, or refuse one that has none."""
    if (known := _known(kernel)) is not None:
        return known(size)  # type: ignore[no-any-return]
    names = ", ".join(kind.__name__ for kind in MAPS)
    raise ValueError(
        f"No random features are known of {kernel!r}; kernels of these kinds have some: {names}. "
        "Use features='centers', which takes any kernel, or give its features as a RandomProcess."
    )


def map_name(kernel: Kernel) -> str:
    """Return the name of the features of a kernel: "random" finds those that have none."""
    known = _known(kernel)
    return next((name for name, map_ in FeatureMap.registry.items() if map_ is known), "random")


def _known(kernel: Kernel) -> Any:
    return next((MAPS[base] for base in type(kernel).__mro__ if base in MAPS), None)


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
        RandomFeatures().build(kernel, sample, own, dtype, share)
        for kernel, own in zip(kernels, seeds, strict=True)
    ]


def _width(part: RandomBasis, sample: Batch) -> int:
    return int(part.encode(sample.X[:1]).shape[1])


def _random(basis: Any, kernel: Kernel) -> RandomBasis:
    if isinstance(basis, RandomBasis):
        return basis
    raise ValueError(
        f"The features of {kernel!r} are not drawn at random, block by block; got a "
        f"{type(basis).__name__}. Use them as they are, or features='centers'."
    )
