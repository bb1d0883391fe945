"""axes(): the axes to draw on, those that are given or new ones, and numbers along them."""

from __future__ import annotations

from typing import Any

from bochner.report.requirements import require


def axes(given: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return the axes that were given, or those of a new figure of pyplot."""
    if given is not None:
        return given
    require()
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plain_numbers(axis: Any) -> None:
    """Write the numbers of a logarithmic axis as they are, also where few powers of ten are."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = sorted(axis.get_view_interval())
        steps = (1.0,) if high > 1e3 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
