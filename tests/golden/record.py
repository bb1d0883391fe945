"""Record the golden results: PYTHONPATH=src:tests python -m golden.record [results | models | NAME]

"results" writes `results.json` anew: after a change of results that is meant, or on a new reference
platform. The commit says why the results changed.

NAME, such as "KernelRegressor: outputs", writes one case anew, with the platform of its own.

"models" adds the model files and checkpoints that are missing, with their predictions in
`models.json`. A file that is there is never written again: it stands for the version that wrote it.

No test runs this.
"""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

from golden import comparison, components, machines, stored_models
from golden.comparison import FOLDER, read, recorded, this_platform, write

FEW = 4  # numbers of a case that is one of a thousand


def record_results():
    """Write the predictions of all cases."""
    known = {"platform": this_platform()}
    for pair in components.pairs():
        for name, found in components.outcomes(pair).items():
            known[name] = recorded(found, FEW)
    for name, case in machines.cases().items():
        known[name] = recorded(case())
    write(FOLDER / "results.json", known)


def record_case(name):
    """Write the predictions of one case of a machine, or of a solver on features with a loss."""
    path, pair = FOLDER / "results.json", name.rpartition(", ")[0]
    known, every = read(path), machines.cases()
    found = every[name]() if name in every else components.outcomes(pair)[name]
    known[name] = recorded(found, comparison.FEW if name in every else FEW) | {
        "platform": this_platform()
    }
    write(path, known)


def record_models():
    """Write the model files that are missing."""
    path = FOLDER / "models.json"
    known = read(path) if path.exists() else {}
    for name, write_file in stored_models.cases().items():
        if name not in known:
            known[name] = {"platform": this_platform()} | write_file()
            write(path, known)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = sys.argv[1:] or ["results", "models"]
    if "results" in parts:
        record_results()
    if "models" in parts:
        record_models()
    for name in sorted(set(parts) - {"results", "models"}):
        record_case(name)
