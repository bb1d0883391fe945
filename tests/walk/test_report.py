"""From a model to a page."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelQuantileRegressor,
    KernelRegressor,
)
from bochner.report import (
    ConfidenceDisplay,
    DataSummary,
    ErrorAgainstTimeDisplay,
    HistoryDisplay,
    LabelPredictions,
    NumberPredictions,
    QuantileDisplay,
    QuantilePredictions,
    Report,
    Run,
    axes,
)
from bochner.report.report import bin_edges

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(300, 2))
HEIGHT = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
HOSTILE = "<script>alert('&')</script>"


class Page(HTMLParser):
    """What a browser would run or load, and the text that it would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.addresses, self.text, self.open = [], [], "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        names = {"src", "href", "xlink:href", "action", "data"}
        self.addresses += [value for name, value in attributes if name in names]
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag not in {"meta", "path", "use", "image"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in {"path", "use", "image"}:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def several() -> Report:
    labels = np.array([HOSTILE, "$x$", "_c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
    models = {
        "exact": KernelClassifier(random_state=0),
        f"dsg {HOSTILE}": KernelClassifier(solver="dsg", random_state=0),
    }
    runs = [
        Run.of(model.fit(X, labels), X, labels, name=name, seconds=1.0, peak_memory=10**8)
        for name, model in models.items()
    ]
    runs.insert(0, Run.failed(HOSTILE, ValueError(f"no {HOSTILE}")))
    data = DataSummary.of(X, labels, target=HOSTILE, names=["$a", HOSTILE], source=HOSTILE)
    return Report(HOSTILE, data, runs, command=f"bochner {HOSTILE}", seed=0, notes=[HOSTILE])


def test_nothing_on_a_page_runs_or_is_loaded_from_elsewhere(several):
    html = several.html()
    page = Page(html)
    assert page.open == []
    assert not {"script", "iframe", "link", "object", "base"} & {*page.tags}
    assert all(address.startswith(("#", "data:image/png")) for address in page.addresses)
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert page.text.count(HOSTILE) > 8
    assert len(html) < 400_000


def test_the_best_run_comes_first_and_a_failed_one_last_with_its_reason(several):
    assert [run.error is None for run in several.runs_in_order] == [True, True, False]
    first, second, _ = (run.scores for run in several.runs_in_order)
    assert not second or first[0].value <= second[0].value
    assert several.runs_in_order[0].name in several.verdict
    text = Page(several.html()).text
    for word in ("Methods", "Confusion matrix", "Calibration", "Learning curves", "Solver direct"):
        assert word in text


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelRegressor(random_state=0), ["RMSE", "Residuals", "Solver direct"]),
        (KernelQuantileRegressor([0.1, 0.5, 0.9], random_state=0), ["pinball", "Coverage"]),
        (KernelGaussianProcess(random_state=0), ["negative log likelihood", "Coverage"]),
    ],
)
def test_a_page_of_one_run_shows_what_suits_its_predictions(model, words, tmp_path):
    run = Run.of(model.fit(X[:200], HEIGHT[:200]), X[200:], HEIGHT[200:], seconds=0.1)
    data = DataSummary.of(X[:200], HEIGHT[:200], target="height", test_rows=100)
    Report("Heights", data, [run]).write(tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    for word in [*words, "random_state", "evaluated on 100 other rows", "How to reproduce"]:
        assert word in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_page_shows_how_much_each_column_contributes(several):
    text = Page(several.html()).text
    assert text.count("How much each column contributes") == 2  # runs
    named = Run.of(KernelRegressor().fit(X, HEIGHT), X, HEIGHT, seconds=None)
    data = DataSummary.of(X, HEIGHT, names=["east", HOSTILE[:12]])
    picture = Page(Report("Columns", data, [named]).html())
    assert "Importances of columns" in picture.text
    assert picture.text.count(HOSTILE[:12]) == 2  # in the table and beside its bar


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_numbers_are_drawn_as_a_histogram_and_labels_as_bars(kind):
    counts = np.rint(2 * HEIGHT).astype(kind)
    if kind in (int, float):
        predictions = NumberPredictions(counts, counts)
    else:
        predictions = LabelPredictions(counts, counts)
    data = DataSummary.of(X, counts, target="count")
    text = Page(Report("Counts", data, [Run("r", predictions)]).html()).text
    assert ("Median" in text) == (kind in (int, float))
    assert ("labels; the most frequent" in text) == (kind in (bool, str))


def test_a_bin_of_whole_numbers_holds_equally_many():
    rng = np.random.default_rng(0)
    for values in (rng.poisson(4, 900), rng.poisson(400, 900), rng.integers(0, 10**6, 90)):
        edges = bin_edges(values)
        assert ((edges % 1) == 0.5).all()
        assert np.ptp(np.diff(edges)) == 0
        assert np.histogram(values, edges)[0].sum() == len(values)
        assert len(edges) <= 43
    assert len(bin_edges(np.array([1e300, -1e300]))) == 11


def test_a_page_that_cannot_be_written_leaves_the_old_one(several, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("an old one")

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(Report, "html", lambda self: "new")
    with pytest.raises(OSError, match="disk is full"):
        several.write(page)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["an old one"]
    with pytest.raises(ValueError, match=r"end in \.html"):
        several.write(tmp_path / "page.pdf")


def test_without_packages_for_pages_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(axes, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"matplotlib and jinja2.*bochner\[report\]"):
        axes.require()


def test_a_summary_counts_kinds_and_missing_values():
    table = pd.DataFrame({"town": ["a", None, "b"], "area": [1.0, np.nan, 3.0]})
    town, area = (summary := DataSummary.of(table, [1, 2, 3])).columns
    assert (town.kind, town.missing, town.categories) == ("category", 1, 2)
    assert (area.kind, area.missing, area.low, area.mean, area.high) == ("number", 1, 1, 2, 3)
    assert summary.missing == 2


def test_scores_are_those_of_scikit_learn_also_with_weights():
    from sklearn import metrics

    weight = rng.integers(1, 4, size=300)
    said = np.round(HEIGHT)
    found = {s.name: s.value for s in NumberPredictions(HEIGHT, said, weight=weight).scores()}
    assert found["R²"] == pytest.approx(metrics.r2_score(HEIGHT, said, sample_weight=weight))
    labels, chance = HEIGHT > 0.5, rng.uniform(size=300)
    both = np.column_stack([1 - chance, chance])
    predictions = LabelPredictions(labels, chance > 0.5, both, [False, True], weight)
    found = {s.name: s.value for s in predictions.scores()}
    wrong = 1 - metrics.accuracy_score(labels, chance > 0.5, sample_weight=weight)
    assert found["error"] == pytest.approx(wrong)
    assert found["log loss"] == pytest.approx(metrics.log_loss(labels, both, sample_weight=weight))
    area = metrics.roc_auc_score(labels, chance, sample_weight=weight)
    assert found["area under ROC"] == pytest.approx(area)
    both = np.column_stack([said - 1, said])
    (loss, _) = QuantilePredictions(HEIGHT, both, [0.1, 0.6]).scores()
    parts = [
        metrics.mean_pinball_loss(HEIGHT, both[:, j], alpha=tau) for j, tau in enumerate([0.1, 0.6])
    ]
    assert loss.value == pytest.approx(np.mean(parts))


def test_scores_of_several_targets_are_means_over_the_targets():
    from sklearn import metrics

    truth = np.column_stack([HEIGHT, 100 + 5 * HEIGHT])  # one average would flatter R²
    said, weight = truth + rng.normal(size=truth.shape), rng.integers(1, 4, size=300)
    several = NumberPredictions(truth, said, np.ones(300), weight)
    found = {score.name: score.value for score in several.scores()}
    assert found["R²"] == pytest.approx(metrics.r2_score(truth, said, sample_weight=weight))
    rmse = metrics.root_mean_squared_error(truth, said, sample_weight=weight)
    assert found["RMSE"] == pytest.approx(rmse)
    parts = [
        NumberPredictions(y, f, np.ones(300), weight) for y, f in zip(truth.T, said.T, strict=True)
    ]
    assert several.by_target()[1].scores() == parts[1].scores()
    assert found["negative log likelihood"] == pytest.approx(
        np.mean([part.scores()[-1].value for part in parts])
    )
    both = np.stack([said - 1, said], axis=2)
    quantiles = QuantilePredictions(truth, both, [0.1, 0.6], weight)
    losses = [
        metrics.mean_pinball_loss(truth, both[..., j], alpha=tau, sample_weight=weight)
        for j, tau in enumerate([0.1, 0.6])
    ]
    assert quantiles.scores()[0].value == pytest.approx(np.mean(losses))
    for predictions in (several, quantiles):
        assert len(predictions.pictures("several")) == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LabelPredictions([1, 2], [1]), "2 values"),
        (lambda: LabelPredictions([0, 1], [0, 1], [[0.5, 0.5]]), "shape"),
        (lambda: NumberPredictions([], []), "no rows"),
        (lambda: QuantilePredictions([1.0], [[1.0, 2.0]], [0.5]), "shape"),
        (lambda: DataSummary.of(X, HEIGHT, names=["a"]), "name for each"),
        (lambda: Report("none", DataSummary.of(X, HEIGHT), []), "at least one run"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_displays_draw_on_given_axes_and_return_themselves():
    figure = Figure()
    ax = figure.subplots()
    process = KernelGaussianProcess(random_state=0).fit(X[:50], HEIGHT[:50])
    quantiles = KernelQuantileRegressor(random_state=0).fit(X, HEIGHT)
    regressor = KernelRegressor(solver="nystroem", random_state=0).fit(X, HEIGHT)
    for display in (
        ConfidenceDisplay.from_estimator(process, X, HEIGHT, ax=ax),
        ConfidenceDisplay.from_predictions(HEIGHT, HEIGHT, np.ones(300), ax=ax),
        QuantileDisplay.from_estimator(quantiles, X, HEIGHT, ax=ax),
        QuantileDisplay.from_predictions(HEIGHT, quantiles.predict(X), [0.05, 0.5, 0.95], ax=ax),
        HistoryDisplay.from_estimator(regressor, ax=ax),
        HistoryDisplay.from_predictions([3.0, 2.0], held_out_losses=[None, 2.5], ax=ax),
        ErrorAgainstTimeDisplay.from_estimator(regressor, X, HEIGHT, seconds=0.1, ax=ax),
        ErrorAgainstTimeDisplay.from_predictions(HEIGHT, {"a": HEIGHT}, {"a": 1.0}, ax=ax),
    ):
        assert (display.ax_, display.figure_) == (ax, figure)
    figure.canvas.draw()


def test_a_loss_of_exactly_nothing_has_a_place_on_the_picture():
    ax = Figure().subplots()
    HistoryDisplay.from_predictions([1.0, 1e-3, 0.0, 0.0], ax=ax)
    (line,) = ax.get_lines()
    heights = ax.transData.transform(np.column_stack([line.get_xdata(), line.get_ydata()]))[:, 1]
    assert np.isfinite(heights).all()
    assert (heights >= ax.bbox.y0).all()
    assert heights[1] > heights[2]


def test_losses_begin_with_the_first_that_is_known():
    history = {"seconds": [1, 2, 3], "loss": [0.0, 2.0, 0.0], "held_out_loss": [5.0, 5.0, 4.0]}
    display = HistoryDisplay({"a": history})
    assert [list(values) for values in display.curve("a", "loss")] == [[2, 3], [2, 0]]
    assert [list(values) for values in display.curve("a", "held_out_loss")] == [[1, 3], [5, 4]]


@pytest.mark.parametrize(
    "predictions",
    [
        LabelPredictions(["a", "a"], ["a", "a"], np.ones((2, 1)), ["a"]),
        LabelPredictions(["z", "a"], ["a", "b"], np.full((2, 2), 0.5), ["a", "b"]),
        NumberPredictions([1.0, 1.0], [1.0, 1.0], [0.0, 0.0]),
        NumberPredictions([1.0, 2.0], [np.nan, np.nan]),
        QuantilePredictions([1.0], [[2.0]], [0.5]),
    ],
)
def test_strange_predictions_and_names_still_make_a_page(predictions, tmp_path):
    runs = [Run("日本\x1b\ud800", predictions, predictions.scores(), seconds=s) for s in (0, 1)]
    data = DataSummary(2, [], "\x00", predictions.truth)
    Report("\ud800", data, runs).write(tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text()).open == []


def test_many_labels_are_cut_to_the_most_frequent_and_others():
    labels = rng.integers(0, 40, size=2_000)
    (picture,) = LabelPredictions(labels, labels).pictures("many")
    assert "12 most frequent of 40" in picture.caption
    assert len(re.findall("<text", picture.svg)) < 13 * 13 + 60
