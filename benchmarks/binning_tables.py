"""Part 1: random binning beside LightGBM, Nystroem + Ridge and RBFSampler + Ridge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from binning_scales import with_scales
from binning_sets import (
    COVTYPE,
    TASKS,
    Setting,
    Split,
    Task,
    best_of,
    fitted,
    least,
    quietly,
    search,
    split,
    warm_up,
)
from common import table, target, timed

SEARCH_GRIDS = 32
TREES, LEAVES = 500, 255
MOST_COMPONENTS = 5_000
MOST_BYTES = 4e9  # of their dense features
PROBED = 128  # components, to learn what one costs
MEDIAN_FACTORS = (1.0, 4.0, 16.0)  # times the gamma of the median rule
THEIR_ALPHAS = (1e-3, 1e-1, 1.0)
FAST_ERROR, FAST_SHARE, GOOD_ERROR = 0.037, 0.2, 0.033

Line = dict[str, Any]
Result = dict[str, Any]


def compare_all(folder: Path, quick: bool) -> tuple[list[Result], list[Line]]:
    """Compare on every set; return the figures and the verdicts."""
    print(
        "\nPart 1. Errors and seconds. A tiny fit compiles before, which is not counted; best of 3"
    )
    print("(LightGBM of 2) where a fit takes below 10 s. scikit-learn's get as many components as")
    print("take as long as our last fit, at most 5,000 or 4 GB; their alpha and gamma (1, 4 or 16")
    print("times the median rule's) are chosen on held-out training rows, as are our bandwidth,")
    print("ridge and, in the lines that say so, one scale per column (doubled or halved).")
    results = [compare(task, split(task, folder, quick), quick) for task in TASKS.values()]
    return results, judged(next(r for r in results if r["set"] == COVTYPE.title))


def compare(task: Task, data: Split, quick: bool) -> Result:
    """Print the table of one set."""
    warm_up(data)
    setting = search(data, 8 if quick else SEARCH_GRIDS, quick)
    grids = (16, 32) if quick else task.grids
    scaled = with_scales(data, setting, quick)
    lines = [ours(data, one, many) for one in (setting, scaled) for many in grids]
    lines += [line for line in (trees(data, quick),) if line is not None]
    budget = max(line["seconds"] for line in lines if "grids" in line)
    lines += [approximation(data, name, budget) for name in ("Nystroem", "RBFSampler")]
    show(task, data, (setting, scaled), lines)
    return {"set": task.title, "setting": scaled.record, "lines": lines}


def ours(data: Split, setting: Setting, grids: int) -> Line:
    """Return the figures of our estimator with so many grids."""
    model, times = best_of(lambda: fitted(data, setting, grids), 3)
    error, predicting = timed(lambda: data.error(model))
    return {
        "model": f"random binning, {grids} grids"
        + (", scales" if setting.scales is not None else ""),
        "grids": grids,
        "error": error,
        "seconds": times.best,
        "runs": len(times.runs),
        "predict": predicting,
        "note": f"{model.binning_.bins:,} bins, {model.n_iter_} passes",
        "bins": model.binning_.bins,
    }


def trees(data: Split, quick: bool) -> Line | None:
    """Return the figures of LightGBM; None if it is not installed."""
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor, __version__
    except ImportError:
        print("\nno LightGBM: it is missing (pip install 'bochner[benchmark]').")
        return None
    kind = LGBMRegressor if data.task.kind == "numbers" else LGBMClassifier
    count, leaves, jobs = (2, 15, 1) if quick else (TREES, LEAVES, -1)
    make = partial(kind, n_estimators=count, num_leaves=leaves, n_jobs=jobs, verbose=-1)
    model, times = best_of(lambda: make().fit(data.X, data.y), 2)
    error, predicting = timed(lambda: quietly(lambda: data.error(model)))
    note = f"{__version__}, {count} trees of {leaves} leaves"
    return {
        "model": "LightGBM",
        "error": error,
        "seconds": times.best,
        "runs": len(times.runs),
        "predict": predicting,
        "note": note,
    }


def approximation(data: Split, name: str, budget: float) -> Line:
    """Return the figures of scikit-learn's features + Ridge that take about `budget` seconds."""
    gamma, alpha = their_settings(data, name)
    make = partial(pipeline, data.task, name, gamma=gamma, alpha=alpha)
    size = affordable(lambda size: make(size).fit(data.X, data.y), budget, len(data.X))
    model, times = best_of(lambda: make(size).fit(data.X, data.y), 3)
    error, predicting = timed(lambda: data.error(model))
    return {
        "model": f"{name} + Ridge",
        "error": error,
        "seconds": times.best,
        "runs": len(times.runs),
        "predict": predicting,
        "note": f"{size:,} components, gamma {gamma:.3g}, alpha {alpha:g}",
    }


