"""Pictures of labels: which are taken for which, and whether probabilities keep their word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.report.picture import COLOURS, INK, Picture, as_svg, drawing

MOST_CLASSES = 12
LONGEST_LABEL = 16
BINS = 10


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
