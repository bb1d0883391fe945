"""How many fresh rows do intervals of two quantiles hold, on made and on real data?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bochner import KernelQuantileRegressor
from common import data_argument, introduce, load, save_record, table, target

SHARES = (0.05, 0.95)
LOW, HIGH = 0.88, 0.92  # of the rows in an interval of 90%
DEVIATIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
ROWS, FRESH = (1_000, 4_000), 10_000
SEEDS = range(2)
SETS = ("california", "kin40k", "protein")


class Case(NamedTuple):
    """Rows to learn from, and fresh ones."""

    name: str
    X: Any
    y: np.ndarray
    fresh: Any
    target: np.ndarray


def waves(rows: int, deviation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of y = sin(2 x) with normal noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=rows)
    return x[:, None], np.sin(2 * x) + deviation * rng.normal(size=rows)


def made() -> Iterator[Case]:
    """Yield made data, by rows, noise and seed."""
    for rows in ROWS:
        for deviation in DEVIATIONS:
            for seed in SEEDS:
                name = f"sin(2x), {rows:,} rows, noise {deviation:g}, seed {seed}"
                fresh = waves(FRESH, deviation, seed + 100)
                yield Case(name, *waves(rows, deviation, seed), *fresh)


def real(folder: Path) -> Iterator[Case]:
    """Yield sets of numbers, and the tables of numbers in the folder `arena`."""
    import pandas as pd

    for name in SETS:
        yield Case(name, *load(folder, name))
    for path in sorted((folder / "arena").glob("*.numbers.parquet")):
        rows = pd.read_parquet(path)
        fresh, y = rows.pop("fold").to_numpy() == 1, rows.pop("target").to_numpy()
        yield Case(path.name.split(".")[0], rows[~fresh], y[~fresh], rows[fresh], y[fresh])


def covered(case: Case) -> dict[str, Any]:
    """Return the shares of fresh rows below, in and above the interval."""
    model = KernelQuantileRegressor(SHARES, random_state=0).fit(case.X, case.y)
    low, high = model.predict(case.fresh).T
    inside = (low <= case.target) & (case.target <= high)
    return {
        "name": case.name,
        "solver": str(model.plan_.solver),
        "below": float(np.mean(case.target < low)),
        "inside": float(np.mean(inside)),
        "above": float(np.mean(case.target > high)),
        "width": float(np.mean(high - low) / case.y.std()),
        "score": model.score(case.fresh, case.target),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    given = parser.parse_args()
    introduce("Coverage of 90% intervals on fresh rows")
    lines = [covered(case) for case in (*made(), *real(given.data))]
    heads = ("data", "solver", "below", "inside", "above", "width / deviation", "D2")
    parts = ("below", "inside", "above", "width", "score")
    table(heads, [(x["name"], x["solver"], *(f"{x[k]:.3f}" for k in parts)) for x in lines])
    met = [LOW <= line["inside"] <= HIGH for line in lines]
    verdict = target(f"{LOW:.0%} to {HIGH:.0%} inside in {sum(met)} of {len(met)}", all(met))
    save_record("quantile_coverage", {"lines": lines, "targets": [verdict]})


if __name__ == "__main__":
    main()
