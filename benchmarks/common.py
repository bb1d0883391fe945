"""What the benchmarks share: data, time, the machine, tables, targets, records and pictures."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex")
# One colour a method in every picture, told apart also by colour-blind eyes (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7")


# ------------------------------------------------------------------ time


@dataclass(frozen=True)
class Times:
    """Seconds of several runs of one thing, sorted."""

    runs: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least disturbed run."""
        return self.runs[0]

    @property
    def spread(self) -> float:
        """How much longer than the best the worst run took, as a fraction."""
        return self.runs[-1] / self.runs[0] - 1

    def __str__(self) -> str:
        if len(self.runs) == 1:
            return f"{self.best:.3g} s"
        return f"{self.best:.3g} s (best of {len(self.runs)}, worst +{self.spread:.0%})"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what the work returns, and its seconds."""
    begin = perf_counter()
    result = work()
    return result, perf_counter() - begin


def rounds(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Times]:
    """Time each in turns, so that a busy moment strikes all of them."""
    runs = [{name: timed(work)[1] for name, work in works.items()} for _ in range(repeats)]
    return {name: Times(tuple(sorted(run[name] for run in runs))) for name in works}


# --------------------------------------------------------------- memory


def peak_megabytes() -> float:
    """Return the most memory that this process has had so far.

    Where the system tells: `ru_maxrss` also has the peak of the process that started this one.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def current_megabytes() -> float:
    """Return the memory that this process has now; not a number where the system hides it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


# -------------------------------------------------------------- machine


def machine() -> dict[str, Any]:
    """Return what figures depend on: cores, processor, system and library versions."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def introduce(question: str) -> None:
    """Print the question, and the machine that answers it."""
    facts = machine()
    libraries = ", ".join(f"{name} {number}" for name, number in facts["libraries"].items())
    print(question)
    print(f"{facts['cores']} cores, {facts['processor']}, {facts['system']}")
    print(f"Python {facts['python']}, {libraries}\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown processor")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


# ----------------------------------------------------------------- data


def data_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument --data."""
    text = "folder of NAME.npz with X_train, y_train, X_test, y_test, or with a load.py"
    parser.add_argument("--data", type=Path, required=True, help=text)


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train, y_train, X_test, y_test: by the folder's own load.py if there is one."""
    script = folder / "load.py"
    if script.exists():
        spec = importlib.util.spec_from_file_location("load", script)
        module = importlib.util.module_from_spec(spec)
        # The folder may be read-only: leave no __pycache__ there.
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
        return module.load(name)
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is not there. Give the folder that holds it as --data.")
    with np.load(path, allow_pickle=False) as arrays:
        X_train, y_train, X_test, y_test = (
            arrays[key] for key in ("X_train", "y_train", "X_test", "y_test")
        )
    return X_train.astype(np.float32), y_train, X_test.astype(np.float32), y_test


# -------------------------------------------------------------- results


def table(titles: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    cells = [[str(title) for title in titles], *([_cell(v) for v in line] for line in lines)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(titles))]
    for number, row in enumerate(cells):
        first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join([row[0].ljust(len(first)), *rest]))
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def target(text: str, met: bool) -> dict[str, Any]:
    """Print a target with its figure and whether it is met; return it for the record."""
    print(f"  {'met   ' if met else 'MISSED'}  {text}")
    return {"target": text, "met": bool(met)}


def save_record(name: str, record: dict[str, Any]) -> None:
    """Write the figures, with the machine that they come from."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **record}, indent=1, default=float) + "\n")
    print(f"\nfigures: {_shown(path)}")


def pyplot() -> Any:
    """Return matplotlib.pyplot without a screen, or None with a word if it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("\nno picture: matplotlib is missing (pip install 'bochner[benchmark]').")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "font.size": 9,
        "legend.frameon": False,
    }
    return plt


def save_picture(name: str, figure: Any) -> None:
    """Write a figure as PNG."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.png"
    figure.savefig(path, dpi=150)
    print(f"picture: {_shown(path)}")


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
