"""Random Laplace features: exponentials with random rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.random.counter_based import Random
from bochner.features.centring import Centring
from bochner.features.random.random_basis import UNIT, RandomFunctionMap, RandomFunctions
from bochner.kernels.exponentiated import Semigroup
from bochner.kernels.rows import fill_product

HIGHEST = 1e30  # rate, so that its product with an entry is finite in single precision


@dataclass(init=False, eq=False, repr=False)
class RandomLaplaceBasis(RandomFunctions):
    """The functions exp(-omega_j'x), times sqrt(1 / size) unless infinite."""

    kernel: Semigroup

    def __init__(
        self,
        kernel: Semigroup,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel, unit_bytes = kernel, rows.n_columns * UNIT * rows.dtype.itemsize
        super().__init__(size, rows, seed, unit_bytes, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; raise if entries are negative."""
        rows = self.rows(X)
        self.kernel.require(rows)
        return rows

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return the negative rates of a unit, (n_columns, UNIT)."""
        rates = np.minimum(self.kernel.rates(self.rows.n_columns, UNIT, rng), HIGHEST)
        return np.ascontiguousarray(-rates, dtype=self.dtype)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        for rates, first, last, place in self.units(start, stop):
            fill_product(code, rates[:, first:last], out[:, place : place + last - first])
        exponential(out)
        out *= self.dtype.type(self.amplitude)


@dataclass
class RandomLaplace(RandomFunctionMap, name="random_laplace"):
    """Random Laplace features of a semigroup kernel.

    phi(x) = (exp(-omega_1'x), exp(-omega_2'x), ...) / sqrt(size) with omega_j drawn from the
    kernel's measure, so that E phi(x)'phi(y) = E exp(-omega'(x + y)) = k(x + y) (Yang, Sindhwani,
    Fan, Avron and Mahoney 2014, Random Laplace feature maps for semigroup kernels on histograms).

    Parameters
    ----------
    size : int or None
        The number of functions. None means infinitely many, which are not divided: a solver
        divides by the number that it uses. A smaller size is a prefix of a larger one up to the
        scale.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import RandomLaplace
    >>> from bochner.kernels import ReciprocalSemigroup
    >>> X = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> sample = ArraySource(X).sample(2)
    >>> basis = RandomLaplace(10_000).build(ReciprocalSemigroup(1.0), sample, seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 0.25, 0.2667 and 0.3333
    array([[0.2, 0.3],
           [0.3, 0.3]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Semigroup
    basis_type: ClassVar[type[Any]] = RandomLaplaceBasis
