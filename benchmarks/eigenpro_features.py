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
SIZE = 30_000
GOAL = 0.016
PASSES, PLAIN_PASSES = 10, 40
PAPER_BATCH = 256

Figures = dict[str, Any]


def race_of_features(given: argparse.Namespace) -> tuple[Figures, list[Figures]]:
    """Fit both; return the figures. There is no target."""
    print(f"\nPart 2. MNIST, {SIZE:,} random Fourier features, squared loss, {SETTING}.")
    data = rows_of("mnist", given.data, given.rows)
    features, plain_passes = Fourier(SIZE), PLAIN_PASSES if given.rows is None else PASSES
    few = few_of(data)
    fitted(few, SETTING, features=Fourier(256), solver=EigenPro(), max_passes=2)  # compiles
    eigenpro = watched(data, SETTING, features=features, solver=EigenPro(), max_passes=PASSES)
    show("EigenPro", eigenpro)
    goal = max(GOAL, min(look.error for look in eigenpro))
    plain = watched(
        data,
        SETTING,
        lambda looks: looks[-1].error <= goal,
        features=features,
        solver=EigenPro(eigenvectors=0, batch_size=PAPER_BATCH),
        max_passes=plain_passes,
    )
    show(f"plain gradient, batches of {PAPER_BATCH}, at most {plain_passes} passes", plain)
    print(f"\npasses to {goal:.2%}; in Table 3, with 60,000 features: 8 to 1.4%, and 82 to 1.5%")
    table(
        ("", "passes", "fit s"),
        [line("EigenPro", eigenpro, goal), line("plain gradient", plain, goal)],
    )
    return {"goal": goal, "eigenpro": looks(eigenpro), "plain": looks(plain)}, []


def line(name: str, lines: list[Look], goal: float) -> tuple[str, str, str]:
    """Return how soon an error was reached, as text."""
    look = first(lines, goal)
    if look is not None:
        return name, str(look.passes), f"{look.seconds:.1f}"
    last = lines[-1]
    return name, f"more than {last.passes} ({last.error:.2%})", f"more than {last.seconds:.1f}"
