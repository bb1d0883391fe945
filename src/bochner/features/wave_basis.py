"""WaveBasis: what bases of waves with drawn frequencies share."""

from __future__ import annotations

from abc import abstractmethod
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.features.centring import Centring
from bochner.features.dense_basis import BLOCK, cuts
from bochner.features.drawings import Drawing
from bochner.features.seeded_basis import SeededBasis
from bochner.kernels import ShiftInvariant

WIDEST = 8 * BLOCK  # functions that are written at once: 8 MiB of a tile


class WaveBasis(SeededBasis):
    """Waves of the height sqrt(2 variance / size), or sqrt(variance) if they are endless.

    `waves` is the number of functions of a frequency: a cosine and a sine, or a cosine alone.
    """

    waves: ClassVar[int]

    def __init__(
        self,
        kernel: ShiftInvariant,
        size: int | None,
        centring: Centring,
        drawing: Drawing,
        seed: int,
        *,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.size, self.centring, self.drawing = kernel, size, centring, drawing
        self.n_columns, self.dtype = centring.n_columns, centring.dtype
        self.amplitude = sqrt(kernel.variance * (1 if size is None else 2 / size))
        self.pairs = drawing.pairs(self.n_columns)
        self.width = min(WIDEST, max(BLOCK, self.waves * drawing.together(self.n_columns)))
        unit_bytes = drawing.unit_bytes(self.n_columns, self.dtype)
        super().__init__(seed, self.waves * self.pairs, unit_bytes, memory_budget(memory))

    @abstractmethod
    def unit_turns(self, code: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write the phases of the waves first, ..., last - 1 of a unit, in turns, into `out`."""

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis, centred unless the sample was sparse."""
        self.kernel.require(X)
        return self.centring(X)

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((2 if self.size is None else self.size) / width)

    def turns(self, code: Any, first: int, last: int) -> NDArray[Any]:
        """Return the phases of the frequencies first, ..., last - 1 at some rows, in turns."""
        turns = np.empty((code.shape[0], last - first), self.dtype)
        for begin, end in cuts(first, last, self.pairs):
            number, top = divmod(begin, self.pairs)
            unit, place = self.parameters(number), turns[:, begin - first : end - first]
            self.unit_turns(code, unit, top, top + end - begin, place)
        return turns
