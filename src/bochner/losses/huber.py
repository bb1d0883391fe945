"""The Huber loss."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.losses.ranges import require_positive
from bochner.losses.rounded_absolute import RoundedAbsolute, Shape


@dataclass
class Huber(RoundedAbsolute, name="huber"):
    """The Huber loss, r^2 / 2 for |r| <= delta and delta |r| - delta^2 / 2 beyond, r = f - y.

    Far-off targets pull with the force delta, however far they are (Huber 1964, Robust estimation
    of a location parameter). It is delta times the absolute deviation, rounded off within delta.

    Parameters
    ----------
    delta : float
        Where the square ends, in units of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(1.0).value(np.array([[0.0], [0.0]]), np.array([[0.5], [10.0]]))
    array([0.125, 9.5  ])
    """

    delta: float = 1.0

    def check(self) -> None:
        """Refuse a delta that is not positive."""
        require_positive("delta", self.delta)

    @property
    def shape(self) -> Shape:
        """One kink of the slope delta, rounded off within delta."""
        return Shape(0.0, self.delta, 0.0, self.delta, 0.0)
