"""Part 2: passes of EigenPro and of the plain gradient with random Fourier features on MNIST."""

from __future__ import annotations

import argparse
from typing import Any

from bochner.features import Fourier
from bochner.solvers import EigenPro
from common import table
from eigenpro_common import SETTINGS, Look, few_of, first, fitted, rows_of, watched
from eigenpro_mnist import looks, show

SETTING = SETTINGS["mnist"]
SIZE, PAPER_SIZE = 30_000, 60_000
GOAL = 0.016
PASSES, PLAIN_PASSES = 10, 40
PAPER_BATCH = 256

Figures = dict[str, Any]


def race_of_features(given: argparse.Namespace) -> tuple[Figures, list[Figures]]:
    """Fit all three; return the figures. There is no target."""
    print(f"\nPart 2. MNIST, {SIZE:,} random Fourier features if not said otherwise, squared loss,")
    print(f"{SETTING}.")
    data = rows_of("mnist", given.data, given.rows)
    plain_passes = PLAIN_PASSES if given.rows is None else PASSES
    few = few_of(data)
    fitted(few, SETTING, features=Fourier(256), solver=EigenPro(), max_passes=2)  # compiles
    eigenpro, more = (
        watched(data, SETTING, features=Fourier(size), solver=EigenPro(), max_passes=PASSES)
        for size in (SIZE, PAPER_SIZE)
    )
    show("EigenPro", eigenpro)
    show(f"EigenPro, {PAPER_SIZE:,} features as in Table 3", more)
    goal = max(GOAL, min(look.error for look in eigenpro))
    plain = watched(
        data,
        SETTING,
        lambda looks: looks[-1].error <= GOAL,
        features=Fourier(SIZE),
        solver=EigenPro(eigenvectors=0, batch_size=PAPER_BATCH),
        max_passes=plain_passes,
    )
    show(f"plain gradient, batches of {PAPER_BATCH}, at most {plain_passes} passes", plain)
    print(f"\npasses to {GOAL:.2%} and {goal:.2%}; in Table 3, with {PAPER_SIZE:,} features: 8 to")
    print("1.4%, and 82 to 1.5%")
    lines = ("EigenPro", eigenpro), (f"EigenPro, {PAPER_SIZE:,}", more), ("plain gradient", plain)
    table(
        ("", "passes", "fit s", "passes", "fit s"),
        [(name, *reached(found, GOAL), *reached(found, goal)) for name, found in lines],
    )
    figures = {"eigenpro": looks(eigenpro), "more_features": looks(more), "plain": looks(plain)}
    return {"goal": goal} | figures, []


def reached(lines: list[Look], goal: float) -> tuple[str, str]:
    """Return how soon an error was reached, as text: passes and seconds; else the best error."""
    look = first(lines, goal)
    if look is not None:
        return str(look.passes), f"{look.seconds:.1f}"
    best, last = min(look.error for look in lines), lines[-1]
    return f"more than {last.passes} (best {best:.2%})", f"more than {last.seconds:.1f}"
