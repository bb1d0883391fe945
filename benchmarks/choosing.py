"""How far does each method come, in what time and memory? python benchmarks/choosing.py --data DIR

Each method has a process of its own, so that its peak memory is its own, and the same columns,
divided by their deviations. Writes docs/choosing.png.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelClassifier, KernelRegressor
from bochner.features import Centers
from common import data_argument, introduce, load, peak_megabytes, pyplot, save_record, table

PICTURE = Path(__file__).parents[1] / "docs" / "choosing.png"
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "binning": {"features": "binning"},
    "nystroem": {"features": Centers(5_000), "solver": "nystroem"},
    "eigenpro": {"solver": "eigenpro"},  # all rows are centres: too many on covtype
    "dsg": {"solver": "dsg"},
    "cdsg": {"solver": "cdsg"},
}
TITLES = {"california": "california, 16,512 rows", "covtype": "covtype, label 1, 464,809 rows"}


def rows_of(folder: Path, name: str) -> tuple[np.ndarray, ...]:
    X_train, y_train, X_test, y_test = load(folder, name)
    if name == "covtype":
        y_train, y_test = y_train == 1, y_test == 1
    return X_train, y_train, X_test, y_test


def run(folder: Path, name: str, method: str, seconds: float) -> dict[str, float]:
    """Fit one method, and return what it took and came to."""
    X_train, y_train, X_test, y_test = rows_of(folder, name)
    kind = KernelClassifier if y_train.dtype == bool else KernelRegressor
    settings = METHODS[method] if method == "auto" else {**METHODS[method], "scale": "standard"}
    model = kind(random_state=0, max_seconds=seconds, **settings)
    kind(random_state=0, **settings).fit(X_train[:500], y_train[:500])  # compiles
    before, began = peak_megabytes(), perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, y_train)
    took = perf_counter() - began
    wrong = model.predict(X_test) != y_test if kind is KernelClassifier else None
    error = (
        np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) if wrong is None else wrong.mean()
    )
    return {
        "error": float(error),
        "seconds": took,
        "megabytes": max(peak_megabytes() - before, 1.0),
        "why": model.stopped_because_,
        "plan": str(model.plan_),
    }


def apart(arguments: argparse.Namespace, name: str, method: str) -> dict[str, Any] | None:
    """Run one method in processes of its own; the least disturbed run counts."""
    command = [sys.executable, __file__, "--data", str(arguments.data), "--one", name, method]
    command += ["--seconds", str(arguments.seconds)]
    runs = []
    for _ in range(arguments.repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"  {method} failed: {done.stderr.strip().splitlines()[-1:]}")
            return None
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["seconds"])


def draw(found: dict[str, dict[str, Any]], seconds: float) -> None:
    plt = pyplot()
    if plt is None:
        return
    from bochner.report import ErrorAgainstTimeDisplay

    figure, axes = plt.subplots(
        1, len(found), figsize=(4.6 * len(found), 3.8), layout="constrained", squeeze=False
    )
    for ax, (name, runs) in zip(axes[0], found.items(), strict=True):
        ErrorAgainstTimeDisplay(
            list(runs),
            [run["seconds"] for run in runs.values()],
            [run["error"] for run in runs.values()],
            memory=[int(1e6 * run["megabytes"]) for run in runs.values()],
            error_name="RMSE" if name == "california" else "share of wrong labels",
        ).plot(ax=ax)
        ax.set_title(TITLES.get(name, name))
    figure.savefig(PICTURE, dpi=130)
    print(f"picture: {PICTURE.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--sets", default="california", help="california, covtype or both")
    parser.add_argument("--seconds", type=float, default=30.0, help="a limit for each fit")
    parser.add_argument("--repeats", type=int, default=2, help="runs, of which the best counts")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run(arguments.data, *arguments.one, arguments.seconds)))
        return
    introduce("How far does each method come, in what time and memory?")
    found: dict[str, dict[str, Any]] = {}
    for name in arguments.sets.split(","):
        results = {method: apart(arguments, name, method) for method in METHODS}
        found[name] = {method: result for method, result in results.items() if result}
        print(name)
        keys = ("error", "seconds", "megabytes", "why")
        table(("method", *keys), [(m, *(r[k] for k in keys)) for m, r in found[name].items()])
    save_record("choosing", {"seconds": arguments.seconds, "sets": found})
    draw(found, arguments.seconds)


if __name__ == "__main__":
    main()
