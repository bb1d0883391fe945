"""A full disk, a folder that cannot be written to, and files that shrink while they are read.

The full disk is a file system of a megabyte in memory, which only root can mount.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bochner
from bochner.cli.work.table_files import table_writer
from bochner.data import open_source
from bochner.features import Binning
from fault_kills import data

SIZE = 1 << 20  # of the disk
NOBODY = 65534


def full_disk(folder: Path) -> int:
    """Write what is larger than a disk; return how often something was lost."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"\nfull disk: left out, {done.stderr.strip()}")
        return 0
    try:
        print("\nfull disk")
        return sum(_refused(name, work, disk) for name, work in _writers(disk).items())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _writers(disk: Path) -> dict[str, Callable[[Path], None]]:
    X, y = data()
    model = bochner.KernelRegressor(features=Binning(512), random_state=0).fit(X, y)

    def checkpoint(path: Path) -> None:
        again = bochner.KernelRegressor(
            features=Binning(512), solver="cg", random_state=0,
            callbacks=[bochner.Checkpoint(path, 0)],
        )  # fmt: skip
        again.fit(X, y)

    def table(path: Path) -> None:
        with table_writer(f"{path}.csv") as writer:
            for _ in range(100):
                writer.write({"x": X[:, 0], "y": y})

    def rows(path: Path) -> None:
        text = disk.parent / "rows.csv"
        np.savetxt(text, np.repeat(X, 40, axis=0), delimiter=",", fmt="%.6g")
        tempfile.tempdir = str(disk)
        try:
            open_source(text, memory=1000, keep="disk").take(slice(0, 5))
        finally:
            tempfile.tempdir = None

    return {
        "save": lambda path: bochner.save(model, path),
        "checkpoint": checkpoint,
        "predictions": table,
        "rows on disk": rows,
    }


def _refused(name: str, work: Callable[[Path], None], disk: Path) -> bool:
    """Whether something is lost when the disk becomes full."""
    path = disk / "file"
    bochner.save(bochner.KernelRegressor(), path)
    old, told = path.read_bytes(), "no error"
    try:
        work(path)
    except OSError as error:
        told = str(error)
    lost = path.read_bytes() != old or list(disk.iterdir()) != [path] or told == "no error"
    print(f"  {name}: {'LOST' if lost else 'the old file is there'}; {told}", flush=True)
    return lost


def shrinking_files(folder: Path) -> int:
    """Let files lose their second half while they are read; return how often that was no refusal.

    A child reads each, since a mapped file that shrinks can end its process.
    """
    print("\nfiles that shrink while they are read")
    lost = 0
    for name in READERS:
        inside = folder / f"shrinking {name}"
        inside.mkdir()
        command = [sys.executable, "-W", "ignore", __file__, name, str(inside)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout) if done.returncode == 0 else f"LOST: {done.stderr[-500:]}"
        print(f"  {name}: {told}", flush=True)
        lost += done.returncode != 0
    return lost


def _table(folder: Path, kind: str) -> Path:
    X = np.repeat(data()[0], 100, axis=0)
    path = folder / f"rows.{kind}"
    if kind == "csv":
        np.savetxt(path, X, delimiter=",", fmt="%.6g")
    elif kind == "npy":
        np.save(path, X)
    elif kind == "svmlight":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(X, X[:, 0], str(path), zero_based=False)
    else:
        import pyarrow
        import pyarrow.parquet

        columns = {str(j): X[:, j] for j in range(X.shape[1])}
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=5_000)
    return path


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _read_table(folder: Path, kind: str) -> None:
    path = _table(folder, kind)
    source = open_source(path, keep="no" if kind != "npy" else "auto")
    for number, _ in enumerate(source.batches(1000)):
        if number == 1:
            _halve(path)


def _load(folder: Path, kind: str) -> None:
    """Shrink the file after its header is read."""
    from bochner.persist import container

    X, y = data()
    path, real = folder / "model", container.read_arrays
    bochner.save(bochner.KernelRegressor(features=Binning(64), random_state=0).fit(X, y), path)

    def shrunk(*arguments: Any) -> Any:
        _halve(path)
        return real(*arguments)

    container.read_arrays = shrunk
    bochner.load(path)


READERS: dict[str, Callable[[Path, str], None]] = {
    "model": _load,
    "csv": _read_table,
    "svmlight": _read_table,
    "npy": _read_table,
    "parquet": _read_table,
}


def read_only_folder(folder: Path) -> int:
    """Save where one may not write; return whether something was lost."""
    inside = folder / "read-only"
    inside.mkdir()
    path = inside / "model"
    bochner.save(bochner.KernelRegressor(), path)
    old = path.read_bytes()
    inside.chmod(0o555)
    command = [sys.executable, "-W", "ignore", __file__, "read-only", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    inside.chmod(0o755)
    lost = path.read_bytes() != old or list(inside.iterdir()) != [path]
    verdict = "LOST" if lost else "the old file is there"
    print(f"\nread-only folder: {verdict}; {json.loads(done.stdout)}", flush=True)
    return lost


def _save_as_nobody(path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bochner.save(bochner.KernelRegressor(), Path(folder) / "model")  # imports what it needs
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)  # rights do not bind root
    bochner.save(bochner.KernelRegressor(), path)


if __name__ == "__main__":
    what, where = sys.argv[1:]
    try:
        if what == "read-only":
            _save_as_nobody(where)
        else:
            READERS[what](Path(where), what)
        print(json.dumps("no error"))
    except (ValueError, OSError) as error:
        print(json.dumps(str(error)))
