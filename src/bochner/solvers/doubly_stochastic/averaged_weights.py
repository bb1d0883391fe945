"""AveragedWeights: decay and averaging of weights, at the cost of the moved coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.records import Validated, require_sound

SMALLEST_SCALE = 1e-100


@dataclass
class AveragedWeights(Validated):
    """The iterates w_s = scale_s v_s and their weighted mean.

    Weight decay multiplies `scale` alone. With importances r_s, the sums A = sum r_s scale_s
    (`area`), N = sum r_s (`total`) and u (`lag`), to which every move dv adds A dv before A
    grows, the mean sum r_s w_s / N is (A v - u) / N: a change at step t belongs to the iterates of
    the area A - A_t only. A step thus costs as much as the coordinates that it moves.
    """

    outputs: int
    columns: int = 0
    scale: float = 1.0
    area: float = 0.0
    total: float = 0.0
    values: NDArray[np.float64] = field(init=False)
    lag: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.values = np.zeros((0, self.outputs))
        self.lag = np.zeros((0, self.outputs))

    def validate(self) -> None:
        """Check that values and lags are of the same columns and outputs."""
        shape = self.values.shape
        require_sound(len(shape) == 2 and shape == self.lag.shape, "its weights and lags differ")
        require_sound(shape[1] == self.outputs, "it has weights for other outputs")
        require_sound(0 <= self.columns <= shape[0], "it has fewer weights than columns")

    def move(self, start: int, change: NDArray[Any]) -> NDArray[np.float64]:
        """Add to the weights from `start` on, extend them if needed; return the change in v."""
        stop = start + len(change)
        self._reach(stop)
        change = change / self.scale
        self.values[start:stop] += change
        self.lag[start:stop] += self.area * change
        return change

    def decay(self, factor: float) -> bool:
        """Multiply all weights; return whether v was rescaled, which invalidates old copies."""
        if self.columns == 0:
            return False
        self.scale *= factor
        if self.scale >= SMALLEST_SCALE:
            return False
        if self.scale == 0.0:  # the weights are 0 from here on, but stay in the mean
            self.lag -= self.area * self.values
        self.values *= self.scale
        self.area = 0.0 if self.scale == 0.0 else self.area / self.scale
        self.scale = 1.0
        return True

    def include(self, importance: float) -> None:
        """Add the present weights to the mean."""
        self.area += importance * self.scale
        self.total += importance

    @property
    def v(self) -> NDArray[np.float64]:
        """v, without spare capacity."""
        return self.values[: self.columns]

    @property
    def u(self) -> NDArray[np.float64]:
        """u, without spare capacity."""
        return self.lag[: self.columns]

    def current(self, start: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """Return the weights w."""
        return self.scale * self.v[start:stop]

    def mean(self) -> NDArray[np.float64]:
        """Return the mean of the included iterates."""
        return np.asarray((self.area * self.v - self.u) / self.total)

    def _reach(self, stop: int) -> None:
        if stop > len(self.values):
            more = ((0, max(stop, 2 * len(self.values)) - len(self.values)), (0, 0))
            self.values, self.lag = np.pad(self.values, more), np.pad(self.lag, more)
        self.columns = max(self.columns, stop)
