"""Does the reader of model files survive broken and hostile ones?

Files are changed at random, most of them with a digest that is right again, so that the checks
behind it are reached. A child loads them under a limit of memory: nothing but a ModelFileError may
come out, and a model that loads has to predict, or to refuse to, without taking the process along.

python benchmarks/fuzz_model.py [seconds] [seed]
"""

from __future__ import annotations

import random
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import bochner
from bochner import features, kernels
from model_mutations import mutated

COLUMNS = 4
ROOM = 1 << 30  # bytes beyond what the child has when it begins
PATIENCE = 60.0  # seconds for one file


def models() -> dict[str, Any]:
    """Return small models, one of each kind of basis."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, COLUMNS)))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    fit = {"max_passes": 1, "random_state": 0}
    labels = np.where(y > y.mean(), "oak", "ash")
    return {
        "bins": bochner.KernelRegressor(features=features.Binning(8), **fit).fit(X, y),
        "waves": bochner.KernelClassifier(solver="dsg", scale="standard", **fit).fit(X, labels),
        "centres": bochner.KernelRegressor(solver="eigenpro", **fit).fit(X, y),
        "fastfood": bochner.Fastfood(size=32, random_state=0).fit(X),
        "sketch": bochner.TensorSketch(size=32, random_state=0).fit(X),
        "additive": bochner.AdditiveHomogeneous(size=12).fit(X),
        "histograms": bochner.HistogramFourier(size=16, random_state=0).fit(X),
        "nystroem": bochner.NystroemMap(size=10, random_state=0).fit(X),
        "maclaurin": bochner.RandomMaclaurin(size=32, random_state=0).fit(X),
        "mixture": bochner.KernelRegressor(
            kernels.Gaussian(2.0) * kernels.ArcCosine() + kernels.ArcCosine().on([0, 1]),
            features=features.RandomFeatures(32), **fit,
        ).fit(X, y),
        "chosen": bochner.KernelRegressor(
            "gaussian", features=features.Leverage(size=16), **fit
        ).fit(X, y),
        "process": bochner.KernelGaussianProcess(
            "gaussian", features=features.Fourier(16)
        ).fit(X, y),
        "quantiles": bochner.KernelQuantileRegressor(
            [0.1, 0.9], features=features.Binning(8), **fit
        ).fit(X, y),
        "unfinished": _unfinished(X, y),
    }  # fmt: skip


def _unfinished(X: Any, y: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        kept = [bochner.Checkpoint(path, 0)]
        bochner.KernelRegressor(solver="dsg", random_state=0, callbacks=kept).fit(X, y)
        return bochner.load(path)


def fuzz(seconds: float, seed: int) -> int:
    """Return how many files were read; an error says which one was too much, and keeps it."""
    chance, end, count = random.Random(seed), monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "model", []
        for model in models().values():
            bochner.save(model, path)
            files.append(path.read_bytes())
        child = _child(folder, files)
        try:
            while monotonic() < end:
                changed = mutated(chance.choice(files), chance)
                path.write_bytes(changed)
                answer = _asked(child, path)
                if answer not in ("refused", "loaded"):
                    kept = Path(tempfile.gettempdir()) / f"fuzz-model-{seed}-{count}"
                    kept.write_bytes(changed)
                    raise AssertionError(f"{kept}: {answer}")
                count += 1
        finally:
            child.kill()
            child.wait()
    return count


def _child(folder: str, files: list[bytes]) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, __file__, "--child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for number, file in enumerate(files):
        path = Path(folder) / f"warm {number}"
        path.write_bytes(file)
        assert _asked(child, path) == "loaded"
    assert _asked(child, Path("limit")) == "limited"
    return child


def _asked(child: subprocess.Popen[str], path: Path) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{path}\n")
    child.stdin.flush()
    if not select.select([child.stdout], [], [], PATIENCE)[0]:
        return f"no answer in {PATIENCE:g} seconds"
    return child.stdout.readline().strip() or f"the process died: {child.wait()}"


def _limit() -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def read(path: str) -> str:
    try:
        bochner.read_header(path)
        model = bochner.load(path)
    except bochner.ModelFileError:
        return "refused"
    except BaseException as error:
        return f"load: {type(error).__name__}: {str(error)[:200]}"
    X = np.abs(np.random.default_rng(1).normal(size=(3, COLUMNS)))
    for method in ("predict", "predict_proba", "transform"):
        try:
            if hasattr(model, method):
                getattr(model, method)(X)
        except Exception:  # a parameter that makes no sense is for the method to refuse
            pass
    return "loaded"


def _serve() -> None:
    import warnings

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        path = line.strip()
        if path == "limit":
            _limit()
            print("limited", flush=True)
        else:
            print(read(path).replace("\n", " "), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        _serve()
    else:
        given = [float(argument) for argument in sys.argv[1:]]
        seconds, seed = [*given, *(60.0, 0.0)[len(given) :]]
        print(f"{fuzz(seconds, int(seed)):,} files in {seconds:g} s: no crash, no hang.")
