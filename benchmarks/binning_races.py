"""Speed-ups with two threads, as in Wu, Yen et al. 2016, Figure 6."""

from __future__ import annotations

from typing import Any

import numpy as np

from binning_racy import L1, Descent
from bochner import RandomFourier
from bochner.kernels import Laplacian
from common import COLOURS, pyplot, save_picture, table

LEAST_SPEEDUP = 1.6  # of ours
SWEEPS, MOST_SWEEPS = 8, 32
FOURIER_SIZE = 256

Line = dict[str, Any]


def races(problem: L1, quick: bool) -> dict[str, Line]:
    """Return the speed-ups of racy random coordinate descent on bins and on Fourier features."""
    size = 64 if quick else FOURIER_SIZE
    waves = RandomFourier(Laplacian(problem.bandwidth), size, random_state=0)
    columns = np.ascontiguousarray(waves.fit_transform(problem.X).T)
    return {
        "bins, racy": raced(problem.Z.tocsc(), problem),
        "Fourier, racy": raced(columns, problem),
    }


def raced(columns: Any, problem: L1) -> Line:
    """Run one thread for some sweeps; then two, until they have got as far or give up."""
    Descent(columns, problem.y, problem.alpha).sweep(1, 0)  # compiles
    Descent(columns, problem.y, problem.alpha).sweep(2, 0)
    one = Descent(columns, problem.y, problem.alpha)
    alone = sum(one.sweep(1, seed) for seed in range(SWEEPS))
    goal = one.objective
    two = Descent(columns, problem.y, problem.alpha)
    together, sweeps = 0.0, 0
    while sweeps < MOST_SWEEPS and (sweeps == 0 or two.objective > goal * (1 + 1e-3)):
        together += two.sweep(2, 1_000 + sweeps)
        sweeps += 1
    reached = two.objective <= goal * (1 + 1e-3)
    return {
        "objective": goal,
        "two's objective": two.objective,
        "seconds, 1 thread": alone,
        "seconds, 2 threads": together,
        "sweeps": sweeps,
        "reached": reached,
        "speed-up": alone / together if reached else 0.0,
        "updates": (alone / SWEEPS) / (together / sweeps),
    }


def show_races(racy: dict[str, Line], grids: Line, name: str) -> None:
    """Print the speed-ups as in Figure 6, and draw them."""
    print("\nspeed-up with 2 threads: of the seconds to the objective that 1 thread has after")
    print(
        f"{SWEEPS} sweeps (to 1e-3; 0 if never), and of updates a second; ours takes equal steps."
    )
    lines = [
        (method, x["objective"], f"{x['seconds, 1 thread']:.2f}", f"{x['seconds, 2 threads']:.2f}",
         f"{x['speed-up']:.2f}", f"{x['updates']:.2f}")
        for method, x in racy.items()
    ]  # fmt: skip
    own = f"{grids['seconds, 1 thread']:.2f}", f"{grids['seconds']:.2f}", f"{grids['speed-up']:.2f}"
    lines.append(("bins, by grids", grids["objective"], *own, ""))
    table(("method", "objective", "1 thread s", "2 threads s", "speed-up", "updates"), lines)
    speedups = {method: x["speed-up"] for method, x in racy.items()}
    bars(speedups | {"bins, by grids": grids["speed-up"]}, name)


def bars(speedups: dict[str, float], name: str) -> None:
    """Draw the speed-ups with 1 and 2 threads."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
    places = np.arange(len(speedups))
    axes.bar(places - 0.2, np.ones(len(places)), 0.38, color="0.7", label="1 thread")
    axes.bar(places + 0.2, list(speedups.values()), 0.38, color=COLOURS[0], label="2 threads")
    axes.set_xticks(places, list(speedups))
    axes.axhline(LEAST_SPEEDUP, color="0.4", ls="--", lw=1, label="target for ours")
    axes.set(ylabel="speed-up", title="L1 on covtype, label 1")
    axes.legend()
    save_picture(name, figure)
