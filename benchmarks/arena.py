"""Do our defaults win on tables as they come? python benchmarks/arena.py --data DIR

The tables of DIR/arena (text, missing cells, raw numbers) and the sets of DIR, each with its given
split or with --folds 3, against gradient boosting with its defaults and with tuned defaults, a
forest and scaled kernel machines. A line of figures for each fit is added to a file of lines, so
that a run can be continued; --report only reads it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from arena_peers import ESTIMATES, METHODS
from arena_ranking import Scores
from common import (
    COLOURS,
    RESULTS,
    data_argument,
    introduce,
    load,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
    timed,
)

SETS = (
    "a9a", "california", "cod-rna", "covtype", "ijcnn1",
    "kin40k", "letter", "mnist", "protein", "qm7",
)  # fmt: skip
FEW_ROWS = 3_000
OURS = "Bochner"
BOOSTING = ("LightGBM", "LightGBM tuned", "CatBoost", "CatBoost tuned", "XGBoost", "XGBoost tuned",
            "histogram boosting", "ChimeraBoost")  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A table, split into training and test rows."""

    name: str
    fold: int
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    labels: bool


@dataclass(frozen=True)
class Line:
    """The figures of one fit; `log_loss` is None for numbers, `failed` says why there are none.

    `processor` is the time of all threads in seconds, `estimate` the error that our search expects,
    and `deviation` the standard deviation of targets that are numbers.
    """

    table: str
    fold: int
    method: str
    rows: int
    labels: bool
    error: float | None = None
    log_loss: float | None = None
    seconds: float | None = None
    failed: str = ""
    processor: float | None = None
    estimate: float | None = None
    deviation: float = 1.0


def tables_in(folder: Path) -> list[str]:
    """Return the names of the tables and sets."""
    names = sorted(path.name.split(".")[0] for path in (folder / "arena").glob("*.parquet"))
    return [*names, *(name for name in SETS if (folder / f"{name}.npz").exists())]


def tasks_of(folder: Path, name: str, folds: int) -> Iterator[Task]:
    """Yield the given split, or so many folds of all rows of a table."""
    paths = list((folder / "arena").glob(f"{name}.*.parquet"))
    if not paths:
        yield _set(folder, name)
        return
    frame = pd.read_parquet(paths[0])
    labels = ".labels." in paths[0].name
    test, y = frame.pop("fold").to_numpy() == 1, frame.pop("target").to_numpy()
    y = np.unique(y, return_inverse=True)[1] if labels else y.astype(np.float64)
    splits: Any = [(np.flatnonzero(~test), np.flatnonzero(test))]
    if folds:
        kind = StratifiedKFold if labels else KFold
        splits = kind(folds, shuffle=True, random_state=0).split(frame, y)
    for fold, (rows, rest) in enumerate(splits):
        yield Task(name, fold, frame.iloc[rows], y[rows], frame.iloc[rest], y[rest], labels)


def _set(folder: Path, name: str) -> Task:
    X, y, X_test, y_test = load(folder, name)
    labels = y.dtype.kind != "f"
    if labels:
        y, y_test = np.split(
            np.unique(np.concatenate([y, y_test]), return_inverse=True)[1], [len(y)]
        )
    names = [f"c{j}" for j in range(X.shape[1])]
    frames = (pd.DataFrame(rows, columns=names) for rows in (X, X_test))
    return Task(name, 0, next(frames), y, next(frames), y_test, labels)


def fit(task: Task, method: str) -> Line:
    """Fit one method to a table."""
    known = (task.name, task.fold, method, len(task.X), task.labels)
    ESTIMATES.clear()
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, seconds = timed(
                lambda: METHODS[method](task.X, task.y, task.X_test, task.labels)
            )
    except Exception as error:
        return Line(*known, failed=f"{type(error).__name__}: {error}"[:200])
    more = {
        "processor": time.process_time() - began,
        "estimate": ESTIMATES[0] if ESTIMATES else None,
    }
    if not task.labels:
        error = float(np.sqrt(np.mean((found - task.y_test) ** 2)))
        return Line(*known, error, None, seconds, deviation=float(np.std(task.y)), **more)
    wrong = float(np.mean(found.argmax(axis=1) != task.y_test))
    loss = log_loss(task.y_test, found, labels=np.arange(found.shape[1]))
    return Line(*known, wrong, float(loss), seconds, **more)


# ------------------------------------------------------------- the report


