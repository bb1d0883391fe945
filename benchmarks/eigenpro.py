"""Does EigenPro reach the exact kernel machine in a few passes, and what do its neighbours do?

Six parts: 1 MNIST beside Pegasos and an SVC (Ma and Belkin 2017, Table 3); 2 the same with random
Fourier features; 3 the cost of the preconditioner; 4 tables, beside scikit-learn and NumPy;
5 growth with the rows; 6 solver="auto" beside every solver.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import Any

from common import data_argument, introduce, save_record
from eigenpro_auto import compare_solvers
from eigenpro_features import race_of_features
from eigenpro_growth import measure_growth
from eigenpro_mnist import race_on_mnist
from eigenpro_overhead import price_eigenvectors
from eigenpro_search import search_all
from eigenpro_tables import compare_tables

PARTS = {
    1: ("mnist", race_on_mnist),
    2: ("features", race_of_features),
    3: ("overhead", price_eigenvectors),
    4: ("tables", compare_tables),
    5: ("growth", measure_growth),
    6: ("auto", compare_solvers),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--parts", default="1,2,3,4,5,6", help="numbers, with commas between")
    text = "a random part of the training rows, to try the script out"
    parser.add_argument("--rows", type=int, default=None, help=text)
    parser.add_argument("--minutes", type=float, default=10, help="for a fit of part 6")
    text = "search for the kernels that are in eigenpro_common.py, and do nothing else"
    parser.add_argument("--search", action="store_true", help=text)
    given = parser.parse_args()
    given.parts = sorted({int(part) for part in given.parts.split(",")})
    if not set(given.parts) <= set(PARTS):
        parser.error(f"--parts are numbers from 1 to {len(PARTS)}; got {given.parts}.")
    return given


def main() -> None:
    given = arguments()
    sys.stdout.reconfigure(line_buffering=True)  # it takes long: show what there is
    trial = given.rows is not None
    introduce("EigenPro and its neighbours" + ", A TRIAL: the figures mean nothing" * trial)
    if given.search:
        search_all(given)
        return
    record: dict[str, Any] = {"rows": given.rows, "targets": []}
    for part in given.parts:
        name, work = PARTS[part]
        begin = perf_counter()
        record[name], verdicts = work(given)
        record[f"{name} seconds"] = seconds = perf_counter() - begin
        record["targets"] += verdicts
        print(f"\n(part {part} took {seconds:.0f} s)")
    save_record("eigenpro_trial" if trial else "eigenpro", record)
    missed = [verdict for verdict in record["targets"] if not verdict["met"]]
    print(f"{len(record['targets']) - len(missed)} targets met, {len(missed)} missed")


if __name__ == "__main__":
    main()
