"""Part 3: what the preconditioner costs a pass, for several numbers of eigenvectors."""

from __future__ import annotations

import argparse
import gc
from typing import Any

from binning_sets import Split
from bochner.solvers import EigenPro
from common import table, target
from eigenpro_common import BUDGET, SETTINGS, PassClock, few_of, fitted, rows_of

SETTING = SETTINGS["mnist"]
EIGENVECTORS = (0, 80, 160, 320)
SUBSAMPLE, BATCH = 4_800, 256  # as in the paper, section 6
PASSES = 3  # that are timed, after one that is not
RECOMPUTED_ROWS = 20_000
MOST_RATIO = 1.3

Figures = dict[str, Any]


def price_eigenvectors(given: argparse.Namespace) -> tuple[list[Figures], list[Figures]]:
    """Time passes with the kernel matrix kept and recomputed; return figures and verdicts."""
    print(f"\nPart 3. Seconds a pass on MNIST, best of {PASSES} after a first one, batches of")
    print(f"{BATCH} rows, eigenvectors from {SUBSAMPLE:,} rows, as in the paper.")
    every = rows_of("mnist", given.data, given.rows)
    part = every.cut(min(RECOMPUTED_ROWS, len(every.X)), len(every.X_test))
    seconds_a_pass(few_of(every), 80, BUDGET)  # compiles
    lines = priced("kept", every, BUDGET) + priced("recomputed", part, 0)
    titles = ("kernel matrix", "rows", "k", "s a pass", "times that of k = 0")
    table(
        titles, [(*list(x.values())[:3], f"{x['seconds']:.3f}", f"{x['ratio']:.3f}") for x in lines]
    )
    print()
    return lines, [judged(lines, mode) for mode in ("kept", "recomputed")]


def priced(mode: str, data: Split, memory: Any) -> list[Figures]:
    """Return the seconds a pass for each number of eigenvectors."""
    seconds = {count: seconds_a_pass(data, count, memory) for count in EIGENVECTORS}
    return [
        {"mode": mode, "rows": len(data.X), "k": count, "seconds": s, "ratio": s / seconds[0]}
        for count, s in seconds.items()
    ]


def seconds_a_pass(data: Split, eigenvectors: int, memory: Any) -> float:
    """Return the seconds of the shortest pass."""
    gc.collect()  # the kernel matrix of an earlier fit
    clock = PassClock()
    subsample = min(SUBSAMPLE, len(data.X))
    fitted(
        data,
        SETTING,
        features="centers",
        solver=EigenPro(eigenvectors=eigenvectors, subsample=subsample, batch_size=BATCH),
        max_passes=PASSES + 1,
        early_stopping=False,
        tol=0.0,
        memory_budget=memory,
        callbacks=[clock],
    )
    return clock.best


def judged(lines: list[Figures], mode: str) -> Figures:
    """Print whether the preconditioner is cheap enough."""
    ratio = max(line["ratio"] for line in lines if line["mode"] == mode)
    text = f"kernel matrix {mode}: a pass with up to {max(EIGENVECTORS)} eigenvectors takes "
    text += f"{ratio:.2f} times as long as without, target at most {MOST_RATIO}"
    return target(text, ratio <= MOST_RATIO)