def scores(lines: Sequence[Line], methods: Sequence[str], figure: str) -> Scores:
    """Return a figure of each method and table, the mean over folds."""
    names = sorted({line.table for line in lines if getattr(line, figure) is not None})
    values = np.full((len(names), len(methods)), np.nan)
    for i, name in enumerate(names):
        for j, method in enumerate(methods):
            of = [line for line in lines if line.table == name and line.method == method]
            found = [getattr(line, figure) for line in of]
            if found and None not in found:
                values[i, j] = np.mean(found)
    return Scores(names, methods, values)


def report(lines: Sequence[Line]) -> dict[str, Any]:
    """Print all tables; return them for the record."""
    methods = [name for name in METHODS if any(line.method == name for line in lines)]
    rows = {line.table: line.rows for line in lines}
    record: dict[str, Any] = {}
    for figure in ("error", "log_loss"):
        found = scores(lines, methods, figure)
        few = np.array([rows[name] <= FEW_ROWS for name in found.tables], bool)
        for title, part in (
            ("all tables", found),
            (f"up to {FEW_ROWS:,} rows", found.only(few)),
            (f"over {FEW_ROWS:,} rows", found.only(~few)),
        ):
            if part.tables:
                print(f"\n{figure.replace('_', ' ')}, {title}: {len(part.tables)}")
                record[f"{figure}, {title}"] = ranking(part)
    each = scores(lines, methods, "error")
    losses = scores(lines, methods, "log_loss")
    print()
    table(["error", "rows", *methods], _cells(each, rows))
    print()
    table(["log loss", "rows", *methods], _cells(losses, rows))
    seconds = scores(lines, methods, "processor")
    print()
    table(["processor time", "rows", *methods], _cells(seconds, rows))
    print()
    table(["total", *methods], [["", *np.nansum(seconds.values, axis=0).tolist()]])
    record["targets"] = targets(each, losses, seconds, rows) if OURS in methods else []
    return record


def _cells(found: Scores, rows: dict[str, int]) -> list[list[Any]]:
    lines = zip(found.tables, found.values, strict=True)
    return [[name, rows[name], *(float(v) for v in line)] for name, line in lines]


def ranking(part: Scores) -> list[dict[str, Any]]:
    """Print mean rank, Elo and our ratio to each method."""
    ranks, (elo, low, high) = part.mean_ranks(), part.elo()
    lines = []
    for j in np.argsort(ranks):
        name = part.methods[j]
        line = {"method": name, "mean rank": float(ranks[j]), "Elo": float(elo[j])}
        line |= {"from": float(low[j]), "to": float(high[j])}
        if OURS in part.methods:
            line["our error / its"] = part.ratio(OURS, name)
            line["we are no worse on"] = "{} of {}".format(*part.wins(OURS, name))
        lines.append(line)
    table(list(lines[0]), [list(line.values()) for line in lines])
    return lines


def targets(
    errors: Scores, losses: Scores, seconds: Scores, rows: dict[str, int]
) -> list[dict[str, Any]]:
    """Print what was to be shown, and whether it is."""
    found = []
    methods = list(errors.methods)
    print()
    for title, part in (("error", errors), ("log loss", losses)):
        ranks = part.mean_ranks()
        first = methods[int(np.argmin(ranks))]
        text = f"mean rank first by {title}: {first}, ours {ranks[methods.index(OURS)]:.2f}"
        found.append(target(text, first == OURS))
    boosting = [name for name in BOOSTING if name in methods]
    best = min(boosting, key=lambda name: -losses.ratio(OURS, name), default=None)
    if best is not None:
        ratio = losses.ratio(OURS, best)
        text = f"log loss at most 0.98 of the best boosting library's ({best}): {ratio:.3f}"
        found.append(target(text, ratio <= 0.98))
    for mine, peer in ((OURS, "LightGBM tuned"), (f"{OURS} 1", "LightGBM")):
        if mine in methods and peer in methods:
            both = np.stack([seconds.column(m) for m in (mine, peer)])
            ours, theirs = both[:, ~np.isnan(both).any(axis=0)].sum(axis=1)
            text = f"processor time of {mine} at most that of {peer}: {ours:.0f} s, {theirs:.0f} s"
            found.append(target(text, ours <= theirs))
    for mine, peer, share in ((OURS, "CatBoost", 0.5), (f"{OURS} 5", "CatBoost tuned", 0.6)):
        if mine in methods and peer in methods:
            wins, count = errors.wins(mine, peer)
            text = f"{mine} no worse than {peer} on {share:.0%} of the tables: {wins} of {count}"
            found.append(target(text, wins >= share * count))
    if f"{OURS} 1" in methods and "random forest" in methods:
        ratio = errors.ratio(f"{OURS} 1", "random forest")
        found.append(target(f"{OURS} 1 has less error than the forest: {ratio:.3f}", ratio < 1))
    if all(name.startswith(OURS) for name in methods):
        return found
    few = errors.only([rows[name] <= FEW_ROWS for name in errors.tables])
    others = [j for j, name in enumerate(methods) if not name.startswith(OURS)]
    worse = []
    for name, line in zip(few.tables, few.values, strict=True):
        ratio = line[methods.index(OURS)] / max(np.nanmin(line[others]), 1e-9)
        if ratio > 1.1:
            worse.append(f"{name} {ratio:.2f}")
    text = f"up to {FEW_ROWS:,} rows no table more than 10% worse than the best peer: {worse}"
    found.append(target(text, not worse))
    return found


