"""What does each part of the defaults give? python benchmarks/arena_ablation.py --data DIR

The machine without one of its parts, on the tables of DIR/arena with their given split: the
geometric mean of its error over that of the defaults, and the least and largest such mean if any
one table is left out. A part that only one table wants would show there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arena_peers
from arena import FEW_ROWS, SETS, Line, fit, read_lines, scores, tables_in, tasks_of
from arena_ranking import LEAST_ERROR
from bochner.tuning import Tuning
from common import RESULTS, data_argument, introduce, save_record, table

DEFAULTS = "defaults"
VARIANTS: Mapping[str, dict[str, Any]] = {
    DEFAULTS: {},
    "one search": {"tuning": Tuning(searches=1)},
    "every column in every grid": {"tuning": Tuning(share=1.0)},
    "columns as they are": {"tuning": Tuning(warp=False)},
    "no scales": {"scales": None},
    "scales by held-out rows on few rows, too": {"scales": "learn"},
    "Laplacian kernel": {"kernel": "laplacian", "scales": "learn"},
    "softmax loss": {"loss": "softmax"},
    "quality 1": {"quality": 1},
    "quality 2": {"quality": 2},
    "quality 4": {"quality": 4},
    "quality 5": {"quality": 5},
}


def ratios(lines: Sequence[Line], figure: str, few: bool) -> list[list[Any]]:
    """Return a row for each variant: the mean ratio, and its range without one table."""
    chosen = [line for line in lines if (line.rows <= FEW_ROWS) is few]
    methods = [name for name in VARIANTS if any(line.method == name for line in chosen)]
    found = scores(chosen, methods, figure)
    logs = np.log(np.maximum(found.values, LEAST_ERROR))
    out = []
    for name, column in zip(methods, (logs - logs[:, [methods.index(DEFAULTS)]]).T, strict=True):
        gaps = column[~np.isnan(column)]
        if name != DEFAULTS and len(gaps) > 1:
            without = (gaps.sum() - gaps) / (len(gaps) - 1)
            edges = np.exp([gaps.mean(), without.min(), without.max()])
            out.append([name, len(gaps), *edges.tolist()])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_argument(parser)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--lines", type=Path, default=RESULTS / "arena_ablation.jsonl")
    options = parser.parse_args()
    introduce("What does each part of the defaults give?")
    options.lines.parent.mkdir(exist_ok=True)
    for name, settings in VARIANTS.items():
        arena_peers.METHODS[name] = partial(arena_peers.bochner, **settings)
    known = {(line.table, line.method) for line in read_lines(options.lines)}
    for name in (one for one in tables_in(options.data) if one not in SETS):
        task = next(iter(tasks_of(options.data, name, 0)))
        for variant in dict.fromkeys([DEFAULTS, *options.variants]):
            # The defaults are always fitted: the others are compared with them.
            if (name, variant) in known or (variant == "softmax loss" and not task.labels):
                continue
            line = fit(task, variant)
            print(f"{name}, {variant}: {line.failed or line.error}", flush=True)
            with options.lines.open("a") as file:
                file.write(json.dumps(asdict(line)) + "\n")
    lines, record = read_lines(options.lines), {}
    for figure in ("error", "log_loss"):
        for few, size in ((True, "up to"), (False, "over")):
            title = (
                f"{figure.replace('_', ' ')} over that of the defaults, {size} {FEW_ROWS:,} rows"
            )
            print(f"\n{title}")
            found = ratios(lines, figure, few)
            table(["variant", "tables", "ratio", "without one, least", "most"], found)
            record[title] = found
    save_record("arena_ablation", record)


if __name__ == "__main__":
    main()
