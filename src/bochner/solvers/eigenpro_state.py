"""The state of EigenPro."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features import Basis
from bochner.solvers.preconditioner import CenterPreconditioner, FeaturePreconditioner, Pace
from bochner.solvers.solver import State

Place = NDArray[np.int64] | slice


@dataclass
class Temporary:
    """Centres that exist until the next projection: codes of rows with their weights.

    `reach` is the value that their sum has at the lasting centres.
    """

    rows: list[Any] = field(default_factory=list)
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    reach: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Constant:
    """Weights at the first centres of a function that is about 1 at the rows.

    `mass` bounds 1'(K + n alpha)^-1 1 from above, which is by how much the sum of the weights falls
    when the intercept rises by 1; the weights' own sum is what the eigenvectors see of it.
    """

    weights: NDArray[np.float64]
    mass: float


@dataclass
class EigenProState(State):
    """Weights and intercept, the preconditioner with its pace, and what the pass has met.

    The intercept multiplies a constant function whose square is `lift`; or it stays during a pass,
    and at its end takes over what f has of `constant`.
    `rows` is how many were seen before the first step: all, where they are centres.
    `ahead` is where momentum takes the next gradient, None without momentum; `best` the weights
    and intercept with the lowest loss on held-out rows.
    """

    basis: Basis
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    preconditioner: CenterPreconditioner | FeaturePreconditioner
    pace: Pace
    lift: float
    constant: Constant | None
    mean_weight: float
    rows: int
    ahead: NDArray[np.float64] | None = None
    ahead_intercept: NDArray[np.float64] | None = None
    best: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    temporary: Temporary = field(default_factory=Temporary)
    rises: int = 0
    pass_loss: float = 0.0
    pass_weight: float = 0.0

    @property
    def point(self) -> NDArray[np.float64]:
        """The weights at which the next gradient is taken."""
        return self.weights if self.ahead is None else self.ahead

    @property
    def rate(self) -> float:
        """How far a row moves the function: 1 / sqrt(1 + `rises`) of what is safe.

        `rises` is the number of passes whose mean loss was above that of the pass before.
        """
        return self.pace.rate / math.sqrt(1 + self.rises)
