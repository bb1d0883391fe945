"""RandomFunctions: functions of which each alone has the kernel as its mean."""

from __future__ import annotations

from abc import abstractmethod
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.features.centring import Centring
from bochner.features.dense_basis import cuts
from bochner.features.seeded_basis import SeededBasis

UNIT = 512  # functions that are drawn together; changing it changes every model


class RandomFunctions(SeededBasis):
    """Random functions phi_j with E phi_j(x) phi_j(y) = k(x, y) / size.

    The endless ones lack the division by the size: their `amplitude` is 1, not sqrt(1 / size).
    """

    atom = 1

    def __init__(
        self,
        size: int | None,
        rows: Centring,
        seed: int,
        unit_bytes: int,
        memory: int | None,
        unit: int = UNIT,
    ) -> None:
        self.size, self.rows = size, rows
        self.n_columns, self.dtype = rows.n_columns, rows.dtype
        self.amplitude = 1.0 if size is None else sqrt(1 / size)
        super().__init__(seed, unit, unit_bytes, memory_budget(memory))

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((1 if self.size is None else self.size) / width)


class WholeUnits(RandomFunctions):
    """Random functions of which whole units are written at once; a basis says how."""

    @abstractmethod
    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write all functions of a unit into the columns of `out` from `first` on."""

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1; of units that are cut whole ones are made."""
        for begin, end in cuts(start, stop, self.unit):
            number, first = divmod(begin, self.unit)
            parameters, place = self.parameters(number), begin - start
            if end - begin == self.unit:
                self.write(code, parameters, out, place)
                continue
            whole = np.empty((code.shape[0], self.unit), self.dtype)
            self.write(code, parameters, whole, 0)
            out[:, place : place + end - begin] = whole[:, first : first + end - begin]
