"""Random rectified features: neurons with random weights, for arc-cosine kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.feature_map import FeatureMap
from bochner.features.random_basis import RandomBasis
from bochner.features.random_functions import UNIT, WholeUnits
from bochner.features.sizes import checked_size
from bochner.kernels import ArcCosine, Kernel


@dataclass
class Rectified(FeatureMap, name="rectified"):
    """Random rectified features of an arc-cosine kernel.

    phi_j(x) = sqrt(2 / size) h(w_j'x) with normal w_j and h(t) = 1 for t > 0, max(t, 0) or
    max(t, 0)^2, by the order of the kernel, so that E phi(x)'phi(y) = k(x, y) (Cho and Saul 2009,
    Kernel methods for deep learning, Eq. 1).

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Rectified
    >>> from bochner.kernels import ArcCosine
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> basis = Rectified(65_536).build(ArcCosine(0), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 1/2
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = ArcCosine
    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RectifiedBasis:
        """Return the basis."""
        order, rows = self.required(kernel).order, Centring.in_place(sample.X, dtype)
        return RectifiedBasis(order, checked_size(self.size, 1), rows, seed, memory)


class RectifiedBasis(WholeUnits):
    """Steps, ramps or squared ramps of projections to normal vectors."""

    def __init__(
        self, order: int, size: int | None, rows: Centring, seed: int, memory: int | None = None
    ) -> None:
        self.order = order
        super().__init__(size, rows, seed, UNIT * rows.n_columns * rows.dtype.itemsize, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis."""
        return self.rows(X)

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return normal vectors, (n_columns, UNIT), so long that ramps have their amplitude."""
        length = (sqrt(2) * self.amplitude) ** (1 / self.order) if self.order else 1.0
        return (length * rng.normal((self.n_columns, UNIT))).astype(self.dtype)

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write rectified projections."""
        place = out[:, first : first + UNIT]
        if sp.issparse(code):
            place[:] = code @ parameters
        else:
            np.matmul(code, parameters, out=place)
        if self.order == 0:
            np.heaviside(place, 0, out=place)
            place *= self.dtype.type(sqrt(2) * self.amplitude)
        else:
            np.maximum(place, 0, out=place)
        if self.order == 2:
            np.square(place, out=place)
