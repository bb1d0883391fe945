"""Features of a kernel made from random functions: the functions themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.features.centring import Centring
from bochner.features.random.random_basis import RandomFunctionMap, WholeUnits
from bochner.kernels import RandomProcess
from bochner.kernels.given import UNIT
from bochner.kernels.rows import dense


@dataclass(init=False, eq=False, repr=False)
class ProcessBasis(WholeUnits):
    """The functions a phi(omega_j, x), a = 1 / sqrt(size), or 1 for an infinite basis."""

    kernel: RandomProcess

    def __init__(
        self,
        kernel: RandomProcess,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel = kernel
        unit_bytes = max(1, _bytes(kernel.draw(rows.n_columns, Random(seed, 0))))
        super().__init__(size, rows, seed, unit_bytes, memory, UNIT)

    def encode(self, X: Any) -> NDArray[Any]:
        """Return the rows in the dtype of the basis, dense."""
        return dense(self.rows(X))

    def draw(self, rng: Random) -> Any:
        """Return the draws of a unit, in the form that the kernel's sampler gives them."""
        return self.kernel.draw(self.n_columns, rng)

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write the functions of the draws."""
        values = self.kernel.values(parameters, code)
        np.multiply(values, self.amplitude, out=out[:, first : first + UNIT])


@dataclass
class ProcessFeatures(RandomFunctionMap):
    """The random functions of a `RandomProcess`, phi_j(x) = phi(omega_j, x) / sqrt(size).

    E phi(x)'phi(y) = k(x, y) by the kernel's definition (Dai et al. 2014, Scalable kernel methods
    via doubly stochastic gradients, Theorem 3).

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many, which are not scaled.
    """

    kernel_type: ClassVar[Any] = RandomProcess
    basis_type: ClassVar[type[Any]] = ProcessBasis


def _bytes(omega: Any) -> int:
    """Return the approximate number of bytes of draws."""
    if isinstance(omega, dict):
        return _bytes(tuple(omega.values()))
    if isinstance(omega, tuple | list):
        return sum(map(_bytes, omega))
    return int(np.asarray(omega).nbytes)
