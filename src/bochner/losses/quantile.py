"""The pinball loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bochner.losses.ranges import require_share
from bochner.losses.rounded_absolute import Numbers, Rounded, Shape, each


@dataclass
class Quantile(Rounded, name="quantile"):
    """The pinball loss: tau (y - f) above f and (1 - tau) (f - y) below, summed over outputs.

    Its minimum is the quantile tau of y (Koenker and Bassett 1978, Regression quantiles); for the
    median it is half the absolute deviation. Its kink is rounded off (`RoundedAbsolute`).

    Parameters
    ----------
    quantile : float or tuple of floats
        tau, between 0 and 1; several are those of the outputs, again and again if there are more.
    width : float, tuple of floats or "auto"
        How near to the kink it is rounded off, in units of the targets; "auto" is 0.3 of the
        deviation that is expected to be left of them.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(0.9).value(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]]))
    array([0.9, 0.1])
    """

    quantile: Numbers = 0.5
    width: Any = "auto"

    def check(self) -> None:
        """Refuse quantiles out of range."""
        super().check()
        for share in each(self.quantile):
            require_share("quantile", share)

    def settled(self, deviations: NDArray[np.float64]) -> Self:
        """Return the loss with a width and a quantile for each of these outputs."""
        shares, outputs = each(self.quantile), len(deviations)
        if outputs % len(shares):
            raise ValueError(
                f"There must be one quantile, or one for each output; got {len(shares)} for "
                f"{outputs} output(s). Give one, or use KernelQuantileRegressor for several of "
                "the same number."
            )
        quantile = tuple(shares) * (outputs // len(shares)) if len(shares) > 1 else shares[0]
        return replace(super().settled(deviations), quantile=quantile)

    @property
    def shape(self) -> Shape:
        """Slope 1/2 - tau and scale 1/2."""
        return self._shape(0.5 - np.asarray(self.quantile), 0.5, 0.0)
