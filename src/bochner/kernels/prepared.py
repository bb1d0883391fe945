"""PreparedKernel: a kernel whose second argument is fixed."""

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


def evaluated(prepared: PreparedKernel, A: Rows, B: Rows) -> Array:
    """Return k(A, B) of few rows in the dtype of `A`, for a kernel prepared for the rows `B`."""
    out = np.empty((A.shape[0], B.shape[0]), A.dtype)
    prepared.fill(A, 0, B.shape[0], out)
    return out


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
class PreparedFunction(PreparedKernel):
    """A function of the values of a kernel, which it replaces in place."""

    kernel: PreparedKernel
    function: Callable[[Array], None]

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values of the kernel and apply the function."""
        self.kernel.fill(A, start, stop, out)
        self.function(out)


@dataclass(frozen=True, eq=False)
class PreparedTransform(PreparedKernel):
    """A kernel of transformed rows; its rows `B` are transformed already."""

    kernel: PreparedKernel
    transform: Callable[[Rows], Rows]

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the transformed rows."""
        self.kernel.fill(self.transform(A), start, stop, out)
