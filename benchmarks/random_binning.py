"""How good and how fast is random binning on tables, beside boosted trees and other features?

Five parts: 1 errors and times beside LightGBM, Nystroem and RBFSampler; 2 Figures 3 to 5 of Wu,
Yen et al. 2016; 3 L1 beside liblinear and racy coordinate descent (Figure 6); 4 prediction;
5 memory.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import Any

from binning_figures import draw_all
from binning_l1 import compare_l1
from binning_memory import weigh
from binning_sets import COVTYPE, Setting
from binning_speed import predict_all
from binning_tables import compare_all
from common import data_argument, introduce, save_record

GRIDS = 64
KNOWN = Setting(bandwidth=0.15, ridge=0.1)  # covtype's, where part 1 has not looked for them


def setting_of(record: dict[str, Any]) -> Setting:
    """Return what part 1 chose for covtype, if it has run."""
    for result in record.get("tables", ()):
        if result["set"] == COVTYPE.title:
            return Setting(**result["setting"])
    return KNOWN


def run_part(
    part: int, given: argparse.Namespace, record: dict[str, Any]
) -> tuple[str, Any, list[Any]]:
    """Run a part; return its name, its figures and its verdicts."""
    setting, grids = setting_of(record), 16 if given.quick else GRIDS
    match part:
        case 1:
            return "tables", *compare_all(given.data, given.quick)
        case 2:
            return "figures", draw_all(given.data, given.quick), []
        case 3:
            return "l1", *compare_l1(given, setting)
        case 4:
            return "prediction", *predict_all(given, setting, grids)
        case _:
            return "memory", *weigh(given, setting, grids)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--parts", default="1,2,3,4,5", help="numbers, with commas between")
    parser.add_argument("--quick", action="store_true", help="a few rows, to try the script out")
    parser.add_argument("--l1", type=float, default=1.0, help="alpha of part 3, times the rows")
    text = "that a run of liblinear may take, about; all its runs take twice that"
    parser.add_argument("--liblinear-seconds", type=float, default=120, help=text)
    given = parser.parse_args()
    given.parts = sorted({int(part) for part in given.parts.split(",")})
    if not set(given.parts) <= {1, 2, 3, 4, 5}:
        parser.error(f"--parts are numbers from 1 to 5; got {given.parts}.")
    return given


def main() -> None:
    given = arguments()
    sys.stdout.reconfigure(line_buffering=True)  # it takes long: show what there is
    introduce("Random binning on tables" + (", QUICK: the figures mean nothing" * given.quick))
    record: dict[str, Any] = {"quick": given.quick, "targets": []}
    for part in given.parts:
        begin = perf_counter()
        name, figures, verdicts = run_part(part, given, record)
        seconds = perf_counter() - begin
        record |= {name: figures, f"{name} seconds": seconds}
        record["targets"] += verdicts
        print(f"\n(part {part} took {seconds:.0f} s)")
    save_record("random_binning_quick" if given.quick else "random_binning", record)
    missed = [verdict for verdict in record["targets"] if not verdict["met"]]
    print(f"{len(record['targets']) - len(missed)} targets met, {len(missed)} missed")


if __name__ == "__main__":
    main()
