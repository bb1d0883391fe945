"""How far fits overrun a time limit, how much memory they hold, and how long they do not check it.

    PYTHONPATH=src python benchmarks/limits.py --seconds 5 --rows 200000
    PYTHONPATH=src python benchmarks/limits.py --only "Nystroem" --memory-budget 1GB

    PYTHONPATH=src python benchmarks/limits.py --processor

Each method fits made rows in a process of its own, with compiled code warm. A gap is the processor
time of one thread between two checks of the limit: unlike the seconds it does not depend on what
else runs on the machine. The memory is the peak above what was held before the fit. With
`--processor` the clock of the limit is the processor time of all threads divided by two, for a
machine of two cores that others use, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bochner import KernelClassifier, KernelGaussianProcess, KernelRegressor
from bochner.compute import pool
from bochner.features import Centers, Fourier
from bochner.solvers import EigenPro
from common import peak_megabytes

COLUMNS = 50
METHODS: dict[str, Callable[..., Any]] = {
    "automatic, regression": lambda **k: KernelRegressor(**k),
    "automatic, classification": lambda **k: KernelClassifier(**k),
    "EigenPro, all rows as centres": lambda **k: KernelRegressor(solver="eigenpro", **k),
    "EigenPro, 10,000 centres": lambda **k: KernelRegressor(
        solver="eigenpro", features=Centers(10_000), **k
    ),
    "plain gradient on 10,000 centres": lambda **k: KernelRegressor(
        solver=EigenPro(eigenvectors=0), features=Centers(10_000), **k
    ),
    "Nystroem, 5,000 centres": lambda **k: KernelRegressor(solver="nystroem", **k),
    "conjugate gradients, 4,096 waves": lambda **k: KernelRegressor(
        solver="cg", features=Fourier(4096), **k
    ),
    "Newton, 2,048 waves, classification": lambda **k: KernelClassifier(
        solver="newton", loss="softmax", features=Fourier(2048), **k
    ),
    "doubly stochastic": lambda **k: KernelRegressor(solver="dsg", **k),
    "backfitting on bins": lambda **k: KernelRegressor(solver="backfitting", **k),
    "Gaussian process by features": lambda **k: KernelGaussianProcess(**k),
    "Gaussian process by functions": lambda **k: KernelGaussianProcess(variance="functions", **k),
}


def made_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which five columns matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, COLUMNS)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.3 * X[:, 4]
    return X, y + 0.1 * rng.normal(size=rows)


class Gaps:
    """The longest processor time between two checks of a thread, and where it was."""

    def __init__(self) -> None:
        self.last, self.longest, self.place = threading.local(), 0.0, ""
        self.check = pool.check_interruption
        pool.check_interruption = self  # type: ignore[assignment]

    def __call__(self) -> None:
        now, before = time.thread_time(), getattr(self.last, "time", None)
        self.last.time = now
        if before is not None and now - before > self.longest:
            self.longest = now - before
            frames = [f for f in traceback.extract_stack() if "/bochner/" in f.filename]
            self.place = " < ".join(f.name for f in frames[::-1][:9])
        self.check()


def measure(
    method: str, rows: int, seconds: float, memory: str | None, processor: bool = False
) -> dict[str, Any]:
    """Fit a method once; the first fit, to few rows, loads compiled code."""
    X, y = made_rows(rows + 2_000)
    fresh_X, fresh_y = X[rows:], y[rows:]
    X, y = X[:rows], y[:rows]
    labels = "classification" in method
    if labels:
        y, fresh_y = y > 1, fresh_y > 1
    warnings.simplefilter("ignore")
    given = {} if memory is None else {"memory_budget": memory}
    METHODS[method](max_seconds=0.5, random_state=0, **given).fit(X[:4_000], y[:4_000])
    model = METHODS[method](max_seconds=seconds, random_state=0, **given)
    held, gaps = peak_megabytes(), Gaps()
    if processor:
        time.perf_counter = lambda: time.process_time() / 2
    used, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    gaps()
    model.fit(X, y)
    gaps()
    taken, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    peak = peak_megabytes()
    return {
        "seconds": taken,
        "processor": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
        "megabytes": peak - held,
        "gap": gaps.longest,
        "place": gaps.place,
        "score": float(model.score(fresh_X, fresh_y)),
        "why": str(getattr(model, "stopped_because_", "")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--memory-budget", default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--one", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        found = measure(
            options.one, options.rows, options.seconds, options.memory_budget, options.processor
        )
        print(json.dumps(found))
        return
    print(f"{options.rows:,} x {COLUMNS}, max_seconds={options.seconds:g}")
    line = "{:36} {:>8} {:>10} {:>8} {:>8} {:>7}  {}"
    print(line.format("method", "seconds", "processor", "MB", "gap", "score", "ended because"))
    for method in METHODS:
        if options.only not in method:
            continue
        command = [sys.executable, __file__, "--one", method, "--rows", str(options.rows)]
        command += ["--seconds", str(options.seconds)]
        if options.memory_budget is not None:
            command += ["--memory-budget", options.memory_budget]
        if options.processor:
            command.append("--processor")
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode != 0:
            print(f"{method:36} failed: {found.stderr.strip().splitlines()[-1]}")
            continue
        row = json.loads(found.stdout)
        figures = f"{row['seconds']:.1f}", f"{row['processor']:.1f}", f"{row['megabytes']:.0f}"
        scores = f"{row['gap']:.2f}", f"{row['score']:.3f}", row["why"]
        print(line.format(method, *figures, *scores))
        print(f"{'':36} the gap: {row['place']}", flush=True)


if __name__ == "__main__":
    main()
