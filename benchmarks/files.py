"""How fast are files read, and how much memory does training on a large one take?

python benchmarks/files.py [--gigabytes 4] [--folder FOLDER] [--megabytes 200] [--only memory]

The first part reads text by `files_readers.py`, and Parquet and array files beside pyarrow and
NumPy. The second writes a CSV and a Parquet file and fits a regressor with its defaults to each, in
a process of its own whose peak resident memory is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bochner import KernelRegressor
from bochner.data import as_source, open_source
from common import peak_megabytes, save_record, table, target

COLUMNS, BLOCK_ROWS = 40, 100_000
BUDGET = "128MB"
FORMATS = ("csv", "parquet")
MOST_MEGABYTES = 1_000


def main() -> None:
    """Read, train and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["readers", "memory"])
    parser.add_argument("--trained", type=Path, help="train on this file and print figures")
    given = parser.parse_args()
    if given.trained is not None:
        print(json.dumps(trained(given.trained)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        record: dict[str, Any] = {}
        if given.only != "memory":
            here = Path(__file__).with_name("files_readers.py")
            subprocess.run([sys.executable, here, "--megabytes", str(given.megabytes)], check=True)
            record["readers"] = read_binaries(Path(folder), given.megabytes << 20)
        if given.only != "readers":
            record["memory"] = weigh(Path(folder), int(given.gigabytes * 1e9))
        save_record("files", record)


def blocks(seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Give blocks of rows without end."""
    rng = np.random.default_rng(seed)
    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    while True:
        X = rng.normal(size=(BLOCK_ROWS, COLUMNS))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=BLOCK_ROWS)
        yield pa.RecordBatch.from_arrays([*map(pa.array, X.T.copy()), pa.array(y)], names)


def write(path: Path, size: int) -> None:
    """Write blocks until the file is large enough."""
    schema = next(blocks()).schema
    csv = path.suffix == ".csv"
    made = pa.csv.CSVWriter(path, schema) if csv else pa.parquet.ParquetWriter(path, schema)
    with made as writer:
        for block in blocks():
            writer.write_batch(block)
            if path.stat().st_size >= size:
                return


def weigh(folder: Path, size: int) -> list[dict[str, Any]]:
    """Train on a file of each format; return the figures."""
    found = []
    for kind in FORMATS:
        path = folder / f"rows.{kind}"
        write(path, size)
        command = [sys.executable, __file__, "--trained", str(path)]
        out = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append({"format": kind, "GB": path.stat().st_size / 1e9} | json.loads(out.stdout))
        path.unlink()
    print(f"\nTraining with memory_budget={BUDGET!r}: peak resident memory of the process.")
    table(list(found[0]), [list(one.values()) for one in found])
    peak = max(one["peak MB"] for one in found)
    target(f"peak memory {peak:.0f} MB < {MOST_MEGABYTES} MB", peak < MOST_MEGABYTES)
    return found


def trained(path: Path) -> dict[str, Any]:
    """Return the figures of a fit in this process."""
    began, before = time.perf_counter(), peak_megabytes()
    source = open_source(path, "y", memory=BUDGET)
    opened = time.perf_counter()
    after_reading = peak_megabytes()
    model = KernelRegressor(memory_budget=BUDGET, random_state=0).fit(source)
    fitted = time.perf_counter()
    sample = source.sample(10_000, seed=1)
    return {
        "rows": source.n_rows,
        "read s": opened - began,
        "fit s": fitted - opened,
        "imported MB": before,
        "reading MB": after_reading,
        "peak MB": peak_megabytes(),
        "solver": str(model.plan_.solver),
        "R2": r2(model, sample),
    }


def r2(model: KernelRegressor, sample: Any) -> float:
    """Return the share of the variance that is explained."""
    error = model.predict(as_source(sample.X)) - sample.y
    return float(1 - np.mean(error**2) / np.var(sample.y))


def read_binaries(folder: Path, size: int) -> dict[str, float]:
    """Return megabytes a second of Parquet and array files, beside the packages that made them."""
    parquet, array = folder / "rows.parquet", folder / "rows.npy"
    write(parquet, size)
    rows = pa.parquet.read_table(parquet)
    np.save(array, np.stack([column.to_numpy() for column in rows.columns], axis=1))
    cases = {
        "parquet, bochner": (parquet, lambda: open_source(parquet, "y", keep="no")),
        "parquet, pyarrow": (parquet, lambda: pa.parquet.read_table(parquet)),
        "npy, bochner": (array, lambda: open_source(array, -1)),
        "npy, numpy": (array, lambda: np.load(array).sum()),
    }
    found = {}
    for name, (path, read) in cases.items():
        seconds = min(_timed(read) for _ in range(3))
        found[name] = path.stat().st_size / 1e6 / seconds
    table(["reader", "MB/s"], found.items())
    return found


def _timed(read: Any) -> float:
    began = time.perf_counter()
    read()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
