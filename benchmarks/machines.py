"""Every kernel machine beside the library that people use for it today, and beside the truth.

Six parts: 1 Gaussian processes; 2 quantiles; 3 corrupted targets; 4 novelty; 5 density ratios; 6 a
test of two samples. Each part is a script of its own as well.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import Any

from common import data_argument, introduce, save_record
from machines_gp import measure as processes
from machines_novelty import novelty
from machines_quantiles import draw as draw_quantiles
from machines_quantiles import quantiles, robust
from machines_ratio import ratio
from machines_two_sample import two_sample

PARTS = {
    1: ("Gaussian processes", processes),
    2: ("quantiles", lambda given: quantiles(given.data)),
    3: ("corrupted targets", lambda given: robust(given.data)),
    4: ("novelty", lambda given: novelty(given.data)),
    5: ("density ratios", lambda given: ratio()),
    6: ("two samples", lambda given: two_sample()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--parts", default="1,2,3,4,5,6", help="numbers, with commas between")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    introduce("Kernel machines")
    record: dict[str, Any] = {"targets": []}
    for part in sorted({int(part) for part in given.parts.split(",")}):
        name, work = PARTS[part]
        print(f"\nPart {part}. {name[0].upper()}{name[1:]}.")
        begin = perf_counter()
        record[name], verdicts = work(given)
        record["targets"] += verdicts
        if part == 2:
            draw_quantiles()
        print(f"\n(part {part} took {perf_counter() - begin:.0f} s)")
    save_record("machines", record)
    missed = [verdict for verdict in record["targets"] if not verdict["met"]]
    print(f"{len(record['targets']) - len(missed)} targets met, {len(missed)} missed")


if __name__ == "__main__":
    main()
