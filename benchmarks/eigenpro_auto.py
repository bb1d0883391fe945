"""Part 6: solver="auto" beside every single solver, on ten sets. Also the script that fits one.

Each fit runs in a process of its own, so that none can take more than its time or its memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from binning_sets import Split, best_of
from common import table, target, timed
from eigenpro_common import (
    BUDGET,
    OURS,
    SETTINGS,
    TASKS,
    Setting,
    few_of,
    fitted,
    rows_of,
    support_vectors,
)

NAMES = tuple(TASKS)
SINGLE = ("direct", "eigenpro", "nystroem", "dsg")
VECTORS, QUICK_VECTORS = "SVM", "SVM, epsilon 0.1"  # the default epsilon, beside a better one
EPSILON = 0.1
GRACE = 90  # seconds for reading, a first small fit, repeating a short one and predicting
AT_LEAST = 20  # seconds that every single solver gets
POINT, SHARE = 0.001, 0.01  # how near to auto's error is as good: classes, numbers
MOST_RATIO = 1.5
RUNS = 3

Line = dict[str, Any]


def compare_solvers(given: argparse.Namespace) -> tuple[list[Line], list[Line]]:
    """Compare on every set; return the figures and the verdicts."""
    print(f'\nPart 6. solver="auto" beside each single solver; at most {given.minutes:g} minutes a')
    print(f"fit, memory_budget {BUDGET}, alpha by default, the same kernel and scaled columns for")
    print(f"all. Best of {RUNS} below 10 s, each model in a process of its own. The others get the")
    print(f"time that auto took, at least {AT_LEAST} s: a slower one could not change a verdict.")
    results = [compare(name, given) for name in NAMES]
    print()
    return results, [verdict for result in results for verdict in judged(result)]


def compare(name: str, given: argparse.Namespace) -> Line:
    """Print the table of one set."""
    task, setting = TASKS[name], SETTINGS[name]
    print(f"\n{task.title}: {setting}, {setting.vectors(task.kind)}")
    auto = one(name, "auto", given, 60 * given.minutes)
    seconds = min(max(auto["seconds"] or 0.0, AT_LEAST), 60 * given.minutes)
    lines = [auto, *(one(name, model, given, seconds) for model in contenders(setting))]
    titles = ("model", f"test {task.unit}", "fit s", "predict s", "")
    table(titles, [shown(task, line) for line in lines])
    return {"set": name, "kind": task.kind, "setting": vars(setting), "lines": lines}


def contenders(setting: Setting) -> list[str]:
    """Return who takes part beside auto."""
    bins = ["binning"] if setting.kind == "laplacian" else []
    return [*SINGLE, *bins, VECTORS, *([QUICK_VECTORS] if setting.epsilon != EPSILON else [])]


def shown(task: Any, line: Line) -> tuple[str, ...]:
    """Return a line of the table."""
    if line["error"] is None:
        return line["model"], "-", "-", "-", line["note"]
    error, times = task.shown(line["error"]), (line["seconds"], line["predict"])
    return line["model"], error, *(f"{time:.2f}" for time in times), line["note"]


def one(name: str, model: str, given: argparse.Namespace, seconds: float) -> Line:
    """Fit one model in a process of its own; return its figures, without error if it failed."""
    words = (given.data, name, model, given.rows or 0, seconds)
    command = [sys.executable, __file__, *map(str, words)]
    nothing = {"model": model, "error": None, "seconds": None, "predict": None}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + GRACE)
    except subprocess.TimeoutExpired:
        return nothing | {"note": "did not end in time"}
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"]
        return nothing | {"note": words[-1][:90]}
    return json.loads(done.stdout.splitlines()[-1])


def judged(result: Line) -> list[Line]:
    """Print whether auto is fast enough."""
    auto, *others = result["lines"]
    if auto["error"] is None:
        return [target(f"{result['set']}: auto failed: {auto['note']}", False)]
    ours = [x for x in others if x["model"] in OURS]
    good = [x for x in ours if as_good(x, auto, result["kind"])]
    verdicts = []
    if good:
        fastest = min(good, key=lambda line: line["seconds"])
        ratio = auto["seconds"] / fastest["seconds"]
        text = f"{result['set']}: auto takes {ratio:.2f} times the {fastest['seconds']:.2f} s of "
        text += f"{fastest['model']}, target at most {MOST_RATIO}"
        verdicts.append(target(text, ratio <= MOST_RATIO))
    vectors = next(line for line in others if line["model"] == VECTORS)
    if vectors["error"] is not None:
        text = f"{result['set']}: auto takes {auto['seconds']:.2f} s, target at most the "
        text += f"{vectors['seconds']:.2f} s of scikit-learn's support vector machine (errors "
        text += f"{auto['error']:.4g} and {vectors['error']:.4g})"
        verdicts.append(target(text, auto["seconds"] <= vectors["seconds"]))
    return verdicts


def as_good(line: Line, auto: Line, kind: str) -> bool:
    """Whether a model comes as near as is asked for to auto's error, or below it."""
    if line["error"] is None:
        return False
    worst = auto["error"] * (1 + SHARE) if kind == "numbers" else auto["error"] + POINT
    return line["error"] <= worst


# ----------------------------------------------- in a process of its own


def fit(data: Split, setting: Setting, model: str, seconds: float) -> Any:
    """Return a contender, fitted."""
    if model not in OURS:
        epsilon = setting.epsilon if model == VECTORS else EPSILON
        return support_vectors(data, replace(setting, epsilon=epsilon))
    return fitted(data, setting, **OURS[model], memory_budget=BUDGET, max_seconds=seconds)


def described(model: Any) -> str:
    """Return what one of ours did, in a few words."""
    if not hasattr(model, "expansion_"):
        return ""
    basis = type(model.expansion_.basis).__name__
    note = f"{basis}, {model.n_features_used_:,} functions, {model.n_iter_} passes"
    return note + ", TIME WAS UP" * ("seconds were up" in model.stopped_because_)


def main() -> None:
    folder, name, contender, rows, seconds = sys.argv[1:]
    data = rows_of(name, Path(folder), int(rows) or None)
    setting = SETTINGS[name]
    fit(few_of(data), setting, contender, 10.0).predict(data.X_test[:100])  # compiles
    model, times = best_of(lambda: fit(data, setting, contender, float(seconds)), RUNS)
    error, predicting = timed(lambda: data.error(model))
    figures = {
        "model": contender,
        "error": error,
        "seconds": times.best,
        "predict": predicting,
        "note": described(model),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
