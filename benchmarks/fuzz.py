"""Do the readers survive broken and hostile files: no crash, no hang, memory within its limit?

Mutants of CSV, svmlight, .npy, .npz and Parquet files, model files and checkpoints are read until
the time is over or there were enough. A mutant has to be read or refused by a sentence of ours
within 20 seconds of processor time and 512 MB more than the process has at first; any other error
is a failure. Failures are kept, and the run goes on after them; the exit code is 1 if there were
any.

python benchmarks/fuzz.py [--hours 1 | --seconds 20] [--mutants 10000000] [--jobs 2]
                          [--rounds 10] [--target csv] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from fuzz_arrays import Npy, Npz, Parquet
from fuzz_harness import Outcome, Target, watched
from fuzz_model import CheckpointFile, Model
from fuzz_text import Csv, Svmlight

KINDS: tuple[Callable[[], Target], ...]
KINDS = (Csv, Svmlight, Npy, Npz, Parquet, Model, CheckpointFile)
TARGETS: dict[str, Callable[[], Target]] = {kind.name: kind for kind in KINDS}  # type: ignore[attr-defined]
SHOWN = 10
APART = 40  # bits between the numbers of the mutants of two processes


def line(found: Outcome) -> str:
    verdict = f"{len(found.failures)} FAILED" if found.failures else "no crash, no hang"
    return (
        f"{found.name:<11} {found.mutants:>11,} {found.read:>10,} {found.refused:>11,} "
        f"{found.cpu:>8.0f}  {verdict}"
    )


@dataclass(frozen=True)
class Part:
    """The mutants of a target that one process reads."""

    name: str
    seed: int
    first: int
    seconds: float
    most: int

    def run(self) -> Outcome:
        """Read them."""
        made = TARGETS[self.name]
        return watched(made, self.seed, seconds=self.seconds, most=self.most, first=self.first)


def parts(names: list[str], arguments: argparse.Namespace) -> list[Part]:
    """Share time and mutants among rounds, targets and processes."""
    kinds = [TARGETS[name]() for name in names]
    seconds = 3600 * arguments.hours if arguments.seconds is None else arguments.seconds
    times, counts = sum(k.time_share for k in kinds), sum(k.count_share for k in kinds)
    pieces = arguments.rounds * arguments.jobs
    return [
        Part(
            kind.name,
            arguments.seed,
            (round_ * arguments.jobs + job) << APART,
            seconds * kind.time_share / times / arguments.rounds,
            -(-int(arguments.mutants * kind.count_share / counts) // pieces),
        )
        for round_ in range(arguments.rounds)
        for kind in kinds
        for job in range(arguments.jobs)
    ]


def read_all(work: list[Part], names: list[str], arguments: argparse.Namespace) -> list[Outcome]:
    """Read the mutants of all parts; after each round say how many there were."""
    found = {name: Outcome(name) for name in [*names, "all"]}
    with ProcessPoolExecutor(arguments.jobs, get_context("fork")) as pool:
        for number, outcome in enumerate(pool.map(Part.run, work), 1):
            found[outcome.name].add(outcome)
            found["all"].add(outcome)
            if outcome.failures or number % (len(work) // arguments.rounds) == 0:
                print(line(found["all"]), *outcome.failures[:SHOWN], sep="\n  ", file=sys.stderr)
    return list(found.values())


def main() -> int:
    """Print a line for each target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1 / 6)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--mutants", type=int, default=1 << 40, help="of all targets, at most")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--rounds", type=int, default=1, help="of all targets")
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    outcomes = read_all(parts(names, arguments), names, arguments)
    print(f"{'target':<11} {'mutants':>11} {'read':>10} {'refused':>11} {'CPU s':>8}")
    for outcome in outcomes:
        print(line(outcome), *outcome.failures[:SHOWN], sep="\n  ")
    return bool(outcomes[-1].failures)


if __name__ == "__main__":
    sys.exit(main())
