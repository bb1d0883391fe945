"""Part 5: how much memory above the data a fit needs. Also the script that measures it.

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from binning_sets import COVTYPE, Setting, Split, fitted, split, warm_up
from common import current_megabytes, peak_megabytes, table, target

BYTES_PER_ENTRY, BYTES_PER_BIN = 4.5, 48


def weigh(
    given: argparse.Namespace, setting: Setting, grids: int
) -> tuple[dict[str, Any], list[Any]]:
    """Measure the peak memory of a fit; return the figures and the verdict."""
    print("\nPart 5. Peak memory of a fit above the data, in a process of its own.")
    data = split(COVTYPE, given.data, given.quick)
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("X", data.X), ("y", data.y)):
            np.save(Path(folder) / f"{name}.npy", values)
        figures = measured(Path(folder), setting, grids)
    entries = figures["rows"] * grids
    bound = BYTES_PER_ENTRY * entries + BYTES_PER_BIN * figures["bins"]
    used = figures["peak MB"] - figures["before MB"]
    ratio = used * 2**20 / bound
    names = ("before MB", "earlier peak MB", "peak MB", "after MB")
    table(names, [[f"{figures[name]:.0f}" for name in names]])
    text = f"peak {used:.0f} MB above the data, {ratio:.2f} times {BYTES_PER_ENTRY} bytes for each "
    text += f"of {entries:,} entries and {BYTES_PER_BIN} for each of {figures['bins']:,} bins "
    text += f"({bound / 2**20:.0f} MB)"
    if figures["peak MB"] <= figures["earlier peak MB"]:
        print("  the peak is an earlier one: the fit took at most so much")
    return figures | {"bound": bound, "ratio": ratio}, [target(text, ratio <= 1)]


def measured(folder: Path, setting: Setting, grids: int) -> dict[str, Any]:
    """Run this script on rows in a folder; return what it found."""
    numbers = (setting.bandwidth, setting.ridge, grids)
    command = [sys.executable, __file__, str(folder), *map(repr, map(float, numbers))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    folder, bandwidth, ridge, grids = sys.argv[1:]
    X, y = (np.load(Path(folder) / f"{name}.npy") for name in "Xy")
    data = Split(COVTYPE, X, y, X[:0], y[:0])
    warm_up(replace(data, X_test=X[:100]))
    gc.collect()
    before, earlier = current_megabytes(), peak_megabytes()
    model = fitted(data, Setting(float(bandwidth), float(ridge)), int(float(grids)))
    figures = {
        "rows": len(X),
        "bins": model.binning_.bins,
        "before MB": before,
        "earlier peak MB": earlier,
        "peak MB": peak_megabytes(),
        "after MB": current_megabytes(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
