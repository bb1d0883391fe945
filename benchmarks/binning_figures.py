"""Part 2: error and time against bandwidth, grids and method (Wu, Yen et al. 2016, Figures 3-5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from binning_sets import TASKS, Setting, Split, fitted, machine, quietly, search, split, warm_up
from bochner.features import Fourier
from common import COLOURS, pyplot, save_picture, table, timed

SETS = ("covtype, label 1", "ijcnn1", "letter", "california")
ROWS, JUDGED = 100_000, 20_000
SIGMA_FACTORS = tuple(2.0 ** np.arange(-3, 3.1))  # times the bandwidth that was chosen
GRIDS, FIXED_GRIDS = (4, 8, 16, 32, 64, 128, 256), 64
SIZES = (64, 128, 256, 512, 1024)
SEARCH_GRIDS = 32

Line = dict[str, Any]
Curves = dict[str, list[Line]]


def draw_all(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Measure, print and draw; return the figures."""
    print(
        "\nPart 2. Error and seconds against bandwidth, grids and method; all approximate the same"
    )
    print(f"Laplacian kernel. At most {ROWS:,} rows, {JUDGED:,} test rows.")
    results = []
    for title in SETS:
        data = split(TASKS[title], folder, quick).cut(ROWS, JUDGED)
        results.append(measure(data, quick))
    picture(results, "random_binning" + "_quick" * quick)
    return results


def measure(data: Split, quick: bool) -> dict[str, Any]:
    """Return the three figures of a set."""
    warm_up(data)
    (setting, curves), seconds = timed(lambda: all_curves(data, quick))
    show(data, setting, curves, seconds)
    return {"set": data.task.title, "setting": vars(setting), **curves}


def all_curves(data: Split, quick: bool) -> tuple[Setting, Curves]:
    """Return the bandwidth and ridge chosen on held-out rows, and the curves."""
    setting = search(data, 8 if quick else SEARCH_GRIDS, quick)
    grids, sizes = (GRIDS[:4], SIZES[:2]) if quick else (GRIDS, SIZES)
    fixed = 8 if quick else FIXED_GRIDS
    sigmas = [setting.bandwidth * factor for factor in SIGMA_FACTORS[:: 3 if quick else 1]]
    return setting, {
        "bandwidth": curve(sigmas, data, lambda s: fitted(data, Setting(s, setting.ridge), fixed)),
        "grids": curve(grids, data, lambda count: fitted(data, setting, count)),
        "Fourier": curve(sizes, data, lambda size: waves(data, setting, size)),
        "Nystroem": curve(sizes, data, lambda size: columns(data, setting, size)),
    }


def curve(values: Any, data: Split, fit: Callable[[Any], Any]) -> list[Line]:
    """Return errors and seconds of a fit for each value."""
    lines = []
    for value in values:
        model, seconds = timed(lambda value=value: fit(value))
        errors = {"training error": data.training_error(model), "test error": data.error(model)}
        lines.append({"value": value, "seconds": seconds, **errors})
    return lines


def waves(data: Split, setting: Setting, size: int) -> Any:
    """Return our estimator with random Fourier features of the same kernel."""
    model = machine(data.task, setting, len(data.X), Fourier(size))
    return quietly(lambda: model.fit(data.X, data.y))


def columns(data: Split, setting: Setting, size: int) -> Any:
    """Return scikit-learn's Nystroem of the same kernel with a ridge."""
    gamma = 1 / setting.bandwidth
    features = Nystroem("laplacian", gamma=gamma, n_components=size, random_state=0)
    ridge = Ridge if data.task.kind == "numbers" else RidgeClassifier
    model = make_pipeline(MinMaxScaler(), features, ridge(alpha=setting.ridge))
    return model.fit(data.X, data.y)


def show(data: Split, setting: Setting, curves: Curves, seconds: float) -> None:
    """Print the curves of a set."""
    chosen = f"bandwidth {setting.bandwidth:.3g}, ridge {setting.ridge:g}"
    print(f"\n{data.task.title}: {chosen}, all of it in {seconds:.0f} s")
    names = ("value", "training error", "test error", "seconds")
    titles = ("varied", "value", f"training {data.task.unit}", f"test {data.task.unit}", "fit s")
    lines = [
        [name, *(line[key] for key in names)] for name, lines in curves.items() for line in lines
    ]
    table(titles, lines)


def picture(results: list[dict[str, Any]], name: str) -> None:
    """Draw a row of panels for each set."""
    plt = pyplot()
    if plt is None:
        return
    size = (13, 2.7 * len(results))
    figure, grid = plt.subplots(len(results), 4, figsize=size, layout="constrained", squeeze=False)
    for result, axes in zip(results, grid, strict=True):
        task = TASKS[result["set"]]
        label = "RMSE" if task.kind == "numbers" else "share of wrong labels"
        error_panel(axes[0], result["bandwidth"], "bandwidth", f"{task.title}: {label}")
        error_panel(axes[1], result["grids"], "grids", "against grids")
        method_panel(axes[2], result, "value", "grids or features", "test error of methods")
        method_panel(axes[3], result, "seconds", "seconds to fit", "the same over time")
    save_picture(name, figure)


def error_panel(place: Any, lines: list[Line], name: str, title: str) -> None:
    """Draw training and test error, and the seconds on a second axis."""
    values = [line["value"] for line in lines]
    for key, colour in (("training error", COLOURS[1]), ("test error", COLOURS[0])):
        place.plot(values, [line[key] for line in lines], "o-", ms=3.5, color=colour, label=key)
    axis(place, name, title)
    place.plot([], [], "s:", ms=3, color="0.5", label="fit s (right)")
    time = place.twinx()
    time.plot(values, [line["seconds"] for line in lines], "s:", ms=3, color="0.5")
    time.set(ylim=(0, None))
    time.grid(False)
    time.spines["right"].set_visible(True)
    place.legend(fontsize=7)


def method_panel(place: Any, result: dict[str, Any], key: str, label: str, title: str) -> None:
    """Draw the test errors of the methods."""
    named = {"random binning": "grids", "Fourier": "Fourier", "Nystroem": "Nystroem"}
    for (name, curve), colour in zip(named.items(), COLOURS, strict=False):
        lines = result[curve]
        values = [line[key] for line in lines]
        errors = [line["test error"] for line in lines]
        place.plot(values, errors, "o-", ms=3.5, color=colour, label=name)
    axis(place, label, title)
    place.legend(fontsize=7)


def axis(place: Any, label: str, title: str) -> None:
    """Label a panel; numbers on its logarithmic axis are plain."""
    from matplotlib.ticker import LogLocator  # an extra: only where there is a picture

    place.set(xscale="log", xlabel=label, title=title, ylim=(0, None))
    place.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    place.xaxis.set_major_formatter("{x:g}")
    place.xaxis.set_minor_formatter("")
