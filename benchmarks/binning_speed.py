"""Part 4: rows a second in prediction, with millions of bins and with few."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from binning_sets import COVTYPE, Setting, Split, fitted, split
from common import rounds, table, target

PREDICTED_ROWS = 500_000
RUNS = 5
FEW_BINS = 500_000
LEAST_ROWS, LEAST_ROWS_FEW = 0.5e6, 1e6


def predict_all(
    given: argparse.Namespace, setting: Setting, grids: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Time predictions; return the figures and the verdicts."""
    print(f"\nPart 4. Prediction, best of {RUNS}, test rows repeated.")
    data = split(COVTYPE, given.data, given.quick)
    wide, model = with_few_bins(data, setting, grids)
    lines = [speed(data, fitted(data, setting, grids), setting), speed(data, model, wide)]
    titles = list(lines[0])
    table(titles, [list(line.values()) for line in lines])
    goals = (LEAST_ROWS, LEAST_ROWS_FEW)
    return lines, [judged(line, goal) for line, goal in zip(lines, goals, strict=True)]


def with_few_bins(data: Split, setting: Setting, grids: int) -> tuple[Setting, Any]:
    """Return a model with fewer than 500,000 bins, the bandwidth as small as that allows."""
    most = FEW_BINS if len(data.X) > 100_000 else len(data.X)
    wide, model = setting, None
    while model is None or model.binning_.bins >= most:
        wide = replace(wide, bandwidth=1.3 * wide.bandwidth)
        model = fitted(data, wide, grids)
    return wide, model


def speed(data: Split, model: Any, setting: Setting) -> dict[str, Any]:
    """Return rows a second of `predict`."""
    rows = PREDICTED_ROWS if len(data.X) > 100_000 else 20_000
    X = data.X_test[np.arange(rows) % len(data.X_test)]
    times = rounds({"predict": lambda: model.predict(X)}, RUNS)["predict"]
    return {
        "bandwidth": setting.bandwidth,
        "grids": model.binning_.grids,
        "bins": model.binning_.bins,
        "test error": f"{data.error(model):.2%}",
        "seconds": f"{times.best:.3f}",
        "worst": f"+{times.spread:.0%}",
        "rows/s": round(rows / times.best),
    }


def judged(line: dict[str, Any], goal: float) -> dict[str, Any]:
    """Print whether prediction is fast enough."""
    text = f"{line['rows/s']:,} rows a second with {line['bins']:,} bins, target {goal:,.0f}"
    return target(text, line["rows/s"] >= goal)
