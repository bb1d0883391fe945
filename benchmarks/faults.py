"""Is anything lost when a process is killed, a disk is full, or a folder cannot be written to?

Children are killed by SIGKILL at random moments of fits that write checkpoints all the time, and of
saves that replace a model again and again. After each: what is at the path loads, a fit goes on to
the same bits as one that nobody killed, and a model is the old one or the new one.

python benchmarks/faults.py [--kills 50] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bochner
from bochner.features import Binning, Centers

SOLVERS: dict[str, dict[str, Any]] = {
    "dsg": {"solver": "dsg", "max_passes": 40, "tol": 0.0},
    "eigenpro": {"solver": "eigenpro", "features": Centers(300), "max_passes": 6},
    "averaged": {"solver": "averaged", "features": Binning(64), "max_passes": 20, "tol": 0.0},
    "backfitting": {"kernel": "laplacian", "features": "binning", "early_stopping": True},
    "cg": {"solver": "cg", "features": Binning(64), "max_passes": 30},
    "nystroem": {"solver": "nystroem", "features": Centers(300), "max_passes": 30},
}
LONGEST = 2.0  # seconds from the first checkpoint to the kill
ROWS = 4_000
FULL = 1 << 16  # bytes that a file may have where the disk is said to be full


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    kills: int
    good: int


def data() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def machine(name: str) -> Any:
    return bochner.KernelRegressor(random_state=0, **SOLVERS[name])


def fit(name: str, path: str) -> None:
    """Fit with a checkpoint after every batch, going on from the last one if there is one."""
    model = bochner.load(path) if Path(path).exists() else machine(name)
    model.set_params(callbacks=[bochner.Checkpoint(path, 0)]).fit(*data())


def replace_again_and_again(path: str) -> None:
    """Save one of two models in turns, for ever."""
    X, y = data()
    models = [machine("cg").set_params(max_passes=n).fit(X, y) for n in (1, 2)]
    while True:
        for model in models:
            bochner.save(model, path)


def killed(what: list[str], path: Path, chance: random.Random) -> None:
    """Start a child; kill it at a random moment after the file is there and has changed."""
    before = path.stat().st_mtime_ns if path.exists() else None
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, "--child", *what, str(path)]
    )
    while child.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
        time.sleep(0.01)
    time.sleep(chance.uniform(0.0, LONGEST))
    child.kill()
    child.wait()


def fits(name: str, kills: int, chance: random.Random, folder: Path) -> Row:
    """Kill a fit, let a part of the kills hit the one that goes on; compare with the whole."""
    X, y = data()
    whole, good, path = machine(name).fit(X, y), 0, folder / name
    for number in range(kills):
        if number % 2 == 0:
            path.unlink(missing_ok=True)
        killed(["fit", name], path, chance)
        model = bochner.load(path)
        model.predict(X[:5])
        resumed = model.fit(X, y)
        good += bool(
            np.array_equal(resumed.predict(X), whole.predict(X))
            and resumed.history_["loss"] == whole.history_["loss"]
        )
    return Row(f"fit, {name}", kills, good)


def saves(kills: int, chance: random.Random, folder: Path) -> Row:
    """Kill a process that replaces a model again and again."""
    X, y = data()
    answers = [machine("cg").set_params(max_passes=n).fit(X, y).predict(X) for n in (1, 2)]
    path, good = folder / "model", 0
    for _ in range(kills):
        killed(["save"], path, chance)
        found = bochner.load(path).predict(X)
        good += any(np.array_equal(found, answer) for answer in answers)
    return Row("save", kills, good)


def full_disk(path: str) -> None:
    """Save where files may not grow beyond a few bytes, as on a full disk."""
    import resource
    import signal

    model = bochner.KernelRegressor(random_state=0).fit(*data())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL))
    _told(model, path)


def read_only_folder(path: str) -> None:
    """Save into a folder in which somebody else may write."""
    model = bochner.KernelRegressor(random_state=0).fit(*data())
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)  # rights do not bind root
    _told(model, path)


def _told(model: Any, path: str) -> None:
    try:
        bochner.save(model, path)
        print(json.dumps("no error"))
    except OSError as error:
        print(json.dumps(str(error)))


def refused(what: str, folder: Path) -> str:
    """Return what a child says that cannot save; the old file has to be there, and no other."""
    inside = folder / what
    inside.mkdir()
    path = inside / "model"
    bochner.save(bochner.KernelRegressor(), path)
    old = path.read_bytes()
    inside.chmod(0o555 if what == "read-only" else 0o755)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--child", what, str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    inside.chmod(0o755)
    whole = path.read_bytes() == old and list(inside.iterdir()) == [path]
    return f"{'the old file is there' if whole else 'SOMETHING IS LOST'}; {json.loads(done.stdout)}"


CHILDREN = {
    "fit": fit,
    "save": replace_again_and_again,
    "full": full_disk,
    "read-only": read_only_folder,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chance, count = random.Random(arguments.seed), len(SOLVERS) + 1
    shares = [arguments.kills // count + (i < arguments.kills % count) for i in range(count)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        print(f"{'killed during':<18} {'kills':>6} {'good':>6}")
        for place, share in enumerate(shares):
            solvers = list(SOLVERS)
            row = (
                saves(share, chance, folder)
                if place == len(solvers)
                else fits(solvers[place], share, chance, folder)
            )
            verdict = "" if row.good == row.kills else "  NOT ALL"
            print(f"{row.what:<18} {row.kills:>6} {row.good:>6}{verdict}", flush=True)
        print(f"\nfull disk: {refused('full', folder)}")
        print(f"read-only folder: {refused('read-only', folder)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        CHILDREN[sys.argv[2]](*sys.argv[3:])
    else:
        main()
