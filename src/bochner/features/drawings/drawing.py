"""Drawing: ways to draw the frequencies of waves, and to find the phases of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.kernels import ShiftInvariant

PAIRS = 256  # of a cosine and a sine that are drawn together; changing it changes every model


class Drawing(Component, ABC, family="drawing"):
    """How the frequencies of a kernel are drawn, a unit of them at a time.

    Every frequency has the spectral measure of the kernel, or nearly so; drawings differ in how
    frequencies of a unit depend on each other, and in how rows are multiplied by them.
    """

    def pairs(self, n_columns: int) -> int:
        """Return how many frequencies are a unit: a power of two, at least `PAIRS`."""
        return PAIRS

    def together(self, n_columns: int) -> int:
        """Return how many frequencies take no longer than one of them."""
        return 1

    def takes(self, kernel: ShiftInvariant) -> bool:
        """Whether the frequencies of a kernel without open defaults can be drawn in this way.

        By what it is made of: that holds for any number of columns, also for the only one that
        its scales, directions or places are meant for.
        """
        return True

    def check(self, kernel: ShiftInvariant, n_columns: int) -> None:
        """Raise a ValueError if the frequencies of this kernel cannot be drawn in this way."""
        return

    @abstractmethod
    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Any:
        """Return a unit of frequencies, in turns, as `turns` wants to have them."""

    @abstractmethod
    def unit_bytes(self, n_columns: int, dtype: Any) -> int:
        """Return the memory that a unit takes."""

    @abstractmethod
    def turns(self, rows: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write omega_j'x / (2 pi) of some rows, j = first, ..., last - 1 of a unit, into `out`."""


class MatrixDrawing(Drawing):
    """Frequencies that are a matrix; only the random numbers that they are made of differ."""

    @abstractmethod
    def numbers(self, kernel: ShiftInvariant, size: int, rng: Random) -> Random:
        """Return what stands for the random numbers of a unit of so many frequencies."""

    def draw(self, kernel: ShiftInvariant, n_columns: int, rng: Random, dtype: Any) -> Any:
        """Return the frequencies of the kernel, (n_columns, pairs)."""
        size = self.pairs(n_columns)
        frequencies = kernel.frequencies(n_columns, size, self.numbers(kernel, size, rng))
        return np.ascontiguousarray(frequencies / (2 * pi), dtype=dtype)

    def unit_bytes(self, n_columns: int, dtype: Any) -> int:
        """Return the bytes of the matrix."""
        return n_columns * self.pairs(n_columns) * int(np.dtype(dtype).itemsize)

    def turns(self, rows: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Multiply the rows by columns of the matrix."""
        frequencies = unit[:, first:last]
        if sp.issparse(rows):
            out[:] = rows @ frequencies
        else:
            np.matmul(rows, frequencies, out=out)
