"""Part 5: how a pass in the kernel's space grows with the rows. Also the script that measures it.

The measured fit runs in a process of its own, which reads its rows from .npy files straight into
the arrays that it keeps, and has fitted a few rows before, so that imports and compiling do not
count.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from binning_memory import peak
from binning_sets import Split
from common import current_megabytes, table, target
from eigenpro_common import SETTINGS, TASKS, PassClock, few_of, fitted, rows_of

ROWS = {"mnist": 10_000, "cod-rna": 25_000}  # many columns and few; then twice as many rows
PASSES = 4
MOST_TIME, MOST_MEMORY = 4.2, 2.1

Figures = dict[str, Any]


def measure_growth(given: argparse.Namespace) -> tuple[list[Figures], list[Figures]]:
    """Fit rows and twice as many; return the figures and the verdicts."""
    print(
        f"\nPart 5. One pass of EigenPro with kernel blocks recomputed, the best of {PASSES - 1},"
    )
    print("and the peak of memory of the whole fit above the data, each fit in its own process.")
    lines = [
        measured(given, name, times * (rows if given.rows is None else given.rows // 2))
        for name, rows in ROWS.items()
        for times in (1, 2)
    ]
    titles = ("set", "rows", "columns", "steps", "s a pass", "s to prepare", "MB above the data")
    table(titles, [[x["set"], x["rows"], x["columns"], x["steps"], f"{x['seconds']:.3f}",
                    f"{x['before']:.2f}", f"{x['MB']:.0f}"] for x in lines])  # fmt: skip
    print()
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return lines, [verdict for pair in pairs for verdict in judged(*pair)]


def judged(one: Figures, two: Figures) -> list[Figures]:
    """Print whether time and memory grow as they should."""
    time, memory = two["seconds"] / one["seconds"], two["MB"] / one["MB"]
    begin = f"{one['set']}: twice the rows, "
    return [
        target(f"{begin}{time:.2f} times the time, target at most {MOST_TIME}", time <= MOST_TIME),
        target(
            f"{begin}{memory:.2f} times the memory, target at most {MOST_MEMORY}",
            memory <= MOST_MEMORY,
        ),
    ]


def measured(given: argparse.Namespace, name: str, rows: int) -> Figures:
    """Run this script on some rows; return what it found."""
    data = rows_of(name, given.data, rows)
    with tempfile.TemporaryDirectory() as folder:
        for part, values in (("X", data.X), ("y", data.y)):
            np.save(Path(folder) / f"{part}.npy", values)
        command = [sys.executable, __file__, folder, name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def fit(data: Split, clock: PassClock) -> Any:
    """Fit some passes; nothing that can be computed again is kept."""
    return fitted(
        data,
        SETTINGS[data.task.name],
        features="centers",
        solver="eigenpro",
        max_passes=PASSES,
        early_stopping=False,
        tol=0.0,
        memory_budget=0,
        callbacks=[clock],
    )


def forget_peak() -> None:
    """Let the peak of memory begin anew, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the peak may be an earlier one", file=sys.stderr)


def main() -> None:
    folder, name = sys.argv[1:]
    X, y = (np.load(Path(folder) / f"{part}.npy") for part in "Xy")
    data = Split(TASKS[name], X, y, X[:100], y[:100])
    fit(few_of(data), PassClock())
    gc.collect()
    forget_peak()
    clock, before = PassClock(), current_megabytes()
    model = fit(data, clock)
    steps, passes = model.history_["step"][-1], model.n_iter_
    figures = {
        "set": name,
        "rows": len(X),
        "columns": X.shape[1],
        "steps": steps // passes,
        "seconds": clock.best,
        "before": clock.prepared,
        "MB": peak() - before,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
