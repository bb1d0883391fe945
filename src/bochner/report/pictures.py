"""Pictures of a page: figures as SVG, in the colours of the page."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 2_000  # on a picture: more make it heavy and tell nothing

# Of middle lightness, and told apart by colour-blind eyes (after Okabe and Ito).
COLOURS = ("#2b7bba", "#d9822b", "#2a9d6f", "#c2559d", "#7d6bd0", "#c4432b", "#4aa3b5", "#8c8c3a")
MOST_CLASSES = 12
LONGEST_LABEL = 16
BINS = 10


# Ink is drawn in a colour that nothing else has; the page's own takes its place, so that one
# picture reads on light and on dark ground.
INK, FAINT = "#010203", "#040506"


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


def confusion(
    truth: NDArray[Any],
    predicted: NDArray[Any],
    classes: NDArray[Any],
    weight: NDArray[Any] | None,
    name: str,
) -> Picture:
    """Draw the share of each true label that is predicted as each label."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from sklearn.metrics import ConfusionMatrixDisplay

    shown, left_out = _most_frequent(truth, classes)
    places = (_place(truth, shown), _place(predicted, shown))
    # Labels beyond those that the model knows are others, too.
    others = max(place.max() for place in places) == len(shown)
    labels = [*shown, "other"] if others else list(shown)
    shares = _shares(*places, len(labels), weight)
    clear = LinearSegmentedColormap.from_list("clear", [(*to_rgba(COLOURS[0])[:3], 0), COLOURS[0]])
    side = min(2.6 + 0.32 * len(labels), 6.4)
    with drawing(side + 0.6, side) as (figure, ax):
        ax.grid(visible=False)
        display = ConfusionMatrixDisplay(shares, display_labels=[shortened(v) for v in labels])
        turn = _turn(labels)
        display.plot(ax=ax, cmap=clear, colorbar=False, values_format=".2f", xticks_rotation=turn)
        display.im_.set_clim(0, 1)
        for place, text in np.ndenumerate(display.text_):
            _word(text, float(shares[place]), small=len(labels) > 8)
        ax.set(xlabel="predicted", ylabel="true")
        svg = as_svg(figure, f"confusion {name}")
    caption = "Each line sums to 1: the share of a true label that is predicted as each label."
    if left_out:
        caption += f" The {MOST_CLASSES} most frequent of {len(classes)} labels; the rest is other."
    return Picture("Confusion matrix", caption, svg)


def calibration(
    places: NDArray[np.int64], probabilities: NDArray[Any], classes: NDArray[Any], name: str
) -> Picture:
    """Draw how often labels come true beside the probability that they were given."""
    from sklearn.calibration import CalibrationDisplay

    if len(classes) == 2:
        happened, said = places == 1, probabilities[:, 1]
        what = f"probability of {shortened(classes[1])}"
    else:
        happened, said = places == probabilities.argmax(axis=1), probabilities.max(axis=1)
        what = "probability of the predicted label"
    said = np.clip(said, 0.0, 1.0)
    with drawing() as (figure, ax):
        if len(np.unique(happened)) == 2:
            CalibrationDisplay.from_predictions(
                happened, said, n_bins=BINS, strategy="quantile", ax=ax, name="model", pos_label=1
            )
            ax.get_lines()[0].set_color(INK)
            ax.get_legend().remove()
        else:  # one outcome only: a point
            ax.plot([0, 1], [0, 1], ":", color=INK)
            ax.plot(said.mean(), happened.mean(), "s")
        ax.set(xlabel=what, ylabel="share that came true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        svg = as_svg(figure, f"calibration {name}")
    caption = "On the dotted line probabilities are shares; each point has as many rows."
    return Picture("Calibration", caption, svg)


def _most_frequent(truth: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    if len(classes) <= MOST_CLASSES:
        return classes, False
    counts = np.array([np.count_nonzero(truth == label) for label in classes])
    places = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    return classes[places], True


def _place(values: NDArray[Any], shown: NDArray[Any]) -> NDArray[np.int64]:
    place = np.full(len(values), len(shown))
    for number, label in enumerate(shown):
        place[values == label] = number
    return place


def _shares(
    truth: NDArray[np.int64], said: NDArray[np.int64], size: int, weight: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Return which share of each true label is predicted as each, 0 for labels without rows."""
    counts = np.bincount(truth * size + said, weights=weight, minlength=size * size)
    counts = counts.reshape(size, size)
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(totals > 0, totals, 1.0))


def _turn(labels: list[Any]) -> int:
    """Return by how many degrees labels are turned so as not to run into each other."""
    return 90 if len(labels) * max(len(shortened(label)) for label in labels) > 28 else 0


def _word(text: Any, share: float, small: bool) -> None:
    text.set_color("white" if share > 0.55 else INK)
    text.set_fontsize(7.5 if small else 9)
    if share == 0:
        text.set_text("·")


def shortened(label: Any) -> str:
    """Return a label on one line, cut where it is long."""
    word = " ".join(str(label).split())
    word = "".join(letter if letter.isprintable() else "\ufffd" for letter in word)
    return word if len(word) <= LONGEST_LABEL else f"{word[: LONGEST_LABEL - 1]}…"


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


def some(rows: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Return the numbers of at most that many rows, evenly apart."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.int64))
