"""Quantiles beside gradient boosting, and regression with corrupted targets."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss

from binning_sets import Split, quietly, split
from bochner import KernelQuantileRegressor, KernelRegressor
from common import (
    COLOURS,
    data_argument,
    introduce,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
    timed,
)
from eigenpro_common import TASKS

QUANTILES = (0.05, 0.5, 0.95)
SETS = ("california", "protein")
MANY_ROWS = 1_000_000
SHARE, SIZE = 0.1, 10.0  # of the targets that are corrupted, and how far, in deviations
CLOSE, FAR = 1.15, 0.6  # times the error of the clean fit, of the squared loss
FEW = slice(0, 3_500)
REPEATS, SHARE_OF_TIME = 3, 0.85  # of theirs: the best of them, and what a limited fit has of it
LOSSES = ("squared", "huber", "absolute")

Line = dict[str, Any]


def quantiles(folder: Path) -> tuple[list[Line], list[Line]]:
    """Return pinball losses, seconds and crossings on both sets."""
    lines, better, crossed = [], [], 0
    for name in SETS:
        data = split(TASKS[name], folder, quick=False)
        quietly(lambda data=data: (ours(data, FEW), theirs(data, FEW)))  # compiles, loads
        runs = [timed(lambda data=data: theirs(data)) for _ in range(REPEATS)]
        trees, tree_seconds = min(runs, key=lambda run: run[1])
        other = np.column_stack([tree.predict(data.X_test) for tree in trees])
        beside = figures(data, other, tree_seconds, "HistGradientBoosting, three fits")
        mine = []
        for title, limit in (("", None), (", limited", SHARE_OF_TIME * tree_seconds)):
            fit = partial(ours, data, limit=limit)
            model, seconds = timed(lambda fit=fit: quietly(fit))
            title = f"KernelQuantileRegressor{title}"
            mine.append(figures(data, model.predict(data.X_test), seconds, title))
            crossed += crossings(data, model)
        lines += [*mine, beside]
        better.append(any(beats(one, beside) for one in mine))
    shown = [
        (
            x["set"],
            x["model"],
            *(f"{loss:.4f}" for loss in x["losses"]),
            f"{x['covered']:.1%}",
            f"{x['seconds']:.1f}",
        )
        for x in lines
    ]
    heads = ("set", "model", *(f"pinball {q:g}" for q in QUANTILES), "in the 90% interval", "fit s")
    table(heads, shown)
    text = f"lower pinball losses in less time on {sum(better)} of {len(SETS)} sets, target 1"
    rows = f"{2 * len(SETS) * MANY_ROWS:,} rows drawn over twice the columns' ranges"
    verdicts = [
        target(text, any(better)),
        target(f"{crossed} crossings at {rows}, target 0", crossed == 0),
    ]
    return lines, verdicts


def beats(mine: Line, other: Line) -> bool:
    """Whether no loss is higher and the time is less."""
    lower = all(a <= b for a, b in zip(mine["losses"], other["losses"], strict=True))
    return lower and mine["seconds"] < other["seconds"]


def ours(
    data: Split, rows: slice = slice(None), limit: float | None = None
) -> KernelQuantileRegressor:
    """Return all quantiles in one fit, by default settings but for the time limit."""
    model = KernelQuantileRegressor(list(QUANTILES), max_seconds=limit, random_state=0)
    return model.fit(data.X[rows], data.y[rows])


def theirs(data: Split, rows: slice = slice(None)) -> list[Any]:
    """Return a fit for each quantile, by default settings."""
    make = partial(HistGradientBoostingRegressor, loss="quantile", random_state=0)
    return [make(quantile=q).fit(data.X[rows], data.y[rows]) for q in QUANTILES]


def figures(data: Split, predicted: np.ndarray, seconds: float, model: str) -> Line:
    """Return what is shown of a model."""
    columns = zip(QUANTILES, predicted.T, strict=True)
    losses = [float(mean_pinball_loss(data.y_test, column, alpha=q)) for q, column in columns]
    inside = (predicted[:, 0] <= data.y_test) & (data.y_test <= predicted[:, -1])
    return {
        "set": data.task.title,
        "model": model,
        "losses": losses,
        "covered": float(inside.mean()),
        "seconds": seconds,
    }


def crossings(data: Split, model: KernelQuantileRegressor) -> int:
    """Return how many rows have a quantile below the one before it, also far from the data."""
    rng = np.random.default_rng(0)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    X = rng.uniform(low - (high - low) / 2, high + (high - low) / 2, (MANY_ROWS, len(low)))
    return int((np.diff(model.predict(X.astype(np.float32)), axis=1) < 0).any(axis=1).sum())


def robust(folder: Path) -> tuple[list[Line], list[Line]]:
    """Return errors at clean test rows of fits to clean and to corrupted targets."""
    lines, verdicts = [], []
    for name in SETS:
        data = split(TASKS[name], folder, quick=False)
        rng = np.random.default_rng(0)
        struck = rng.uniform(size=len(data.y)) < SHARE
        noise = SIZE * data.y.std() * rng.standard_t(2, size=len(data.y))
        dirty = np.where(struck, data.y + noise, data.y)
        found = {}
        for loss in LOSSES:
            for kind, y in (("clean", data.y), ("corrupted", dirty)):
                model = KernelRegressor(loss=loss, random_state=0)
                model, seconds = timed(lambda m=model, d=data, y=y: quietly(lambda: m.fit(d.X, y)))
                found[loss, kind] = data.error(model)
                lines.append(
                    {"set": data.task.title, "loss": loss, "targets": kind}
                    | {"error": found[loss, kind], "seconds": seconds}
                )
        clean, squared = found["squared", "clean"], found["squared", "corrupted"]
        for loss in LOSSES[1:]:
            error = found[loss, "corrupted"]
            text = f"{data.task.title}, {loss}: RMSE {error:.4f} with a tenth of the targets "
            text += f"corrupted; {clean:.4f} clean, {squared:.4f} by the squared loss"
            verdicts.append(target(text, error <= CLOSE * clean and error <= FAR * squared))
    heads = ("set", "loss", "targets", "test RMSE", "fit s")
    shown = [
        (x["set"], x["loss"], x["targets"], f"{x['error']:.4f}", f"{x['seconds']:.1f}")
        for x in lines
    ]
    table(heads, shown)
    return lines, verdicts


def draw() -> None:
    """Draw quantiles of made data whose noise depends on x."""
    plt = pyplot()
    if plt is None:
        return
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 1, 2_000))
    y = np.sin(6 * x) + (0.1 + 0.5 * x**2) * rng.standard_gamma(2.0, 2_000)
    model = KernelQuantileRegressor(list(QUANTILES), random_state=0).fit(x[:, None], y)
    grid = np.linspace(0, 1, 400)
    found = quietly(lambda: model.predict(grid[:, None]))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(x, y, ".", markersize=2, color="#999999", label="rows")
    axes.fill_between(grid, found[:, 0], found[:, 2], color=COLOURS[0], alpha=0.2, linewidth=0)
    for column, q, style in zip(found.T, QUANTILES, ("--", "-", "-."), strict=True):
        axes.plot(grid, column, style, color=COLOURS[0], label=f"quantile {q:g}")
    axes.set(xlabel="x", ylabel="y", title="Three quantiles in one fit")
    axes.legend(frameon=False)
    save_picture("machines_quantiles", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    given = parser.parse_args()
    introduce("Quantiles and robust losses")
    (found, verdicts), (losses, more) = quantiles(given.data), robust(given.data)
    draw()
    record = {"quantiles": found, "robust": losses, "targets": [*verdicts, *more]}
    save_record("machines_quantiles", record)


if __name__ == "__main__":
    main()