def affordable(fit: Callable[[int], Any], budget: float, rows: int) -> int:
    """Return how many components take `budget` seconds: more in proportion, twice.

    The second time, since small sizes do not tell what large ones cost.
    """
    size = PROBED
    for _ in range(2):
        _, seconds = timed(lambda size=size: fit(size))
        most = min(MOST_COMPONENTS, rows, int(MOST_BYTES / (8 * rows)))
        size = int(np.clip(size * budget / seconds, 8, most))
    return size


def their_settings(data: Split, name: str) -> tuple[float, float]:
    """Return the gamma and the alpha with the least error on held-out training rows."""
    few = data.held_out(20_000)
    median = median_gamma(few.X)
    pairs = [(median * factor, alpha) for factor in MEDIAN_FACTORS for alpha in THEIR_ALPHAS]

    def error(pair: tuple[float, float]) -> float:
        size = min(2 * PROBED, len(few.X) // 50)
        return few.error(pipeline(data.task, name, size, *pair).fit(few.X, few.y))

    return least(pairs, error)


def pipeline(task: Task, name: str, size: int, gamma: float, alpha: float) -> Any:
    """Return standardised columns, random features and a ridge."""
    kind = {"Nystroem": Nystroem, "RBFSampler": RBFSampler}[name]
    ridge = Ridge if task.kind == "numbers" else RidgeClassifier
    features = kind(gamma=gamma, n_components=size, random_state=0)
    return make_pipeline(StandardScaler(), features, ridge(alpha=alpha))


def median_gamma(X: np.ndarray) -> float:
    """Return 1 / (2 median^2) of the distances of standardised rows."""
    rows = StandardScaler().fit_transform(X[:1_000])
    distances = pairwise_distances(rows)[np.triu_indices(len(rows), 1)]
    return float(0.5 / np.median(distances) ** 2)


def show(task: Task, data: Split, settings: tuple[Setting, Setting], lines: list[Line]) -> None:
    """Print one set's table."""
    rows, columns = data.X.shape
    print(f"\n{task.title}: {rows:,} rows x {columns}, {len(data.X_test):,} test rows")
    one, scaled = settings
    chosen = f"bandwidth {one.bandwidth:.3g}, ridge {one.ridge:g}, searched for {one.seconds:.1f} s"
    print(f"{chosen}; with a scale per column for {scaled.seconds:.1f} s")
    titles = ("model", f"test {task.unit}", "fit s", "best of", "predict s", "")
    values = [
        (x["model"], task.shown(x["error"]), f"{x['seconds']:.2f}", x["runs"],
         f"{x['predict']:.2f}", x["note"])
        for x in lines
    ]  # fmt: skip
    table(titles, values)


def judged(result: Result) -> list[Line]:
    """Print whether covtype's targets are met."""
    own = [line for line in result["lines"] if "grids" in line]
    print()
    most = min(own, key=lambda line: line["error"])
    text = f"covtype: {most['model']}: test error {most['error']:.2%}, "
    text += f"target at most {GOOD_ERROR:.1%}"
    verdicts = [target(text, most["error"] <= GOOD_ERROR)]
    boosted = [line for line in result["lines"] if line["model"] == "LightGBM"]
    if boosted:
        good = [line for line in own if line["error"] <= FAST_ERROR] or own
        verdicts.append(fast(min(good, key=lambda line: line["seconds"]), boosted[0]))
    return verdicts


def fast(line: Line, boosted: Line) -> Line:
    """Print whether a fit is as good and as fast as it should be."""
    share = line["seconds"] / boosted["seconds"]
    text = f"covtype: {line['model']}: test error {line['error']:.2%} (LightGBM "
    text += f"{boosted['error']:.2%}), target at most {FAST_ERROR:.1%}, in {share:.2f} times "
    text += f"LightGBM's time, target at most {FAST_SHARE}"
    return target(text, line["error"] <= FAST_ERROR and share <= FAST_SHARE)
