"""What does every public estimator make of bad inputs: a finite result, or which sentence?

The cases are those of tests/contracts/bad_inputs.py.

python benchmarks/bad_inputs.py [--estimator KernelRegressor] [--case weights]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from textwrap import shorten

from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from contracts.bad_inputs import CASES, estimators, outcome

WIDTH = 160


def main() -> None:
    """Print the answers of each estimator, and count them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimator", default="", help="a part of the name of an estimator")
    parser.add_argument("--case", default="", help="a part of the name of a case")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    unsound = 0
    for name, estimator in estimators().items():
        if options.estimator not in name:
            continue
        print(f"\n{name}")
        for case, make in CASES.items():
            if options.case not in case:
                continue
            answer = outcome(clone(estimator), make())
            counts[answer.kind] += 1
            unsound += not answer.is_sound
            text = answer.text if answer.kind == "sentence" else f"{answer.kind} {answer.text}"
            print(f"  {case:38s} {shorten(text, WIDTH)}")
    print(f"\n{dict(counts)}; neither finite nor a sentence: {unsound} (target: 0)")


if __name__ == "__main__":
    main()
