"""A full disk, a folder that cannot be written to, and files that shrink while they are read.

The full disk is a file system of 64 kB in memory.
"""

from __future__ import annotations

import json
import os
import shutil
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
from bochner.report import DataSummary, Report, Run
from fault_kills import data

SIZE = 1 << 16  # of the disk: each file that is written is larger
NOBODY = 65534
NO_DISK = "no disk"


def full_disk(folder: Path) -> int:
    """Write what is larger than a disk; return how often something was lost."""
    print("\nfull disk", flush=True)
    found, lost = on_full_disk(folder), 0
    if found is None:
        print("  left out: unshare and mount are not there, or not allowed")
        return 0
    for name, (is_lost, told) in found.items():
        print(f"  {name}: {'LOST' if is_lost else 'the old file is there'}; {told}", flush=True)
        lost += is_lost
    return lost


def on_full_disk(folder: Path) -> dict[str, tuple[bool, str]] | None:
    """Return whether each file is lost, and the error; None if there can be no such disk.

    A child mounts the disk where no other process sees it.
    """
    (folder / "disk").mkdir()
    alone = ["unshare", "--map-root-user", "--mount"]
    if shutil.which(alone[0]) is None:
        return None
    command = [*alone, sys.executable, "-W", "ignore", __file__, "full disk", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and NO_DISK not in done.stdout and "unshare:" not in done.stderr:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else None


def _write_on_full_disk(folder: Path) -> dict[str, tuple[bool, str]]:
    disk = folder / "disk"
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False).returncode != 0:
        print(NO_DISK)
        sys.exit(1)
    return {name: _refused(work, disk) for name, work in _writers(disk).items()}


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

    page = Report("Rows", DataSummary.of(X, y, target="y"), [Run.of(model, X, y, seconds=None)])
    return {
        "save": lambda path: bochner.save(model, path),
        "checkpoint": checkpoint,
        "report": lambda path: page.write(f"{path}.html"),
        "predictions": table,
        "rows on disk": rows,
    }


def _refused(work: Callable[[Path], None], disk: Path) -> tuple[bool, str]:
    """Return whether something is lost when the disk becomes full, and the error."""
    path = disk / "file"
    bochner.save(bochner.KernelRegressor(), path)
    old, told = path.read_bytes(), "no error"
    try:
        work(path)
    except OSError as error:
        told = str(error)
    return path.read_bytes() != old or list(disk.iterdir()) != [path] or told == "no error", told


def shrinking_files(folder: Path) -> int:
    """Let files shrink while they are read; return how often that was no refusal."""
    print("\nfiles that shrink while they are read")
    lost = 0
    for name in READERS:
        inside = folder / f"shrinking {name}"
        inside.mkdir()
        done = shrinking_file(name, inside)
        told = json.loads(done.stdout) if done.returncode == 0 else f"LOST: {done.stderr[-500:]}"
        print(f"  {name}: {told}", flush=True)
        lost += done.returncode != 0
    return lost


def shrinking_file(kind: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Let a child read a file that shrinks: where it is mapped, that can end the process."""
    command = [sys.executable, "-W", "ignore", __file__, kind, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
        told: Any = "no error"
        if what == "full disk":
            told = _write_on_full_disk(Path(where))
        elif what == "read-only":
            _save_as_nobody(where)
        else:
            READERS[what](Path(where), what)
        print(json.dumps(told))
    except (ValueError, OSError) as error:
        print(json.dumps(str(error)))
