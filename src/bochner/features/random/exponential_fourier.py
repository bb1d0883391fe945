"""Random features of the exponential kernel: Fourier features times exp(|x|^2 / 2b^2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.elementwise.waves import cosine_sine
from bochner.compute.random.counter_based import Random
from bochner.features.centring import Centring
from bochner.features.random.random_basis import UNIT, RandomFunctionMap, WholeUnits
from bochner.kernels import Exponential
from bochner.kernels.distances import squared_norms


@dataclass(init=False, eq=False, repr=False)
class ExponentialFourierBasis(WholeUnits):
    """Cosines and sines side by side, times exp(|x|^2 / 2), of rows divided by the bandwidth."""

    atom = 2
    bandwidth: float

    def __init__(
        self,
        kernel: Exponential,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.bandwidth = kernel.length
        unit_bytes = UNIT // 2 * rows.n_columns * rows.dtype.itemsize
        super().__init__(size, rows, seed, unit_bytes, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows divided by the bandwidth."""
        return self.rows(X) * self.dtype.type(1 / self.bandwidth)

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return normal frequencies in turns, (n_columns, UNIT / 2)."""
        return (rng.normal((self.n_columns, UNIT // 2)) / (2 * pi)).astype(self.dtype)

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write waves and multiply them by the rows' factors."""
        turns = np.ascontiguousarray(code @ parameters)
        cosine_sine(turns, out, sqrt(2) * self.amplitude, first)
        out[:, first : first + UNIT] *= exponential(squared_norms(code) / 2)[:, None]


@dataclass
class ExponentialFourier(RandomFunctionMap, name="exponential_fourier"):
    """Random Fourier features of the exponential kernel.

    With b the bandwidth, exp(x'y / b^2) = exp(|x|^2 / 2b^2) exp(|y|^2 / 2b^2) exp(-|x - y|^2 /
    2b^2), and the last factor is a Gaussian kernel: phi(x) = sqrt(2 / size) exp(|x|^2 / 2b^2)
    (cos(w_1'x), sin(w_1'x), ...) with w_j normal of standard deviation 1 / b (Rahimi and Recht
    2007, Random features for large-scale kernel machines; Choromanski et al. 2021, Rethinking
    attention with performers, section 2.3). k(x, x) is exact.

    Parameters
    ----------
    size : int or None
        The number of functions, even: a cosine and a sine for each frequency. None means
        infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import ExponentialFourier
    >>> from bochner.kernels import Exponential
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> source = ArraySource(X)
    >>> basis = ExponentialFourier(65_536).build(Exponential(1.0), source.sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are e and 1
    array([[2.7, 1. ],
           [1. , 2.7]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Exponential
    basis_type: ClassVar[type[Any]] = ExponentialFourierBasis
