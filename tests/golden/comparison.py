"""What is compared: digests on the platform of the record, a few numbers on others.

Compared are predictions, coefficients, and the numbers of the history. Not compared, since they
may change without any change of results: texts (reasons for stopping, plans, warnings, `repr`),
times, and `history_["rows"]` of solvers that go by groups of functions.
"""

import hashlib
import json
import platform
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from threadpoolctl import threadpool_info

from bochner.solvers import Backfitting, CoordinateDescent, Solver

FOLDER = Path(__file__).parent
METHODS = ("decision_function", "predict", "predict_proba", "score_samples", "transform")
COEFFICIENTS = {  # attributes, and the names under which they were recorded first
    "alpha_": "alpha_",
    "weights_": "coef_",
    "intercept_": "intercept_",
    "kl_divergence_": "kl_divergence_",
    "n_features_used_": "n_features_used_",
    "noise_": "noise_",
    "offset_": "offset_",
    "relevance_": "relevance_",
}
HISTORY = ("pass_", "step", "rows", "loss", "held_out_loss", "size")
PARTS = ("predictions", "coefficients", "history")
FEW = 8  # numbers that are kept beside the digests
TOLERANCE = 1e-3  # of the targets' deviation, which is about 1, or of the largest number
DIGITS = 16  # of a digest


def this_platform():
    """Return all that the last bits of a result may depend on."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {'-'.join(platform.libc_ver())}",
        "cpu": numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name(),
        "cpu_features": [*simd["baseline"], *simd["found"]],
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "blas": sorted({_library(one) for one in threadpool_info() if one["user_api"] == "blas"}),
    }


def _library(known):
    return " ".join(str(known.get(key)) for key in ("internal_api", "version", "architecture"))


def outcome(model, rows):
    """Return the arrays of a fitted model that may not change, by part."""
    predicted = {name: getattr(model, name)(rows) for name in METHODS if hasattr(model, name)}
    learned = {
        first_name: getattr(model, name)
        for name, first_name in COEFFICIENTS.items()
        if hasattr(model, name)
    }
    return {"predictions": predicted, "coefficients": learned, "history": _history(model)}


def _history(model):
    known = getattr(model, "history_", {})
    names = [
        name for name in HISTORY if name in known and not (name == "rows" and by_groups(model))
    ]
    told = {name: np.array(known[name], np.float64) for name in names}
    return told | ({"n_iter_": np.array(model.n_iter_)} if hasattr(model, "n_iter_") else {})


def by_groups(model):
    """Whether the solver goes by groups of functions, whose count of rows is to be corrected."""
    plan = getattr(model, "plan_", None)
    return plan is not None and isinstance(
        Solver.resolve(plan.solver), Backfitting | CoordinateDescent
    )


def recorded(found, few=FEW):
    """Return what is kept of an outcome: a digest for each part, and a few predictions."""
    kept = {part: _digest(found[part]) for part in PARTS if found.get(part)}
    return kept | {"numbers": _numbers(found["predictions"], few)}


def _digest(arrays):
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = _plain(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:DIGITS]


def _plain(array):
    array = np.asarray(array.toarray() if sp.issparse(array) else array)
    return array.astype("U") if array.dtype.kind == "O" else array


def _numbers(predictions, few):
    """Return numbers from all over the first array of numbers."""
    plain = (_plain(array).ravel() for array in predictions.values())
    flat = next(array for array in plain if array.dtype.kind == "f")
    return [float(flat[place]) for place in np.linspace(0, flat.size - 1, few).astype(int)]


def difference(kept, found, same_platform, tolerance=TOLERANCE, signed=True):
    """Return in words how an outcome differs from the one that was recorded, "" if it does not.

    `tolerance` and `signed` are for other platforms: numbers without signs may have either.
    """
    now = recorded(found, len(kept["numbers"]))
    before, after = np.array(kept["numbers"]), np.array(now["numbers"])
    if same_platform:
        changed = [part for part in PARTS if kept.get(part) != now.get(part)]
    else:
        allowed = tolerance * max(1.0, np.abs(before).max())
        gaps = after - before if signed else np.abs(after) - np.abs(before)
        changed = ["predictions"] if not (np.abs(gaps) <= allowed).all() else []
    if not changed:
        return ""
    gap = np.abs(after - before).max()
    return (
        f"{', '.join(changed)} changed; {len(before)} predictions differ by up to {gap:.3g} "
        f"({before.tolist()} were recorded, {after.tolist()} found)"
    )


def write(path, known):
    """Write records as JSON, a line for each case."""
    lines = [f" {json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read(path):
    """Return the records of a file."""
    return json.loads(path.read_text())
