"""Do the readers survive broken and hostile files: no crash, no hang, memory within its limit?

Mutants of CSV, svmlight, .npy, .npz and Parquet files, model files and checkpoints are read until
the time is over. A mutant has to be read or refused by a sentence of ours within 20 seconds of
processor time and 512 MB more than the process has at first; any other error is a failure. Failures
are kept, and the run goes on after them; the exit code is 1 if there were any.

python benchmarks/fuzz.py [--hours 1 | --seconds 20 | --mutants 1000] [--target csv] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from fuzz_arrays import Npy, Npz, Parquet
from fuzz_harness import Outcome, Target, watched
from fuzz_model import CheckpointFile, Model
from fuzz_text import Csv, Svmlight

KINDS: tuple[Callable[[], Target], ...]
KINDS = (Csv, Svmlight, Npy, Npz, Parquet, Model, CheckpointFile)
TARGETS: dict[str, Callable[[], Target]] = {kind.name: kind for kind in KINDS}  # type: ignore[attr-defined]
SHOWN = 10


def line(found: Outcome) -> str:
    verdict = f"{len(found.failures)} FAILED" if found.failures else "no crash, no hang"
    return (
        f"{found.name:<11} {found.mutants:>11,} {found.read:>10,} {found.refused:>11,} "
        f"{found.cpu:>8.0f}  {verdict}"
    )


def main() -> int:
    """Share the time among the targets; print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1 / 6)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--mutants", type=int, default=1 << 47, help="of each target, at most")
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seconds = 3600 * arguments.hours if arguments.seconds is None else arguments.seconds
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    kinds = [TARGETS[name]() for name in names]
    total = sum(kind.share for kind in kinds)
    print(f"{'target':<11} {'mutants':>11} {'read':>10} {'refused':>11} {'CPU s':>8}")
    sums = Outcome("all")
    for kind in kinds:
        share = seconds * kind.share / total
        made = TARGETS[kind.name]
        found = watched(made, arguments.seed, seconds=share, most=arguments.mutants)
        print(line(found), *found.failures[:SHOWN], sep="\n  ", flush=True)
        sums.read, sums.refused = sums.read + found.read, sums.refused + found.refused
        sums.cpu += found.cpu
        sums.failures += found.failures
    print(line(sums))
    return bool(sums.failures)


if __name__ == "__main__":
    sys.exit(main())
