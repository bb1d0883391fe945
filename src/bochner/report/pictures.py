"""The pictures of a report: figures as SVG, in the colours of the page."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 2_000  # in a picture

# Of medium lightness, and distinct for colour-blind readers (after Okabe and Ito).
COLOURS = ("#2b7bba", "#d9822b", "#2a9d6f", "#c2559d", "#7d6bd0", "#c4432b", "#4aa3b5", "#8c8c3a")
MOST_CLASSES = 12
MOST_BARS = 15
LONGEST_LABEL = 16
BINS = 10


# Colours that nothing else has: the SVG replaces them by the text colours of the page, so that a
# picture is readable in light and dark mode.
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
    """A figure as SVG, with a title and a caption."""

    title: str
    caption: str
    svg: str


@contextmanager
def drawing(width: float = 4.6, height: float = 3.4) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes in the style of the page, without changing global settings."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def as_svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element; `name` makes its identifiers unique on the page."""
    import matplotlib as mpl

    text = io.StringIO()
    salt = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]
    with mpl.rc_context({"svg.hashsalt": salt}), warnings.catch_warnings():
        # Text stays text in the SVG, and the browser has the fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(text, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
    return _adapt_to_page(text.getvalue())


def _adapt_to_page(svg: str) -> str:
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
    """Draw the confusion matrix; each row is divided by its sum."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from sklearn.metrics import ConfusionMatrixDisplay

    shown, left_out = _most_frequent(truth, classes)
    places = (_place(truth, shown), _place(predicted, shown))
    # Labels that the model does not know are "other", too.
    others = max(place.max() for place in places) == len(shown)
    labels = [*shown, "other"] if others else list(shown)
    shares = _shares(*places, len(labels), weight)
    clear = LinearSegmentedColormap.from_list("clear", [(*to_rgba(COLOURS[0])[:3], 0), COLOURS[0]])
    side = min(2.6 + 0.32 * len(labels), 6.4)
    with drawing(side + 0.6, side) as (figure, ax):
        ax.grid(visible=False)
        display = ConfusionMatrixDisplay(shares, display_labels=[shortened(v) for v in labels])
        angle = _rotation(labels)
        display.plot(ax=ax, cmap=clear, colorbar=False, values_format=".2f", xticks_rotation=angle)
        display.im_.set_clim(0, 1)
        for place, text in np.ndenumerate(display.text_):
            _set_text(text, float(shares[place]), small=len(labels) > 8)
        ax.set(xlabel="predicted", ylabel="true")
        svg = as_svg(figure, f"confusion {name}")
    caption = "Share of each true label that is predicted as each label; each row sums to 1."
    if left_out:
        caption += f" Shows the {MOST_CLASSES} most frequent of {len(classes)} labels."
    return Picture("Confusion matrix", caption, svg)


def calibration(
    places: NDArray[np.int64], probabilities: NDArray[Any], classes: NDArray[Any], name: str
) -> Picture:
    """Draw the observed frequency of labels against their predicted probability."""
    from sklearn.calibration import CalibrationDisplay

    if len(classes) == 2:
        correct, predicted = places == 1, probabilities[:, 1]
        label = f"probability of {shortened(classes[1])}"
    else:
        correct = places == probabilities.argmax(axis=1)
        predicted = probabilities.max(axis=1)
        label = "probability of the predicted label"
    predicted = np.clip(predicted, 0.0, 1.0)
    with drawing() as (figure, ax):
        if len(np.unique(correct)) == 2:
            CalibrationDisplay.from_predictions(
                correct,
                predicted,
                n_bins=BINS,
                strategy="quantile",
                ax=ax,
                name="model",
                pos_label=1,
            )
            ax.get_lines()[0].set_color(INK)
            ax.get_legend().remove()
        else:  # a single outcome is a point
            ax.plot([0, 1], [0, 1], ":", color=INK)
            ax.plot(predicted.mean(), correct.mean(), "s")
        ax.set(xlabel=label, ylabel="observed frequency", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        svg = as_svg(figure, f"calibration {name}")
    caption = "Calibrated probabilities lie on the dotted line. All points have equally many rows."
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
    truth: NDArray[np.int64], predicted: NDArray[np.int64], size: int, weight: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Return the share of each true label that is predicted as each, 0 for absent labels."""
    counts = np.bincount(truth * size + predicted, weights=weight, minlength=size * size)
    counts = counts.reshape(size, size)
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(totals > 0, totals, 1.0))


def _rotation(labels: list[Any]) -> int:
    """Return the angle of labels in degrees at which they do not overlap."""
    return 90 if len(labels) * max(len(shortened(label)) for label in labels) > 28 else 0


def _set_text(text: Any, share: float, small: bool) -> None:
    text.set_color("white" if share > 0.55 else INK)
    text.set_fontsize(7.5 if small else 9)
    if share == 0:
        text.set_text("·")


def shortened(label: Any) -> str:
    """Return a label on one line, truncated if it is long."""
    text = " ".join(str(label).split())
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def residuals(truth: NDArray[Any], predicted: NDArray[Any], name: str) -> Picture:
    """Draw the residuals against the predictions."""
    from sklearn.metrics import PredictionErrorDisplay

    rows = evenly_spaced(len(truth))
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
    caption = "Good residuals are small and show no pattern."
    if len(rows) < len(truth):
        caption += f" Shows {len(rows):,} of {len(truth):,} rows."
    return Picture("Residuals", caption, svg)


def coverage(
    nominal: NDArray[np.float64], observed: NDArray[np.float64], kind: str, name: str
) -> Picture:
    """Draw the share of rows inside intervals, or below quantiles, against the nominal share."""
    with drawing() as (figure, ax):
        ax.plot([0, 1], [0, 1], ":", color=INK, linewidth=1)
        ax.plot(nominal, observed, "s-", markersize=4)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel=f"nominal coverage of {kind}", ylabel="share of rows")
        svg = as_svg(figure, f"coverage {name}")
    return Picture("Coverage", "Exact coverage lies on the dotted line.", svg)


def importances(shares: NDArray[np.float64], names: Sequence[str], name: str) -> Picture:
    """Draw how much each column contributes to the predictions."""
    order = np.argsort(-shares, kind="stable")[:MOST_BARS][::-1]
    percent = 100 * shares[order] / max(float(shares.sum()), np.finfo(np.float64).tiny)
    with drawing(4.6, 1.0 + 0.24 * len(order)) as (figure, ax):
        ax.barh(range(len(order)), percent, alpha=0.85)
        ax.set_yticks(range(len(order)), [shortened(names[j]) for j in order])
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("importance, %")
        svg = as_svg(figure, f"importances {name}")
    caption = "How much each column contributes to the predictions."
    if len(order) < len(shares):
        caption += f" Shows the first {len(order)} of {len(shares):,} columns."
    return Picture("Importances of columns", caption, svg)


def evenly_spaced(rows: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Return the numbers of at most `most` rows, evenly spaced."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.int64))
