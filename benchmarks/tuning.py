"""Do learned scales beat gradient boosting, without a parameter to choose?

Five parts: 1 covtype, with the time of XGBoost and without a limit; 2 california and protein;
3 ten sets, beside boosting and our own best common bandwidth; 4 what the search costs and what its
ingredients save; 5 made data with useless columns. Ours have no parameter but a limit of time where
that is said, and the seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from binning_sets import Split, Task, quietly, split
from bochner import KernelClassifier, KernelRegressor
from bochner.compute.random.counter_based import Random
from bochner.tuning import Sample, Tuning
from bochner.tuning.trials import Trials
from common import data_argument, introduce, save_record, table, target, timed
from eigenpro_common import TASKS
from tuning_boosting import boosted

COVTYPE, CLASSES = TASKS["covtype"], Task("covtype, 7 classes", "covtype", "classes")
REGRESSIONS = TASKS["california"], TASKS["protein"]
FAST_ERROR, GOOD_ERROR, CALIFORNIA, TIMES = 0.025, 0.021, 0.44, 3.0
WORSE, BEATEN = 1.03, 6
MADE_ROWS, USEFUL, USELESS = 100_000, 5, 45

Line = dict[str, Any]
Result = tuple[Any, list[Line]]


def learner(task: Task, **more: Any) -> Any:
    """Return our estimator with its defaults."""
    kind = KernelRegressor if task.kind == "numbers" else KernelClassifier
    return kind(random_state=0, **more)


def ours(data: Split, name: str = "defaults", **more: Any) -> Line:
    """Return the figures of our fit."""
    model, seconds = timed(lambda: quietly(lambda: learner(data.task, **more).fit(data.X, data.y)))
    return {"model": name, "error": data.error(model), "seconds": seconds, "note": noted(model)}


def noted(model: Any) -> str:
    """Return what a fit did, in a few words."""
    if not hasattr(model, "tuning_"):
        return f"scales not learned; {model.plan_.solver}"
    tuned = model.tuning_
    kept = "scales kept" if tuned.helped else "one bandwidth kept"
    machine = f"{type(model.kernel_.kernel).__name__}, {model.plan_.solver}"
    return f"search {tuned.seconds:.1f} s, {tuned.trials} trials, {kept}; {machine}"


def common(data: Split) -> Line:
    """Return the figures of bins with the best common bandwidth that the same search finds."""
    settings = {"kernel": "laplacian", "scales": "learn", "tuning": Tuning(seconds=1e-9)}
    return ours(data, "one bandwidth, bins", **settings)  # no round begins


def shown(data: Split, lines: list[Line]) -> None:
    """Print the figures of one set."""
    print(f"\n{data.task.title}")
    values = [
        (x["model"], data.task.shown(x["error"]), f"{x['seconds']:.2f}", x["note"]) for x in lines
    ]
    table(("model", f"test {data.task.unit}", "fit s", ""), values)


def named(lines: list[Line], name: str) -> Line | None:
    """Return the line of a model, None if it is not installed."""
    return next((line for line in lines if line["model"] == name), None)


def part_covtype(given: argparse.Namespace) -> Result:
    """Compare on covtype, binary and with seven classes."""
    data = loaded(COVTYPE, given)
    trees = boosted(data)
    fast_of = named(trees, "XGBoost") or named(trees, "LightGBM")
    limit = 30.0 if fast_of is None else fast_of["seconds"]
    fast = ours(data, "defaults, limited", max_seconds=limit)
    free = ours(data)
    lines = [fast, free, common(data), *trees]
    shown(data, lines)
    text = f"covtype, label 1: {fast['error']:.2%} in {fast['seconds']:.1f} s of {limit:.1f} s"
    met = fast["error"] <= FAST_ERROR and fast["seconds"] <= limit
    verdicts = [target(f"{text}, target at most {FAST_ERROR:.1%}", met)]
    text = f"covtype, label 1, no limit: {free['error']:.2%}, target at most {GOOD_ERROR:.1%}"
    verdicts.append(target(text, free["error"] <= GOOD_ERROR))
    data = loaded(CLASSES, given)
    trees, mine = boosted(data), ours(data)
    shown(data, [mine, *trees])
    light = named(trees, "LightGBM")
    if light is not None:
        text = f"covtype, 7 classes: {mine['error']:.2%}, target at most LightGBM's"
        verdicts.append(target(f"{text} {light['error']:.2%}", mine["error"] <= light["error"]))
    return {"binary": lines, "classes": [mine, *trees]}, verdicts


def part_regression(given: argparse.Namespace) -> Result:
    """Compare on california and protein."""
    record, verdicts = {}, []
    for task in REGRESSIONS:
        data = loaded(task, given)
        trees, mine = boosted(data), ours(data)
        record[task.name] = lines = [mine, common(data), *trees]
        shown(data, lines)
        light = named(trees, "LightGBM")
        if light is None:
            continue
        most = CALIFORNIA if task.name == "california" else light["error"]
        text = f"{task.title}: {mine['error']:.4f}, target at most {most:.4f}"
        verdicts.append(target(text, mine["error"] <= most))
        text = f"{task.title}: {mine['seconds'] / light['seconds']:.2f} times LightGBM's time"
        fast = mine["seconds"] <= TIMES * light["seconds"]
        verdicts.append(target(f"{text}, target at most {TIMES:g}", fast))
    return record, verdicts


def part_all(given: argparse.Namespace) -> Result:
    """Compare on all sets."""
    record, verdicts, wins = {}, [], 0
    tasks = [TASKS[name] for name in given.sets.split(",")]
    for task in tasks:
        data = loaded(task, given)
        trees, mine, plain = boosted(data), ours(data), common(data)
        record[task.title] = lines = [mine, plain, *trees]
        shown(data, lines)
        wins += mine["error"] <= min(line["error"] for line in trees)
        text = f"{task.title}: {task.shown(mine['error'])}, target at most {WORSE} times the "
        text += f"{task.shown(plain['error'])} of one bandwidth"
        verdicts.append(target(text, mine["error"] <= WORSE * plain["error"]))
    text = f"no worse than the best boosting on {wins} of {len(tasks)} sets, target {BEATEN}"
    return record, [*verdicts, target(text, wins >= BEATEN)]


def part_costs(given: argparse.Namespace) -> Result:
    """Time the search on covtype and what its ingredients save."""
    data = loaded(COVTYPE, given)
    model, seconds = timed(lambda: quietly(lambda: learner(COVTYPE).fit(data.X, data.y)))
    tuned = model.tuning_
    share, speed = tuned.seconds / seconds, tuned.trials / tuned.seconds
    print(f"\ncovtype: search {tuned.seconds:.1f} s, {share:.0%} of the fit; {speed:.0f} trials/s")
    y = np.where(data.y == 1, 1.0, -1.0)[:, None]
    sample = Sample.of(np.asarray(data.X, np.float32), y, held_out="random")
    drawn = sample.draw_split(32_000, Random(0))
    trials = Trials(drawn, 16, Random(1))
    factors = {j: float(1 / s) for j, s in enumerate(tuned.scales)}
    trials.apply(factors)
    changed = {0: 2 * factors[0]}

    def from_nothing() -> None:
        new = Trials(drawn, 16, Random(1))
        new.apply(factors | changed)
        new.errors([{}], 0.3)

    reused, anew = best(lambda: trials.errors([changed], 0.3)), best(from_nothing)
    print(f"a trial on 32,000 rows and 16 grids: {reused:.4f} s, {anew:.4f} s with the")
    print(f"hashes of all columns made anew ({anew / reused:.2f} times as long)")
    ways = [(group, way) for group in sample.groups for way in (2.0, 0.5)]
    moves = [{int(j): way * factors[int(j)] for j in group} for group, way in ways]
    whole = best(lambda: trials.errors(moves, 0.3))
    cut = best(lambda: trials.errors(moves, 0.3, trials.first_sweep_errors(0.3)))
    given_up = np.isinf(trials.errors(moves, 0.3, trials.first_sweep_errors(0.3))[:, 0]).mean()
    print(f"given up after one sweep of four: {given_up:.0%} of the trials of a round, which takes")
    print(f"{cut:.2f} s instead of {whole:.2f} s ({cut / whole:.0%})")
    groups, columns = len(sample.groups), data.X.shape[1]
    print(f"groups: {groups} of {columns} columns, so that a round has {2 * groups} trials")
    rows = sum(r.rows * r.grids for r in tuned.rounds)
    last = max(r.rows * r.grids for r in tuned.rounds) * len(tuned.rounds)
    print(f"few rows first: {rows / last:.0%} of the work of as many rounds on the most rows")
    figures = {"share": share, "speed": speed, "reused": reused, "anew": anew, "groups": groups}
    figures |= {"given_up": given_up, "cut": cut, "whole": whole}
    return figures | {"columns": columns, "halving": rows / last}, []


def part_made(given: argparse.Namespace) -> Result:
    """Five useful columns among fifty."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(MADE_ROWS + 10_000, USEFUL + USELESS)).astype(np.float32)
    order = rng.permutation(USEFUL + USELESS)
    x = X[:, order[:USEFUL]]
    y = np.sin(6 * x[:, 0]) + 2 * x[:, 1] * x[:, 2] + np.abs(x[:, 3] - 0.5) + x[:, 4] ** 2
    y = y + 0.1 * rng.normal(size=len(y))
    task = Task("made", "made", "numbers")
    data = Split(task, X[:MADE_ROWS], y[:MADE_ROWS], X[MADE_ROWS:], y[MADE_ROWS:])
    model = quietly(lambda: learner(task).fit(data.X, data.y))
    found = set(np.argsort(-model.relevance_)[:USEFUL].tolist())
    few = Split(
        task, data.X[:, order[:USEFUL]], data.y, data.X_test[:, order[:USEFUL]], data.y_test
    )
    alone = quietly(lambda: learner(task).fit(few.X, few.y))
    errors = data.error(model), few.error(alone)
    print(f"\nmade data: RMSE {errors[0]:.4f}, {errors[1]:.4f} on the five useful columns alone")
    right = found == set(order[:USEFUL].tolist())
    text = f"made data: relevance finds {len(found & set(order[:USEFUL].tolist()))} of the 5"
    near = errors[0] <= 1.1 * errors[1]
    ratio = (
        f"made data: {errors[0] / errors[1]:.3f} times the error on the five, target at most 1.1"
    )
    return {"errors": errors}, [target(text, right), target(ratio, near)]


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the seconds of the shortest of several runs."""
    return min(timed(work)[1] for _ in range(repeats))


def loaded(task: Task, given: argparse.Namespace) -> Split:
    """Return a data set, of a trial a few rows; a tiny fit compiles what is timed later."""
    data = split(task, given.data, given.quick)
    few = slice(None, None, max(1, len(data.X) // 3_500))  # as many as have scales learned
    quietly(lambda: learner(task, max_seconds=60).fit(data.X[few], data.y[few]))
    return data


PARTS = {
    1: ("covtype", part_covtype),
    2: ("regression", part_regression),
    3: ("all", part_all),
    4: ("costs", part_costs),
    5: ("made", part_made),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--parts", default="1,2,3,4,5", help="numbers, with commas between")
    names = ",".join(TASKS)
    parser.add_argument(
        "--sets", default=names, help="of part 3; boosting on mnist takes half an hour"
    )
    parser.add_argument("--quick", action="store_true", help="a few rows, to try the script out")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    introduce("Learned scales beside gradient boosting" + ", A TRIAL" * given.quick)
    record: dict[str, Any] = {"targets": []}
    for part in sorted({int(part) for part in given.parts.split(",")}):
        name, work = PARTS[part]
        begin = perf_counter()
        record[name], verdicts = work(given)
        record["targets"] += verdicts
        print(f"\n(part {part} took {perf_counter() - begin:.0f} s)")
    save_record("tuning" + "_quick" * given.quick, record)
    missed = [verdict for verdict in record["targets"] if not verdict["met"]]
    print(f"{len(record['targets']) - len(missed)} targets met, {len(missed)} missed")


if __name__ == "__main__":
    main()
