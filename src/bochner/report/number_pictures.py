"""Pictures of numbers: what is left of them, and whether intervals keep their word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.picture import INK, Picture, as_svg, drawing
from bochner.report.predictions import some


def residuals(truth: NDArray[Any], predicted: NDArray[Any], name: str) -> Picture:
    """Draw what predictions leave of the truth."""
    from sklearn.metrics import PredictionErrorDisplay

    rows = some(len(truth))
    size = 9.0 if len(rows) > 500 else 16.0
    with drawing() as (figure, ax):
        PredictionErrorDisplay(y_true=truth[rows], y_pred=predicted[rows]).plot(
            ax=ax,
            kind="residual_vs_predicted",
            scatter_kwargs={"s": size, "alpha": 0.45, "lw": 0, "rasterized": True},
            line_kwargs={"color": INK, "alpha": 1.0, "linewidth": 1},
        )
        ax.set(xlabel="predicted", ylabel="true − predicted")
        svg = as_svg(figure, f"residuals {name}")
    caption = "Good residuals are small and have no shape."
    if len(rows) < len(truth):
        caption += f" {len(rows):,} of {len(truth):,} rows."
    return Picture("Residuals", caption, svg)


def coverage(said: NDArray[np.float64], held: NDArray[np.float64], what: str, name: str) -> Picture:
    """Draw the share of rows that intervals hold, or that lie below quantiles, beside the word."""
    with drawing() as (figure, ax):
        ax.plot([0, 1], [0, 1], ":", color=INK, linewidth=1)
        ax.plot(said, held, "s-", markersize=4)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel=f"promised by {what}", ylabel="share of rows")
        svg = as_svg(figure, f"coverage {name}")
    return Picture("Coverage", "On the dotted line as many rows as promised.", svg)
