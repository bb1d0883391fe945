"""Novelty: is a one-class machine on all rows better than an exact one on 10,000, in less time?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from bochner import KernelNoveltyDetector
from common import (
    COLOURS,
    data_argument,
    introduce,
    load,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
    timed,
)

EXACT_ROWS = 10_000
SHARES = (0.5, 0.1)  # nu: scikit-learn's default, and ours
MANY_ROWS, MANY_COLUMNS, MOST_SECONDS = 1_000_000, 10, 60.0


class Task(NamedTuple):
    """Rows of one class to learn, and rows of two to tell apart."""

    name: str
    X: np.ndarray
    X_test: np.ndarray
    inside: np.ndarray
    scale: str | None


def tasks(folder: Path) -> Iterator[Task]:
    """Yield the two tasks."""
    X, y, X_test, y_test = load(folder, "mnist")
    yield Task("MNIST, 0 against others", X[y == 0], X_test, y_test == 0, None)
    X, y, X_test, y_test = load(folder, "covtype")
    both = (y_test == 0) | (y_test == 6)
    yield Task("covtype, 0 against 6", X[y == 0], X_test[both], y_test[both] == 0, scale="standard")


def measured(task: Task, model: Any, rows: int) -> dict[str, Any]:
    """Fit to some rows and judge; the time is that of the fit."""
    _, seconds = timed(lambda: model.fit(task.X[:rows]))
    scores, scoring = timed(lambda: model.score_samples(task.X_test))
    low, high, _ = roc_curve(task.inside, scores)
    area = roc_auc_score(task.inside, scores)
    outside = float((model.predict(task.X[:EXACT_ROWS]) < 0).mean())
    return {
        "rows": min(rows, len(task.X)),
        "area": area,
        "fit": seconds,
        "score": scoring,
        "outside": outside,
        "curve": (low, high),
    }


def contenders(task: Task, nu: float) -> dict[str, tuple[Any, int]]:
    """Return models and how many rows they are fitted to."""
    exact = OneClassSVM(nu=nu)
    exact = make_pipeline(StandardScaler(), exact) if task.scale else exact
    ours = KernelNoveltyDetector(nu=nu, scale=task.scale, random_state=0)
    return {
        "OneClassSVM": (exact, EXACT_ROWS),
        "ours, the same rows": (ours, EXACT_ROWS),
        "ours, all rows": (ours, len(task.X)),
    }


def on_many_rows() -> tuple[dict[str, Any], dict[str, Any]]:
    """Time a fit to a million generated rows; return the figures and the verdict."""
    X = np.random.default_rng(0).normal(size=(MANY_ROWS, MANY_COLUMNS)).astype(np.float32)
    model, seconds = timed(lambda: KernelNoveltyDetector(random_state=0).fit(X))
    outside = float((model.predict(X[:100_000]) < 0).mean())
    figures = {"seconds": seconds, "outside": outside, "nu": model.nu}
    text = f"a million rows in {seconds:.1f} s (under {MOST_SECONDS:.0f} s), {outside:.1%} outside"
    return figures, target(text, seconds < MOST_SECONDS)


def novelty(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure, print and draw; return the figures and the verdicts."""
    KernelNoveltyDetector().fit(np.random.default_rng(0).normal(size=(500, 3)))  # compiles
    results: dict[str, Any] = {}
    verdicts = []
    for task in tasks(folder):
        for nu in SHARES:
            found = {
                name: measured(task, model, rows)
                for name, (model, rows) in contenders(task, nu).items()
            }
            results[f"{task.name}, nu {nu}"] = found
            print(f"\n{task.name}, nu = {nu}")
            names = ("rows", "area", "fit", "score", "outside")
            table(["", *names], [[key, *(f[n] for n in names)] for key, f in found.items()])
            verdicts.append(verdict(task, nu, found))
    many, many_verdict = on_many_rows()
    draw(results)
    figures = {
        key: {name: {k: v for k, v in f.items() if k != "curve"} for name, f in found.items()}
        for key, found in results.items()
    }
    return figures | {"a million rows": many}, [*verdicts, many_verdict]


def verdict(task: Task, nu: float, found: dict[str, Any]) -> dict[str, Any]:
    exact, ours = found["OneClassSVM"], found["ours, the same rows"]
    text = f"{task.name}, nu {nu}: area {ours['area']:.4f} (exact {exact['area']:.4f}) in "
    text += f"{ours['fit']:.2f} s (exact {exact['fit']:.2f} s)"
    return target(text, ours["area"] >= exact["area"] and ours["fit"] < exact["fit"])


def draw(results: dict[str, Any]) -> None:
    plt = pyplot()
    if plt is None:
        return
    size = (3.2 * len(results), 3.2)
    figure, axes = plt.subplots(1, len(results), figsize=size, layout="constrained", sharey=True)
    for axis, (title, found) in zip(axes, results.items(), strict=True):
        for colour, (name, f) in zip(COLOURS, found.items(), strict=False):
            text = f"{name}\n  area {f['area']:.3f}, {f['fit']:.1f} s"
            axis.plot(*f["curve"], color=colour, label=text)
        axis.set(title=title, xlabel="outliers taken for inliers")
        axis.legend(loc="lower right", fontsize=7)
    axes[0].set_ylabel("inliers found")
    save_picture("machines_novelty", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    introduce(__doc__)
    figures, verdicts = novelty(parser.parse_args().data)
    save_record("machines_novelty", {"figures": figures, "targets": verdicts})


if __name__ == "__main__":
    main()
