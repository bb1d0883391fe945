"""Part 3: L1 by whole grids beside liblinear and beside the paper's racy coordinate descent."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from binning_races import LEAST_SPEEDUP, races, show_races
from binning_racy import L1
from binning_sets import COVTYPE, Setting, quietly, split
from bochner import KernelClassifier, RandomBinning
from bochner.features import Binning
from bochner.kernels import Laplacian
from bochner.solvers.binning.coordinate_descent import CoordinateDescent
from common import table, target, timed

GRIDS = 64
CLOSE = 1e-4  # relative distance to the best objective that anyone has found
LEAST_RATIO = 10.0
TOLERANCES = (1e-2, 3e-3, 1e-3, 1e-4)  # of ours
LADDER = tuple(2**k for k in range(1, 12))  # iterations that liblinear may take

Line = dict[str, Any]


def compare_l1(given: argparse.Namespace, setting: Setting) -> tuple[dict[str, Any], list[Line]]:
    """Run all of part 3; return the figures and the verdicts."""
    print("\nPart 3. L1: mean max(0, 1 - y f)^2 + alpha |w|_1 on covtype, label 1, no intercept;")
    print(f"alpha = {given.l1:g} / rows, that is liblinear's C = {1 / given.l1:g}.")
    problem, making = timed(lambda: posed(given, setting))
    rows, bins = problem.Z.shape
    print(f"{rows:,} rows, {bins:,} bins; RandomBinning makes the CSR matrix in {making:.1f} s.")
    grids = by_grids(problem)
    steps = liblinear(problem, given.liblinear_seconds)
    best = min(line["objective"] for line in grids + steps)
    show(grids + steps, best)
    enough = first_close(grids, best)
    threads = with_threads(problem, enough["tolerance"], 1 if given.quick else 2)
    racy = races(problem, given.quick)
    show_races(racy, enough | threads, "random_binning_l1" + "_quick" * given.quick)
    verdicts = judged(enough, steps, threads, best)
    record = {"alpha": problem.alpha, "matrix seconds": making, "grids": grids, "threads": threads}
    return record | {"liblinear": steps, "racy": racy}, verdicts


def posed(given: argparse.Namespace, setting: Setting) -> L1:
    """Return the problem: rows scaled once, so that both see the same numbers."""
    data = split(COVTYPE, given.data, given.quick)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    width = np.where(high > low, high - low, 1)

    def scaled(rows: np.ndarray) -> np.ndarray:
        return (rows - low) / width

    X = scaled(data.X)
    grids = 16 if given.quick else GRIDS
    binning = RandomBinning(Laplacian(setting.bandwidth), grids, random_state=0)
    Z = binning.fit_transform(X).astype(np.float64)
    # liblinear takes 32-bit indices only.
    Z.indices, Z.indptr = Z.indices.astype(np.int32), Z.indptr.astype(np.int32)
    Z_test = binning.transform(scaled(data.X_test))
    y, y_test = (np.where(labels == 1, 1.0, -1.0) for labels in (data.y, data.y_test))
    return L1(X, y, Z, given.l1 / len(X), setting.bandwidth, grids, Z_test, y_test)


# ---------------------------------------------------------------- by grids


def classifier(problem: L1, tol: float, threads: int | None = None) -> KernelClassifier:
    return KernelClassifier(
        kernel=Laplacian(problem.bandwidth),
        loss="squared_hinge",
        features=Binning(problem.grids),
        solver=CoordinateDescent(penalty="l1", tol=tol),
        alpha=problem.alpha,
        fit_intercept=False,
        early_stopping=False,
        n_jobs=threads,
        random_state=0,
    )


def by_grids(problem: L1) -> list[Line]:
    """Return the figures of ours for smaller and smaller tolerances."""
    few = slice(0, 1_500)
    quietly(lambda: classifier(problem, 0.01).fit(problem.X[few], problem.y[few]))  # compiles
    lines = []
    for tol in TOLERANCES:
        model = classifier(problem, tol)
        seconds = fitting(model, problem.X, problem.y)
        name = f"by grids, tol {tol:g}, {model.n_iter_} passes"
        solving = solver_alone(model.history_["seconds"])
        lines.append(
            line(problem, name, model.weights_, solving) | {"tolerance": tol, "all": seconds}
        )
    return lines


def solver_alone(seconds: list[float]) -> float:
    """Return the seconds of all steps, given when each had ended; bins are known by the first.

    The first one's own time is not known: it counts as much as the others on average.
    """
    steps = len(seconds) - 1
    return (seconds[-1] - seconds[0]) * (steps + 1) / steps


def with_threads(problem: L1, tol: float, repeats: int) -> Line:
    """Return the seconds of ours with 1 and 2 threads, and whether the weights are the same."""
    coefs, times = {}, {}
    for threads in (1, 2):
        model = classifier(problem, tol, threads)
        runs = [fitting(model, problem.X, problem.y) for _ in range(repeats)]
        coefs[threads], times[threads] = model.weights_, min(runs)
    return {
        "seconds, 1 thread": times[1],
        "seconds": times[2],
        "speed-up": times[1] / times[2],
        "same": np.array_equal(coefs[1], coefs[2]),
    }


# --------------------------------------------------------------- liblinear


def liblinear(problem: L1, seconds: float) -> list[Line]:
    """Run liblinear anew with twice the iterations, until it has converged or its time is up."""
    lines: list[Line] = []
    for most in LADDER:
        model = LinearSVC(
            penalty="l1",
            loss="squared_hinge",
            dual=False,
            fit_intercept=False,
            C=1 / (problem.alpha * len(problem.y)),
            tol=1e-5,
            max_iter=most,
            random_state=0,
        )
        taken = fitting(model, problem.Z, problem.y)
        lines.append(line(problem, f"liblinear, {model.n_iter_} iterations", model.coef_, taken))
        if model.n_iter_ < most or 2 * taken > seconds:
            break
    lines[-1]["converged"] = bool(model.n_iter_ < most)
    return lines


def fitting(model: Any, X: Any, y: Any) -> float:
    """Fit; return the seconds."""
    return timed(lambda: quietly(lambda: model.fit(X, y)))[1]


def line(problem: L1, name: str, coef: np.ndarray, seconds: float) -> Line:
    """Return the figures of some weights."""
    return {
        "name": name,
        "objective": problem.objective(coef),
        "test error": problem.test_error(coef),
        "bins": int(np.count_nonzero(coef)),
        "seconds": seconds,
    }


def first_close(lines: list[Line], best: float) -> Line:
    """Return the first that is close to the best objective, the last if none is."""
    return next((x for x in lines if x["objective"] <= best * (1 + CLOSE)), lines[-1])


def show(lines: list[Line], best: float) -> None:
    """Print all runs, with their distance to the lowest objective."""
    print(
        "\nSeconds of the solvers alone, both given the features; ours with the binning in the last"
    )
    print(
        "column. liblinear is run anew with twice the iterations until it has converged to 1e-5 or"
    )
    print("the next run could take too long.")
    titles = ("solver", "objective", "above the best", "test wrong", "bins used", "s", "fit s")
    values = [
        (x["name"], f"{x['objective']:.8f}", f"{x['objective'] / best - 1:.1e}",
         f"{x['test error']:.2%}", x["bins"],
         f"{x['seconds']:.2f}", f"{x['all']:.2f}" if "all" in x else "")
        for x in lines
    ]  # fmt: skip
    table(titles, values)


def judged(enough: Line, steps: list[Line], threads: Line, best: float) -> list[Line]:
    """Print whether the targets are met: both by their first run that is close to the best."""
    print()
    apart = enough["objective"] / best - 1
    text = f"L1 objective ({enough['name']}) {apart:.1e} above the best of both, "
    verdicts = [target(f"{text}target at most {CLOSE:g}", apart <= CLOSE)]
    there = first_close(steps, best)
    ratio, gap = there["seconds"] / enough["seconds"], there["objective"] / best - 1
    text = f"{there['name']} take {ratio:.1f} times our time"
    if gap > CLOSE:
        text += f", still {gap:.1e} above when stopped"
    verdicts.append(target(f"{text}, target at least {LEAST_RATIO:g}", ratio >= LEAST_RATIO))
    same = f"weights with 1 and 2 threads are {'the same' if threads['same'] else 'NOT the same'}"
    verdicts.append(target(same, threads["same"]))
    text = f"2 threads are {threads['speed-up']:.2f} times as fast as 1, target {LEAST_SPEEDUP}"
    return [*verdicts, target(text, threads["speed-up"] >= LEAST_SPEEDUP)]
