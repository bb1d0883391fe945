"""Part 1: passes and seconds to the errors of Ma and Belkin's Table 3 on MNIST, beside an SVC."""

from __future__ import annotations

import argparse
import gc
from typing import Any

import numpy as np

from binning_sets import Split
from bochner.solvers import EigenPro
from common import COLOURS, pyplot, save_picture, table, target, timed
from eigenpro_common import SETTINGS, Look, few_of, first, fitted, rows_of, supply_memory, watched

SETTING = SETTINGS["mnist"]
PASSES = 10
GOAL, GOAL_PASSES = 0.013, 7  # Table 3
BEST, QUICK = 0.0124, 0.0145
MORE_PASSES = 7  # of Pegasos for one of EigenPro
PAPER_BATCH = 256
A_FEW = 3
MOST_PASSES = 80

Figures = dict[str, Any]


def race_on_mnist(given: argparse.Namespace) -> tuple[Figures, list[Figures]]:
    """Fit EigenPro, Pegasos and an SVC; return the figures and the verdicts."""
    print("\nPart 1. MNIST, squared loss, one column a class, all rows as centres.")
    print(f"{SETTING}; test error after each pass; what it takes to look is not counted.")
    data = rows_of("mnist", given.data, given.rows)
    fitted(few_of(data), SETTING, features="centers", solver="eigenpro", max_passes=2)  # compiles
    supply_memory(4 * len(data.X) ** 2)
    eigenpro = watched(data, SETTING, features="centers", solver=EigenPro(), max_passes=PASSES)
    show("EigenPro", eigenpro)
    goal = max(GOAL, min(look.error for look in eigenpro))
    reached = first(eigenpro, goal)
    plain = pegasos(data, goal, min(MOST_PASSES, MORE_PASSES * reached.passes + A_FEW))
    show(f"Pegasos, batches of {PAPER_BATCH}", plain)
    svc = support_vectors(data)
    draw(eigenpro, plain, svc, given.rows is not None)
    figures = {"eigenpro": looks(eigenpro), "pegasos": looks(plain), "svc": svc}
    return figures, judged(eigenpro, plain, goal, svc)


def pegasos(data: Split, goal: float, passes: int) -> list[Look]:
    """Fit the plain stochastic gradient until it reaches an error, or for so many passes."""
    solver = EigenPro(eigenvectors=0, batch_size=PAPER_BATCH)
    return watched(
        data,
        SETTING,
        lambda looks: looks[-1].error <= goal,
        features="centers",
        solver=solver,
        max_passes=passes,
    )


def support_vectors(data: Split) -> Figures | None:
    """Fit scikit-learn-intelex's SVC with the same kernel; None if it is not installed."""
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print("\nno SVC: scikit-learn-intelex is missing (pip install 'bochner[benchmark]').")
        return None
    gc.collect()
    make = SVC(C=SETTING.C, gamma=0.5 / SETTING.bandwidth**2)
    model, seconds = timed(lambda: make.fit(data.X, data.y))
    error, predicting = timed(lambda: data.error(model))
    print(f"\nSVC of scikit-learn-intelex, C = {SETTING.C:g}: test error {error:.2%}, ", end="")
    print(f"fit {seconds:.1f} s, predict {predicting:.1f} s")
    return {"error": error, "seconds": seconds, "predict": predicting, "C": SETTING.C}


def show(name: str, lines: list[Look]) -> None:
    """Print the looks; of many passes some."""
    print(f"\n{name}")
    some = lines if len(lines) <= PASSES else [*lines[:PASSES], *lines[PASSES + 4 : -1 : 5]]
    some = some if some[-1] is lines[-1] else [*some, lines[-1]]
    values = [(look.passes, f"{look.seconds:.1f}", f"{look.error:.2%}") for look in some]
    table(("pass", "fit s", "test error"), values)


def looks(lines: list[Look]) -> list[Figures]:
    """Return looks as they are written down."""
    return [vars(look) for look in lines]


def judged(
    eigenpro: list[Look], plain: list[Look], goal: float, svc: Figures | None
) -> list[Figures]:
    """Print whether the targets are met."""
    print()
    early = min(look.error for look in eigenpro[:GOAL_PASSES])
    best = min(look.error for look in eigenpro)
    text = f"EigenPro: {early:.2%} within {GOAL_PASSES} passes, target at most {GOAL:.2%}"
    verdicts = [target(text, early <= GOAL)]
    text = f"EigenPro: {best:.2%} at its best, target at most {BEST:.2%}"
    verdicts.append(target(text, best <= BEST))
    verdicts.append(compared(eigenpro, plain, goal))
    if svc is not None:
        verdicts.append(in_time(eigenpro, svc))
    return verdicts


def compared(eigenpro: list[Look], plain: list[Look], goal: float) -> Figures:
    """Print how many passes Pegasos takes for one of EigenPro."""
    ours, theirs = first(eigenpro, goal), first(plain, goal)
    last = theirs or plain[-1]
    ratio, more = last.passes / ours.passes, "" if theirs else "more than "
    text = f"to {goal:.2%}: EigenPro {ours.passes} passes and {ours.seconds:.1f} s, Pegasos "
    text += f"{more}{last.passes} passes and {last.seconds:.1f} s: {more}{ratio:.1f} times the "
    text += f"passes, target at least {MORE_PASSES}"
    return target(text, ratio >= MORE_PASSES)


def in_time(eigenpro: list[Look], svc: Figures) -> Figures:
    """Print whether EigenPro is as good as an SVC before that has ended."""
    look = first(eigenpro, QUICK)
    if look is None:
        return target(f"EigenPro did not reach {QUICK:.2%}", False)
    text = f"EigenPro: {QUICK:.2%} after {look.passes} passes and {look.seconds:.1f} s, target at "
    text += f"most the {svc['seconds']:.1f} s of SVC ({svc['error']:.2%})"
    return target(text, look.seconds <= svc["seconds"])


def draw(eigenpro: list[Look], plain: list[Look], svc: Figures | None, trial: bool) -> None:
    """Draw the error against seconds and against passes."""
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained"
    )
    for name, lines, colour in (("EigenPro", eigenpro, 0), ("Pegasos", plain, 1)):
        passes, seconds, errors = np.array([list(vars(look).values()) for look in lines]).T
        style = {"color": COLOURS[colour], "ms": 3, "label": name}
        left.semilogy(seconds, 100 * errors, "o-", **style)
        right.loglog(passes, 100 * errors, "o-", **style)
    if svc is not None:
        label = "SVC of scikit-learn-intelex"
        left.plot(svc["seconds"], 100 * svc["error"], "D", color=COLOURS[2], label=label)
    for axes, label in ((left, "seconds of fitting"), (right, "passes")):
        axes.axhline(100 * GOAL, color="0.4", ls="--", lw=1, label="target")
        axes.set(xlabel=label)
        for setter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            setter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    right.xaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    left.set(ylabel="test error, %", title="MNIST", xlim=(0, None))
    left.legend()
    save_picture("eigenpro_mnist" + "_trial" * trial, figure)
