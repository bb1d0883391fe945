"""PreparedKernel: a kernel whose second argument is fixed, with its norms and the like computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bochner.kernels.rows import Array, Rows, alike


class PreparedKernel(ABC):
    """The function k(., B) of fixed rows `B`, of which norms and the like are computed once."""

    @abstractmethod
    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write k(A, B[start:stop]) into the C-contiguous `out`, which has the dtype of `A`.

        `A` is dense or sparse, of the dtype of `B`, and centred as `B` is.
        """


Against = PreparedKernel  # the name of earlier versions


@dataclass(frozen=True, eq=False)
class PreparedTiles(PreparedKernel):
    """The values that a function `tile(A, B)` returns, with nothing computed in advance."""

    tile: Callable[[Rows, Rows], Array]
    B: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the tile."""
        out[...] = self.tile(alike(A, self.B), self.B[start:stop])


@dataclass(frozen=True, eq=False)
class PreparedPair(PreparedKernel):
    """The sum or the product (`operation`) of two kernels."""

    left: PreparedKernel
    right: PreparedKernel
    operation: np.ufunc

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values of the left kernel and combine them with those of the right one."""
        self.left.fill(A, start, stop, out)
        right = np.empty_like(out)
        self.right.fill(A, start, stop, right)
        self.operation(out, right, out=out)


@dataclass(frozen=True, eq=False)
class PreparedMultiple(PreparedKernel):
    """A kernel times a factor."""

    kernel: PreparedKernel
    factor: float

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values of the kernel and multiply them."""
        self.kernel.fill(A, start, stop, out)
        out *= out.dtype.type(self.factor)


@dataclass(frozen=True, eq=False)
class PreparedTransform(PreparedKernel):
    """A kernel of transformed rows; its rows `B` are transformed already."""

    kernel: PreparedKernel
    transform: Callable[[Rows], Rows]

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the transformed rows."""
        self.kernel.fill(self.transform(A), start, stop, out)
