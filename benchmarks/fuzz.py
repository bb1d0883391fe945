"""Do parsers and model reader survive broken files: no crash, no hang, memory within its limit?

python benchmarks/fuzz.py [--minutes 10 | --seconds 20] [--target csv|svmlight|model|all] [--seed 0]
"""

from __future__ import annotations

import argparse
from importlib import import_module

TARGETS = {
    "csv": ("fuzz_text", "fuzz_csv"),
    "svmlight": ("fuzz_text", "fuzz_svmlight"),
    "model": ("fuzz_model", "fuzz"),
}


def main() -> None:
    """Share the time among the targets; an error of one is an error of the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    seconds = 60 * arguments.minutes if arguments.seconds is None else arguments.seconds
    for name in names:
        module, function = TARGETS[name]
        cases = getattr(import_module(module), function)(seconds / len(names), arguments.seed)
        print(f"{name}: {cases:,} cases in {seconds / len(names):.0f} s: no crash, no hang.")


if __name__ == "__main__":
    main()
