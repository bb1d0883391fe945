"""Is anything lost when calls to the system fail, memory ends, a disk is full, or by SIGKILL?

`--sweep` lets each open, read, write, synchronisation, map and rename fail in turn while a model,
a checkpoint, rows, a report or predictions are written (`fault_sweep.py`), and each allocation
above a megabyte of small fits (`fault_memory.py`); fills a disk, and lets files shrink while they
are read (`fault_disks.py`); and kills fits and saves at random moments (`fault_kills.py`), a
thousand by default; without it, kills alone. After each: the file is the old one or the new one,
the estimator is as it was, and a fit resumes to the bits of one that nobody killed. The exit code
is 1 if anything was lost.

python benchmarks/faults.py [--sweep] [--kills 50] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from pathlib import Path

from fault_disks import full_disk, read_only_folder, shrinking_files
from fault_kills import SOLVERS, killed_fits, killed_saves
from fault_memory import allocations
from fault_sweep import SCENARIOS, sweep


def swept() -> int:
    """Let each call fail in turn; return how many faults were found."""
    print(f"{'each call fails in turn':<28} {'calls':>6} {'failed':>7} {'went on':>8} {'lost':>5}")
    lost = 0
    for kind in SCENARIOS:
        for lasting in (False, True):
            found = sweep(kind, lasting=lasting)
            went_on = found.ends["went on"]
            refused = found.failed - went_on
            print(
                f"{found.name:<28} {found.failed:>6} {refused:>7} {went_on:>8} {len(found.lost):>5}"
            )
            print(*found.lost[:5], sep="\n", end="\n" if found.lost else "", flush=True)
            lost += len(found.lost)
    return lost


def kills(count: int, seed: int, folder: Path) -> int:
    """Kill fits by every solver and saves; return how many were not good."""
    chance, shares = random.Random(seed), len(SOLVERS) + 1
    print(f"\n{'killed during':<28} {'kills':>6} {'with a file':>12} {'good':>6}", flush=True)
    lost = 0
    for place, name in enumerate([*SOLVERS, None]):
        share = count // shares + (place < count % shares)
        row = (
            killed_saves(share, chance, folder)
            if name is None
            else killed_fits(name, share, chance, folder)
        )
        print(f"{row.what:<28} {row.kills:>6} {row.files:>12} {row.good:>6}", flush=True)
        lost += row.kills - row.good
    return lost


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lost = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if arguments.sweep:
            lost += swept() + allocations() + full_disk(folder) + shrinking_files(folder)
            lost += read_only_folder(folder)
        count = (1000 if arguments.sweep else 50) if arguments.kills is None else arguments.kills
        lost += kills(count, arguments.seed, folder)
    print(f"\n{'nothing is lost' if not lost else f'{lost} LOST'}")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
