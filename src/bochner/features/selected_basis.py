"""SelectedBasis: some draws of another basis, each with a factor of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features.dense_basis import BLOCK
from bochner.features.drawings import MatrixDrawing
from bochner.features.fourier import FourierBasis
from bochner.features.random_basis import RandomBasis

WINDOW = 512  # functions of the other basis among which some are looked for at a time


class SelectedBasis(RandomBasis):
    """The functions scales_j phi_j(x) of the draws `chosen`, in ascending order, of a basis.

    An atom of the other basis is written whole or not at all.
    """

    size: int

    def __init__(
        self, inner: RandomBasis, chosen: NDArray[np.int64], scales: NDArray[np.float64]
    ) -> None:
        self.inner, self.chosen, self.atom, self.dtype = inner, chosen, inner.atom, inner.dtype
        self.scales, self.size = scales.astype(self.dtype), inner.atom * len(chosen)

    def encode(self, X: Any) -> Any:
        """Return the rows as the other basis takes them."""
        return self.inner.encode(X)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        first, last = start // self.atom, -(-stop // self.atom)
        chosen = self.chosen[first:last]
        whole = np.empty((code.shape[0], len(chosen), self.atom), self.dtype)
        windows = chosen // max(1, WINDOW // self.atom)
        for window in np.unique(windows):
            places = np.flatnonzero(windows == window)
            whole[:, places] = self._draws(code, chosen[places])
        whole *= self.scales[first:last, None]
        flat = whole.reshape(code.shape[0], -1)
        out[:] = flat[:, start - first * self.atom : stop - first * self.atom]

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt(self.size / width)

    def span(self) -> int:
        """Return that of the other basis, less what lies between the chosen draws."""
        between = (int(self.chosen[-1]) + 1) / len(self.chosen)
        return max(BLOCK, int(self.inner.span() / between) // BLOCK * BLOCK)

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Have the parameters between the first and the last of these draws ready."""
        chosen = self.chosen[start // self.atom : -(-stop // self.atom)]
        ends = (int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else (0, 0)
        return self.inner.holding(ends[0] * self.atom, ends[1] * self.atom)

    def _draws(self, code: Any, chosen: NDArray[np.int64]) -> NDArray[Any]:
        """Return some draws that lie close to each other, (rows, draws, atom)."""
        low, high = int(chosen[0]), int(chosen[-1]) + 1
        block = np.empty((code.shape[0], (high - low) * self.atom), self.dtype)
        self.inner.fill(code, low * self.atom, high * self.atom, block)
        return block.reshape(code.shape[0], high - low, self.atom)[:, chosen - low]


def selected(
    basis: RandomBasis, chosen: NDArray[np.int64], scales: NDArray[np.float64]
) -> SelectedBasis:
    """Return some draws of a basis; frequencies are gathered, so that no others are evaluated."""
    if not isinstance(basis, FourierBasis) or not isinstance(basis.drawing, MatrixDrawing):
        return SelectedBasis(basis, chosen, scales)
    size = basis.pairs
    with basis.holding(2 * int(chosen[0]), 2 * int(chosen[-1]) + 2):
        gathered = [basis.parameters(int(j) // size)[:, int(j) % size] for j in chosen]
    units = range(-(-len(gathered) // size))
    given = {i: _unit(gathered[i * size : (i + 1) * size], size) for i in units}
    return SelectedBasis(basis.with_given(given), np.arange(len(chosen)), scales)


def _unit(frequencies: list[NDArray[Any]], size: int) -> NDArray[Any]:
    """Return a unit of frequencies, zeros in the places of those that are missing."""
    some = np.stack(frequencies, axis=1)
    return np.ascontiguousarray(np.pad(some, ((0, 0), (0, size - some.shape[1]))))
