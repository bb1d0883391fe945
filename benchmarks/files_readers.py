"""How fast are the readers of text beside pandas, pyarrow and scikit-learn?

python benchmarks/files_readers.py [--megabytes 200] [--repeats 5]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bochner.compute.pool import threads
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.svmlight import SvmlightFile
from common import Times, rounds, save_record, table, target

ROWS = 20_000  # different rows, which are repeated: more than a branch predictor remembers
Readers = dict[str, Callable[[], int]]


def main() -> None:
    """Make the files, read them in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in texts(np.random.default_rng(0)):
            path = Path(folder) / name
            rows = write(path, lines, arguments.megabytes << 20)
            found = rounds(readers(path), arguments.repeats)
            record[name] = shown(path, rows, found)
            path.unlink()
    save_record("files_readers", record | {"targets": verdicts(record)})


def texts(rng: np.random.Generator) -> Iterator[tuple[str, list[str]]]:
    """Give names of files and their lines, the first of which is the header of a CSV file."""
    X = rng.normal(size=(ROWS, 20))
    names = ",".join(f"x{j}" for j in range(20))
    yield "short.csv", [names, *(",".join(f"{x:.6g}" for x in row) for row in X)]
    yield "long.csv", [names, *(",".join(map(repr, row.tolist())) for row in X)]
    counts = rng.integers(0, 5000, size=(ROWS, 20))
    yield "whole.csv", [names, *(",".join(map(str, row)) for row in counts.tolist())]
    trees = np.array(["oak", "ash", '"beech, red"', "hornbeam"])[rng.integers(4, size=(ROWS, 5))]
    mixed = zip(trees.tolist(), X[:, :15], strict=True)
    yield "mixed.csv", [names, *(",".join([*t, *(f"{x:.6g}" for x in r)]) for t, r in mixed)]
    yield "sparse.svm", [f"{k % 2} {sparse(rng)}" for k in range(ROWS)]


def sparse(rng: np.random.Generator) -> str:
    """Return forty entries of a row."""
    columns = np.sort(rng.choice(50_000, 40, replace=False)) + 1
    entries = zip(columns.tolist(), rng.uniform(size=40).tolist(), strict=True)
    return " ".join(f"{column}:{value:.6g}" for column, value in entries)


def write(path: Path, lines: list[str], size: int) -> int:
    """Repeat the lines until the file has its size; return how many rows it has."""
    header, body = (lines[:1], lines[1:]) if path.suffix == ".csv" else ([], lines)
    block = ("\n".join(body) + "\n").encode()
    repeats = max(1, size // len(block))
    with path.open("wb") as file:
        file.write("".join(f"{line}\n" for line in header).encode())
        for _ in range(repeats):
            file.write(block)
    return repeats * len(body)


def readers(path: Path) -> Readers:
    """Return the readers of a file; each returns the number of rows."""
    ours = ours_svmlight if path.suffix == ".svm" else ours_csv
    mine: Readers = {"bochner": partial(ours, path), "one thread": partial(one, ours, path)}
    if path.suffix == ".svm":
        return mine | {"scikit-learn": partial(sklearn_svmlight, path)}
    return mine | {"pandas": partial(pandas_csv, path), "pyarrow": partial(pyarrow_csv, path)}


def one(read: Callable[[Path], int], path: Path) -> int:
    with threads(1):
        return read(path)


def ours_csv(path: Path) -> int:
    return sum(len(chunk) for chunk in CsvFile(path).chunks())


def ours_svmlight(path: Path) -> int:
    return sum(len(chunk) for chunk in SvmlightFile(path).chunks())


def pandas_csv(path: Path) -> int:
    import pandas as pd

    return sum(len(part) for part in pd.read_csv(path, chunksize=50_000, engine="c"))


def pyarrow_csv(path: Path) -> int:
    from pyarrow import csv

    with csv.open_csv(path, csv.ReadOptions(block_size=8 << 20)) as batches:
        return sum(batch.num_rows for batch in batches)


def sklearn_svmlight(path: Path) -> int:
    from sklearn.datasets import load_svmlight_file

    return int(load_svmlight_file(str(path))[0].shape[0])


def shown(path: Path, rows: int, found: dict[str, Times]) -> dict[str, Any]:
    """Print the figures of a file, and return them."""
    size, ours = path.stat().st_size, found["bochner"].best
    print(f"\n{path.name}: {size / 1e6:.0f} MB, {rows:,} rows")
    lines = {
        name: [size / times.best / 1e6, rows / times.best, times.best / ours, times.spread]
        for name, times in found.items()
    }
    titles = ["reader", "MB/s", "rows/s", "time / ours", "spread"]
    table(titles, [[name, *line] for name, line in lines.items()])
    return lines


def verdicts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Print the targets."""
    print()
    verdicts = []
    for name, lines in record.items():
        speed = lines["bochner"][0]
        verdicts.append(target(f"{name}: at least 300 MB/s; {speed:.0f}", speed >= 300))
        for other in ("pandas", "scikit-learn"):
            if other in lines:
                ratio = lines[other][2]
                verdicts.append(target(f"{name}: faster than {other}; {ratio:.3g} x", ratio > 1))
    return verdicts


if __name__ == "__main__":
    main()
