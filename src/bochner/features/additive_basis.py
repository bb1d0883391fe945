"""Bases of additive homogeneous kernels: waves of the logarithms of single columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.waves import column_waves
from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.features.centring import Centring
from bochner.features.dense_basis import DenseBasis, cuts
from bochner.features.seeded_basis import SeededBasis
from bochner.kernels.histogram import Additive
from bochner.kernels.rows import dense

PAIRS = 256  # of a cosine and a sine that are drawn together; changing it changes every model
LAST = 1 - 2.0**-40  # of the spectrum, whose end may be at infinity


@dataclass(frozen=True, eq=False)
class Waves:
    """Columns and, in the dtype of the rows, turns, shifts and amplitudes of waves."""

    columns: NDArray[np.int64]
    numbers: NDArray[Any]
    tiny: Any

    @classmethod
    def of(cls, table: NDArray[np.float64], dtype: np.dtype[Any]) -> Waves:
        """Return the waves of a table of columns, turns, shifts and amplitudes."""
        numbers = np.array(table[1:], dtype, order="C")
        return cls(table[0].astype(np.int64), numbers, np.finfo(dtype).tiny)

    def __getitem__(self, some: slice) -> Waves:
        """Return some of them."""
        numbers = np.ascontiguousarray(self.numbers[:, some])
        return Waves(self.columns[some], numbers, self.tiny)

    def write(self, code: Any, out: NDArray[Any]) -> None:
        """Write the waves at rows; where an entry is 0 its root is, whatever the wave."""
        rows = np.ascontiguousarray(dense(code))
        roots, logarithms = np.sqrt(rows), np.maximum(rows, self.tiny)
        np.log(logarithms, out=logarithms)
        columns, numbers = np.array(self.columns), np.array(self.numbers)  # not read-only
        column_waves(logarithms, roots, columns, numbers, out)


class AdditiveBasis(DenseBasis):
    """The waves a_f sqrt(x_c) cos(2 pi (t_f log x_c - s_f)) that are given in a table.

    Column f of `waves` holds the number c of a column, the turns t, the shift s and the amplitude
    a.
    """

    size: int

    def __init__(self, kernel: Additive, rows: Centring, waves: NDArray[np.float64]) -> None:
        self.kernel, self.rows = kernel, rows
        self.size, self.dtype = waves.shape[1], rows.dtype
        self.waves = Waves.of(waves, rows.dtype)

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; negative entries are refused."""
        return _checked(self.kernel, self.rows(X))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1."""
        whole = start == 0 and stop == self.size
        (self.waves if whole else self.waves[start:stop]).write(code, out)

    def features(self, X: Any) -> NDArray[Any]:
        """Return all waves at rows."""
        return self.columns(self.encode(X))


class RandomAdditiveBasis(SeededBasis):
    """Waves of random columns and frequencies, a cosine and a sine side by side.

    A column c is drawn with chance p_c and a frequency from the spectrum; the amplitude is
    sqrt(2 / (size p_c)), or sqrt(1 / p_c) if endless. The pairs of a unit are one from each of 256
    strata of columns and frequencies, in random order.
    """

    def __init__(
        self,
        kernel: Additive,
        rows: Centring,
        chances: NDArray[np.float64],
        size: int | None,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.rows, self.chances, self.size = kernel, rows, chances, size
        self.dtype, self.scale = rows.dtype, 1.0 if size is None else 2 / size
        super().__init__(seed, 2 * PAIRS, 4 * 2 * PAIRS * 8, memory_budget(memory))

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; negative entries are refused."""
        return _checked(self.kernel, self.rows(X))

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return columns, turns, shifts and amplitudes, (4, 2 PAIRS)."""
        places = (rng.permutation(PAIRS) + rng.uniform(PAIRS)) / PAIRS
        ends = np.cumsum(self.chances) / self.chances.sum()
        columns = np.searchsorted(ends[:-1], places, side="right")
        within = 1 - (ends[columns] - places) / self.chances[columns]
        turns = self.kernel.quantiles(np.clip(within, 0, LAST)) / (2 * pi)
        heights = np.sqrt(self.scale / self.chances[columns])
        shifts = np.tile([0.0, 0.25], PAIRS)
        columns, turns, heights = (np.repeat(each, 2) for each in (columns, turns, heights))
        return np.stack([columns, turns, shifts, heights])

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1."""
        parts = []
        for begin, end in cuts(start, stop, self.unit):
            number, first = divmod(begin, self.unit)
            parts.append(self.parameters(number)[:, first : first + end - begin])
        if parts:
            Waves.of(np.concatenate(parts, axis=1), self.dtype).write(code, out)

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((2 if self.size is None else self.size) / width)


def _checked(kernel: Additive, rows: Any) -> Any:
    kernel.require(rows)
    return rows
