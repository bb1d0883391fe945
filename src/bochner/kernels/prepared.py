"""Against: the values of a kernel between rows that come and rows that stay, its centres."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bochner.kernels.rows import Array, Rows, alike, centred, dense, divided

if TYPE_CHECKING:
    from bochner.kernels.kernel import Kernel


class Against(ABC):
    """k(., B) for rows `B` of which norms and the like are computed only once."""

    @abstractmethod
    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write k(A, B[start:stop]) into the C-contiguous `out`, which has the dtype of `A`.

        `A` is dense or sparse, of the dtype of `B`, and centred as `B` is.
        """


@dataclass(frozen=True, eq=False)
class Tiles(Against):
    """The values as `Kernel.tile` gives them: right for every kernel, with nothing prepared."""

    kernel: Kernel
    B: Rows

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the tile."""
        out[...] = self.kernel.tile(alike(A, self.B), self.B[start:stop])


@dataclass(frozen=True, eq=False)
class Combined(Against):
    """The sum or the product (`operation`) of the values of two kernels."""

    left: Against
    right: Against
    operation: np.ufunc

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values of the left and combine them with those of the right."""
        self.left.fill(A, start, stop, out)
        right = np.empty_like(out)
        self.right.fill(A, start, stop, right)
        self.operation(out, right, out=out)


@dataclass(frozen=True, eq=False)
class Multiplied(Against):
    """The values of a kernel times a factor."""

    values: Against
    factor: float

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values of the kernel and multiply them."""
        self.values.fill(A, start, stop, out)
        out *= out.dtype.type(self.factor)


@dataclass(frozen=True, eq=False)
class Divided(Against):
    """The values of a kernel at rows divided by `scales`; its centres are divided already."""

    values: Against
    scales: Array

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the divided rows."""
        self.values.fill(divided(A, self.scales), start, stop, out)


@dataclass(frozen=True, eq=False)
class Transformed(Against):
    """The values of a kernel at rows times `matrix` minus `centre`; its centres are so already."""

    values: Against
    matrix: Array
    centre: Array | None

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the transformed rows."""
        self.values.fill(centred(A @ self.matrix, self.centre), start, stop, out)


@dataclass(frozen=True, eq=False)
class Moved(Against):
    """The values of a kernel at rows minus `centre`; its centres are moved already."""

    values: Against
    centre: Array

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the moved rows."""
        self.values.fill(centred(dense(A), self.centre), start, stop, out)
