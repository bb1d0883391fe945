"""What do better ways to draw frequencies bring doubly stochastic gradients on MNIST?

Every way takes the same steps through the same batches of images, of length 1, as
KernelClassifier(loss="softmax", solver="dsg", features=...) does without early stopping. Looking
at the test rows is not counted as training.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, t
from sklearn.preprocessing import normalize

from bochner.data import ArraySource, Shuffled
from bochner.solvers import DoublyStochastic, PredictionCache
from bochner.stopping import Steps
from common import data_argument, introduce, load, pyplot, save_picture, save_record, table, target
from experiment import Experiment, Watch, posed
from maps_cases import COLOURED, DRAWINGS, WAVES
from maps_verdicts import NOISE

COLOUR_OF = {name: COLOURED[WAVES.index(name)] for name in ("fourier", *DRAWINGS)}
ALPHA = 1e-7  # that of KernelClassifier
ROWS, STEPS, SEEDS = 60_000, 28, 3
FEW_ROWS, FEW_STEPS, FEW_SEEDS = 2_000, 4, 2  # where it is to be quick, and to compile
LOOKS = (1, 2, 4, 7, 10, 14, 20, 28)

Line = dict[str, Any]


def measure(given: Any) -> tuple[list[Line], list[Line]]:
    """Return the curves of all drawings and seeds, and how they end."""
    rows, steps, seeds = (FEW_ROWS, FEW_STEPS, FEW_SEEDS) if given.quick else (ROWS, STEPS, SEEDS)
    data = images(given.data, rows)
    few = (data[0][:FEW_ROWS], data[1][:FEW_ROWS], data[2][:FEW_ROWS], data[3][:FEW_ROWS])
    lines = []
    for features in COLOUR_OF:
        trained(few, features, 0, 2)  # compiles
    for seed in range(seeds):
        for features in COLOUR_OF:
            lines += trained(data, features, seed, steps)
    show(lines, rows)
    verdicts = [judged(lines, features) for features in DRAWINGS]
    draw(lines)
    return lines, verdicts


def images(folder: Path, rows: int) -> tuple[np.ndarray, ...]:
    """Return training and test rows of length 1; labels of the former are one-hot."""
    X, y, X_test, y_test = load(folder, "mnist")
    some = np.random.default_rng(0).permutation(len(X))[:rows]
    return normalize(X[some]), np.eye(10)[y[some]], normalize(X_test), y_test


def trained(data: tuple[np.ndarray, ...], features: str, seed: int, steps: int) -> list[Line]:
    """Return the test error at some steps."""
    X, y, X_test, y_test = data
    source = ArraySource(X, y)
    _, problem = posed(source, "gaussian", "softmax", ALPHA, seed, features=features)
    experiment = Experiment(DoublyStochastic(), problem, Shuffled(source))
    tested = PredictionCache(problem.basis.encode(X_test))

    def figures() -> dict[str, float]:
        found = experiment.mean(tested).argmax(axis=1)
        return {"error": float(np.mean(found != y_test))}

    watch = Watch(figures, LOOKS, reading=lambda progress: progress.step)
    experiment.run(Steps(steps), watch)
    return [{"drawing": features, "seed": seed} | line for line in watch.lines]


def means(lines: list[Line], features: str, key: str) -> dict[int, float]:
    """Return the means over seeds by step."""
    mine = [line for line in lines if line["drawing"] == features]
    steps = sorted({line["step"] for line in mine})
    return {n: float(np.mean([x[key] for x in mine if x["step"] == n])) for n in steps}


def show(lines: list[Line], rows: int) -> None:
    """Print test errors by step, means over seeds."""
    steps = list(means(lines, "fourier", "error"))
    print(f"\ntest error after so many steps on {rows:,} rows, and seconds of all steps")
    cells = [
        (
            features,
            *(f"{error:.2%}" for error in means(lines, features, "error").values()),
            f"{means(lines, features, 'seconds')[steps[-1]]:.1f}",
        )
        for features in COLOUR_OF
    ]
    table(("features", *map(str, steps), "s"), cells)
    print()


def judged(lines: list[Line], features: str) -> Line:
    """Say whether a drawing ends worse than plain frequencies beyond what seeds make."""
    ends = {name: last(lines, name) for name in COLOUR_OF}
    seeds = len(ends[features])
    deviation = np.sqrt(np.mean([errors.var(ddof=1) for errors in ends.values()]))
    several = float(t.isf(norm.sf(NOISE), len(ends) * (seeds - 1)))
    allowed = several * deviation * np.sqrt(2 / seeds)
    plain, found = (float(ends[name].mean()) for name in ("fourier", features))
    text = f"{features}: test error {found:.2%} after the last step, of plain frequencies "
    text += f"{plain:.2%}, target at most {allowed:.2%} more, which is noise of {seeds} seeds"
    return target(text, found <= plain + allowed)


def last(lines: list[Line], features: str) -> np.ndarray:
    """Return the errors after the last step, by seed."""
    end = max(line["step"] for line in lines)
    return np.array([x["error"] for x in lines if (x["drawing"], x["step"]) == (features, end)])


def draw(lines: list[Line]) -> None:
    """Draw test errors against steps and against seconds, means over seeds."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for features, colour in COLOUR_OF.items():
        errors = 100 * np.array(list(means(lines, features, "error").values()))
        for place, key in zip(axes, ("step", "seconds"), strict=True):
            along = list(means(lines, features, key).values())
            label = features.replace("_", " ")
            place.loglog(along, errors, "o-", ms=3.5, color=colour, label=label)
    for place, name in zip(axes, ("steps", "seconds of training"), strict=True):
        place.set_xlabel(name)
        for axis in (place.xaxis, place.yaxis):
            axis.set_major_locator(plt.LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
            axis.set_minor_locator(plt.NullLocator())
            axis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    axes[0].set(ylabel="test error, %")
    axes[0].legend()
    figure.suptitle("MNIST, doubly stochastic gradients: 1,024 new features a step")
    save_picture("maps_mnist", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--quick", action="store_true", help="a trial with few rows and steps")
    given = parser.parse_args()
    introduce("Drawings of frequencies in doubly stochastic gradients")
    lines, verdicts = measure(given)
    save_record("maps_mnist", {"curves": lines, "targets": verdicts})


if __name__ == "__main__":
    main()
