"""The picture of the demo: the true surface, the learned one and the error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bochner.data import RadialWave
from bochner.data.synthetic import HALF_WIDTH
from bochner.replacing import replacing

POINTS = 241  # on a side
INCHES = (12.0, 4.2)
DOTS_PER_INCH = 100
BAR: dict[str, Any] = {"aspect": 25, "pad": 0.02}


def draw(predict: Callable[[NDArray[Any]], NDArray[Any]], title: str, path: Path) -> None:
    """Draw a learned function beside the truth, and write the picture."""
    points = grid()
    truth, learned = surface(RadialWave.truth(points)), surface(predict(points))
    error = np.abs(learned - truth)
    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="compressed")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    scale = {"vmin": truth.min(), "vmax": truth.max(), "cmap": "viridis"}
    panel(axes[0], truth, "the truth", **scale)
    image = panel(axes[1], learned, title, **scale)
    figure.colorbar(image, ax=list(axes[:2]), label="f(x)", **BAR)
    # The wave has a cusp, where the error is several times that elsewhere.
    most = float(np.quantile(error, 0.999))
    image = panel(axes[2], error, "absolute error", vmin=0.0, vmax=most, cmap="magma")
    figure.colorbar(image, ax=axes[2], label="|learned - truth|", extend="max", **BAR)
    axes[0].set_ylabel("x₂")
    with replacing(path) as file:
        FigureCanvasAgg(figure).print_png(file)


def grid() -> NDArray[np.float32]:
    """Return the points of a square grid, row by row."""
    side = np.linspace(-HALF_WIDTH, HALF_WIDTH, POINTS, dtype=np.float32)
    first, second = np.meshgrid(side, side)
    return np.column_stack([first.ravel(), second.ravel()])


def surface(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return values at the points of the grid as a square."""
    return np.asarray(values, dtype=np.float64).reshape(POINTS, POINTS)


def panel(axes: Any, values: NDArray[Any], title: str, **colours: Any) -> Any:
    """Draw one surface, seen from above."""
    edges = (-HALF_WIDTH, HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH)
    axes.set_title(title)
    axes.set_xlabel("x₁")
    axes.set_xticks([-10, -5, 0, 5, 10])
    axes.set_yticks([-10, -5, 0, 5, 10])
    return axes.imshow(values, origin="lower", extent=edges, interpolation="bilinear", **colours)
