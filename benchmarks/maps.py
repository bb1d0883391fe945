"""Feature maps: how close to their kernels, how fast, and what for.

Four parts: 1 errors of kernel matrices at each size, beside scikit-learn's; 2 times to transform,
beside scikit-learn's, and Fastfood beside dense frequencies; 3 ways to draw frequencies in doubly
stochastic gradients on MNIST; 4 a gallery of kernels. Each part is a script of its own as well.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from time import perf_counter
from typing import Any

from common import data_argument, introduce, save_record

# Script and function of each part, imported when it is asked for.
PARTS = {
    1: ("errors", "maps_errors", "measure"),
    2: ("times", "maps_times", "measure"),
    3: ("MNIST", "maps_mnist", "measure"),
    4: ("gallery", "maps_gallery", "gallery"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--parts", default="1,2,3,4", help="numbers, with commas between")
    parser.add_argument("--quick", action="store_true", help="a trial with few rows and seeds")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    introduce("Feature maps")
    record: dict[str, Any] = {"quick": given.quick, "targets": []}
    for part in sorted({int(part) for part in given.parts.split(",")}):
        name, script, function = PARTS[part]
        print(f"\nPart {part}. {name[0].upper()}{name[1:]}.")
        begin = perf_counter()
        record[name], verdicts = getattr(import_module(script), function)(given)
        record["targets"] += verdicts
        print(f"\n(part {part} took {perf_counter() - begin:.0f} s)")
    save_record("maps", record)
    missed = [verdict for verdict in record["targets"] if not verdict["met"]]
    print(f"{len(record['targets']) - len(missed)} targets met, {len(missed)} missed")


if __name__ == "__main__":
    main()
