"""Matplotlib axes, and the optional packages that drawing needs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

PACKAGES = ("matplotlib", "jinja2")


def require(packages: tuple[str, ...] = PACKAGES) -> None:
    """Raise an ImportError that names the extra if a package for reports is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reports and displays need {' and '.join(packages)}; not installed: "
            f"{' and '.join(missing)}. Install with pip install 'bochner[report]'."
        )


def axes_or_new(given: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return the given axes, or those of a new pyplot figure."""
    if given is not None:
        return given
    require(("matplotlib",))
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plain_numbers(axis: Any) -> None:
    """Label an axis with plain numbers; a short logarithmic axis also at 2 and 5 times 10^k."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = sorted(axis.get_view_interval())
        steps = (1.0,) if high > 1e3 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
