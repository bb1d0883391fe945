"""Picture: a figure as SVG inside a page, in the colours of the page."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Ink is drawn in a colour that nothing else has; the page's own takes its place, so that one
# picture reads on light and on dark ground.
INK, FAINT = "#010203", "#040506"
# Of middle lightness, and told apart by colour-blind eyes (after Okabe and Ito).
COLOURS = ("#2b7bba", "#d9822b", "#2a9d6f", "#c2559d", "#7d6bd0", "#c4432b", "#4aa3b5", "#8c8c3a")
STYLE: dict[str, Any] = {
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.facecolor": "none",
    "font.size": 10,
    "grid.alpha": 0.25,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # a column may be named "$x$"
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, its title, and what can be seen on it."""

    title: str
    caption: str
    svg: str


@contextmanager
def drawing(width: float = 4.6, height: float = 3.4) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes in the style of a page; no window, no global state left."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def as_svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element; `name` makes its identifiers differ from all others."""
    import matplotlib as mpl

    text = io.StringIO()
    salt = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]
    with mpl.rc_context({"svg.hashsalt": salt}), warnings.catch_warnings():
        # The letters stay letters, and the browser has fonts for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(text, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
    return _of_the_page(text.getvalue(), salt)


def _of_the_page(svg: str, salt: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r' id="((?:figure|axes|patch|text|line2d|matplotlib)[\w.]*)"', "", svg)
    svg = svg.replace(INK, "currentColor").replace(FAINT, "var(--faint)")
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
