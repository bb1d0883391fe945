"""IterationBoundDisplay: the iterations of gradient descent, with and without preconditioning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.axes import axes_or_new
from bochner.spectra.iterations import IterationBound

MOST_LINES = 10
LEAST, HEADROOM = 0.5, 20.0  # the lowest number of iterations, and the room for the legend on top
PLAIN, PRECONDITIONED = "#c44e52", "#2a6fbb"


class IterationBoundDisplay:
    """The iterations along each eigenvector, one line for each target; needs matplotlib.

    Parameters
    ----------
    bound : IterationBound

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> bound = IterationBound(np.array([1.0, 0.1]), np.ones((2, 1)))
    >>> display = IterationBoundDisplay(bound).plot(k=1, ax=Figure().subplots())
    >>> display.ax_.get_yscale()
    'log'
    """

    def __init__(self, bound: IterationBound) -> None:
        self.bound = bound

    def plot(self, k: int = 160, ax: Any = None) -> IterationBoundDisplay:
        """Plot at most 10 targets, without and with k eigenvectors; return the display."""
        bound, ax = self.bound, axes_or_new(ax, (7.0, 4.2))
        k = min(k, len(bound.values) - 1)
        _draw(ax, bound.plain, PLAIN, "gradient descent")
        label = f"preconditioned with k = {k} eigenvectors"
        _draw(ax, bound.preconditioned(k), PRECONDITIONED, label)
        ax.axvline(k + 0.5, ymax=0.78, color="0.4", linestyle=":", linewidth=1)
        ax.annotate(" k", (k + 0.5, 0.02), xycoords=("data", "axes fraction"), color="0.4")
        ax.set(yscale="log", xlim=(1, max(len(bound.values), 2)))
        ax.set_ylim(LEAST, HEADROOM * max(bound.plain.max(), 1.0))
        ax.set_xlabel("eigendirection, in the order of eigenvalues")
        ax.set_ylabel(f"iterations to come within {bound.epsilon:g}")
        ax.grid(color="0.9", linewidth=0.6)
        ax.legend(frameon=False, loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw(ax: Any, numbers: NDArray[np.float64], color: str, label: str) -> None:
    """Plot the first targets; directions that need no iteration leave a gap."""
    lines = np.where(numbers > 0, numbers, np.nan)[:, :MOST_LINES].T
    index = np.arange(1, lines.shape[1] + 1)
    style = {"color": color, "linewidth": 1, "alpha": len(lines) ** -0.5}
    for line in lines:
        ax.plot(index, line, **style)
    ax.plot([], [], color=color, label=label)  # the legend shows the colour in full
