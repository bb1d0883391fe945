"""RandomFeatures: the random features of a kernel, simple or composite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from bochner.data.batch import Batch
from bochner.features.feature_map import MAPS, FeatureMap, has_map
from bochner.features.random.additive import AdditiveHomogeneous
from bochner.features.random.angular import Harmonics, Rectified
from bochner.features.random.combined import random_map
from bochner.features.random.exponentiated import HistogramFourier, RandomLaplace
from bochner.features.random.fourier import ExponentialFourier, Fourier
from bochner.features.random.maclaurin import Maclaurin
from bochner.features.random.process import ProcessFeatures
from bochner.features.random.random_basis import RandomBasis
from bochner.features.random.sketch import Sketch
from bochner.kernels import (
    Additive,
    ArcCosine,
    Exponential,
    Exponentiated,
    Kernel,
    Polynomial,
    PowerSeries,
    RandomProcess,
    Semigroup,
    ShiftInvariant,
    ShiftInvariantOnColumns,
    SkewedChiSquared,
    Zonal,
)

MAPS.update(
    {
        ShiftInvariant: Fourier,
        ShiftInvariantOnColumns: Fourier,
        Polynomial: Sketch,
        Exponential: ExponentialFourier,
        PowerSeries: Maclaurin,
        ArcCosine: Rectified,
        Zonal: Harmonics,
        Additive: AdditiveHomogeneous,
        Exponentiated: HistogramFourier,
        SkewedChiSquared: HistogramFourier,
        Semigroup: RandomLaplace,
        RandomProcess: ProcessFeatures,
    }
)


@dataclass
class RandomFeatures(FeatureMap, name="random"):
    """The random features of a kernel.

    The table `MAPS` has the feature map of each type of kernel. The features of a sum are those of
    its parts side by side, those of a product the products of independent draws of its factors. The
    mean of phi(x)'phi(y) is k(x, y), or nearly so (`HistogramFourier`, Hadamard drawings).

    Parameters
    ----------
    size : int or None
        The number of functions; for sums and products the maximal number, since all parts have the
        same number of whole draws. None means infinitely many.

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

    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def takes(self, kernel: Kernel) -> bool:
        """Whether the kernel and all its parts have random features."""
        return has_map(kernel)

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RandomBasis:
        """Return the basis of the feature map of the kernel."""
        basis = random_map(kernel, self.size).build(kernel, sample, seed, dtype, memory)
        return cast(RandomBasis, basis)
