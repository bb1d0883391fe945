"""KernelBasis: functions made of kernel values at centres, whose weights can cancel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bochner.features.dense_basis import ROWS, DenseBasis

MOST_LOST = 1e-4  # of the function's deviation: more rounding is visible between close rows


class KernelBasis(DenseBasis):
    """Functions of kernel values at centres, in single or double precision.

    Where the kernel matrix of the centres has a low rank (few columns in a linear kernel, a wide
    Gaussian), a smooth function can have weights that are thousands of times larger than itself.
    Sums in single precision then leave some of the rounding.
    """

    @abstractmethod
    def in_double(self) -> Self:
        """Return the same functions in double precision."""

    @abstractmethod
    def code_of_centers(self, numbers: NDArray[np.int64]) -> Any:
        """Return the code of the centres of these numbers."""

    @property
    @abstractmethod
    def n_centers(self) -> int:
        """The number of centres whose code is known."""

    @property
    def double(self) -> Self:
        """The same functions in double precision, which are kept."""
        if self._double is None:
            self._double = self.in_double()
        return self._double

    _double: Self | None = None

    def loses_digits(self, weights: NDArray[Any]) -> bool:
        """Whether sums with these weights differ much from those in double precision.

        Both are computed at some of the centres.
        """
        if self.dtype == np.float64 or self.n_centers == 0:
            return False
        numbers = np.unique(np.linspace(0, self.n_centers - 1, ROWS).astype(np.int64))
        single, double = (
            basis.evaluate(basis.code_of_centers(numbers), weights).astype(np.float64)
            for basis in (self, self.in_double())
        )
        lost = np.sqrt(np.mean(np.square(single - double), axis=0))
        return bool((lost > MOST_LOST * double.std(axis=0)).any())
