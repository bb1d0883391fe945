"""Units: the standardisation of targets to mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch, DataSource
from bochner.data.transforms.transform import learning_batches
from bochner.records import Validated, require_sound
from bochner.solvers.solver import require_weight


@dataclass(frozen=True, eq=False)
class Units(Validated):
    """The location subtracted from each output, and the deviation that it is divided by.

    A constant output has the deviation 1.
    """

    location: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def validate(self) -> None:
        """Check that each output has a location and a deviation."""
        require_sound(self.location.ndim == 1, "its location is not 1-d")
        require_sound(self.location.shape == self.deviation.shape, "its parts differ in length")

    @classmethod
    def none(cls, outputs: int) -> Units:
        """Return units that leave targets as they are."""
        return cls(np.zeros(outputs), np.ones(outputs))

    @classmethod
    def of(cls, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> Units:
        """Return units by mean and variance; an output that varies by rounding only is constant."""
        deviation = np.sqrt(np.maximum(variance, 0.0))
        constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(mean)
        return cls(mean, np.where(constant, 1.0, deviation))

    @classmethod
    def learn(cls, source: DataSource) -> Units:
        """Return units by the weighted moments of coded targets, of a sample if read once.

        The moments are taken about one row's targets, which avoids cancellation.
        """
        origin = source.sample(1).targets
        total_weight, total, squares = 0.0, np.zeros(origin.shape[1]), np.zeros(origin.shape[1])
        for batch in learning_batches(source):
            weight, rest = batch.weights, batch.y - origin
            total_weight, total = total_weight + float(weight.sum()), total + weight @ rest
            squares += weight @ np.square(rest)
        require_weight(total_weight)
        mean = total / total_weight
        return cls.of(np.ravel(origin + mean), squares / total_weight - np.square(mean))

    def __call__(self, batch: Batch) -> Batch:
        """Return the batch with targets in these units."""
        return replace(batch, y=(batch.targets - self.location) / self.deviation)

    def restore(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in the original units of the targets."""
        return mean * self.deviation + self.location