def draw(lines: Sequence[Line]) -> None:
    """Draw mean relative error against total time."""
    plt = pyplot()
    if plt is None:
        return
    methods = [name for name in METHODS if any(line.method == name for line in lines)]
    errors, seconds = (scores(lines, methods, what) for what in ("error", "processor"))
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    relative = np.log(np.maximum(errors.values, 1e-3))
    relative = np.exp(np.nanmean(relative - np.nanmin(relative, axis=1, keepdims=True), axis=0))
    total = np.nansum(seconds.values, axis=0)
    for name, x, y in zip(methods, total, relative, strict=True):
        ours = name.startswith(OURS)
        axes.plot(x, y, "o" if ours else "s", color=COLOURS[0] if ours else COLOURS[1])
        axes.annotate(name, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8)
    label = "processor time of all tables in seconds"
    axes.set(xscale="log", xlabel=label, ylabel="error, times the best method's")
    axes.set_title("Error against time on all tables")
    save_picture("arena", figure)


def draw_estimates(lines: Sequence[Line]) -> None:
    """Draw the error on test rows against the one that the search expects of held-out rows."""
    plt = pyplot()
    ours = [one for one in lines if one.method == OURS and one.estimate and one.error]
    if plt is None or not ours:
        return
    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
    for labels, name, mark in ((True, "wrong labels", "o"), (False, "RMSE / deviation", "s")):
        part = [one for one in ours if one.labels is labels]
        places = [[one.estimate / one.deviation, one.error / one.deviation] for one in part]
        axes.plot(*np.reshape(places, (-1, 2)).T, mark, color=COLOURS[int(labels)], label=name)
    axes.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    axes.set(xlabel="error that the search expects", ylabel="error on test rows")
    axes.legend()
    save_picture("arena_estimates", figure)


def read_lines(path: Path) -> list[Line]:
    """Return the lines of earlier runs; a later line replaces an earlier one."""
    if not path.exists():
        return []
    lines = [Line(**json.loads(text)) for text in path.read_text().splitlines()]
    return list({(line.table, line.fold, line.method): line for line in lines}.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_argument(parser)
    parser.add_argument("--folds", type=int, default=0, help="folds in place of the given split")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--tables", nargs="*", help="some tables only")
    parser.add_argument("--lines", type=Path, help="where the figures of each fit are kept")
    parser.add_argument("--again", action="store_true", help="repeat fits that are known")
    parser.add_argument("--report", action="store_true", help="only report what is known")
    options = parser.parse_args()
    introduce("Do our defaults win on tables as they come?")
    path = options.lines or RESULTS / ("arena.jsonl" if not options.folds else "arena_folds.jsonl")
    path.parent.mkdir(exist_ok=True)
    known = {(line.table, line.fold, line.method) for line in read_lines(path)}
    for name in [] if options.report else options.tables or tables_in(options.data):
        for task in tasks_of(options.data, name, options.folds):
            for method in options.methods:
                if (name, task.fold, method) in known and not options.again:
                    continue
                line = fit(task, method)
                print(f"{name} {task.fold} {method}: {line.failed or _short(line)}", flush=True)
                with path.open("a") as file:
                    file.write(json.dumps(asdict(line)) + "\n")
    chosen = options.tables or tables_in(options.data)
    lines = [line for line in read_lines(path) if line.table in chosen]
    lines = [line for line in lines if line.method in options.methods]
    record = report(lines)
    draw(lines)
    draw_estimates(lines)
    save_record("arena", record)


def _short(line: Line) -> str:
    loss = "" if line.log_loss is None else f", log loss {line.log_loss:.4f}"
    return f"error {line.error:.4g}{loss}, {line.seconds:.1f} s"


if __name__ == "__main__":
    main()
