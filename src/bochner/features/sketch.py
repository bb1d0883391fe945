"""The tensor sketch of a polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.feature_map import FeatureMap
from bochner.features.random_basis import RandomBasis
from bochner.features.random_functions import RandomFunctions
from bochner.features.sizes import checked_size
from bochner.features.sketch_bases import RootsBasis, SketchBasis
from bochner.kernels import Kernel, Polynomial

NARROW = 64  # columns up to which a product with roots of unity is faster than a transform


@dataclass
class Sketch(FeatureMap, name="tensor_sketch"):
    """The tensor sketch of a polynomial kernel.

    k(x, y) = (u'v)^degree for u = (sqrt(scale) x, sqrt(constant)). A count sketch sends each
    column of u, with a random sign, to a random bucket. The circular convolution of
    `degree` independent ones is a count sketch of the tensor product of u with itself (Pham and
    Pagh 2013, Fast and scalable polynomial kernels via explicit feature maps, Algorithm 1).

    What differs: features are the Fourier transform of the sketch, real and imaginary parts. It is
    orthogonal, so inner products are the same; the convolution is a product of transforms, and
    none is inverted. Also, each feature alone has the kernel as its mean, so that any number of
    them will do. A sketch has as many buckets as there are features, or 512 if they are endless.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Sketch
    >>> from bochner.kernels import Polynomial
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> kernel = Polynomial(2, constant=0.0, scale=1.0)
    >>> basis = Sketch(65_536).build(kernel, ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 0.36
    array([[1. , 0.4],
           [0.4, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Polynomial
    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RandomFunctions:
        """Return the basis."""
        polynomial = self.required(kernel)
        rows, size = Centring.in_place(sample.X, dtype), checked_size(self.size, 1)
        Basis = RootsBasis if rows.n_columns <= NARROW else SketchBasis
        return Basis(polynomial, size, rows, seed, memory)
