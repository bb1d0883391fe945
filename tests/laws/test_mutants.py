"""Mutants of every kind of file that is read end as rows, as a model or as a refusal.

`benchmarks/fuzz.py` reads millions of them, in a process with little memory.
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from bochner.compute.pool import threads
from bochner.data import open_source
from bochner.data.files.formats.chunk import UnreadableFile

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MUTANTS = {
    "csv": 300,
    "svmlight": 300,
    "npy": 600,
    "npz": 400,
    "parquet": 600,
    "model": 100,
    "checkpoint": 30,
}
FEWEST = 0.02  # share that is read, and share that is refused: else the mutations test nothing


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def test_every_target_of_the_fuzzer_has_a_number_of_mutants():
    assert MUTANTS.keys() == import_module("fuzz").TARGETS.keys()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_read_or_refused(name, tmp_path):
    target, refused = import_module("fuzz").TARGETS[name](), 0
    with threads(1), warnings.catch_warnings(action="ignore"):
        target.prepare(tmp_path)
        for number in range(MUTANTS[name]):
            content, chance = import_module("fuzz_harness").content(target, 0, number)
            try:
                target.read(content, chance)
            except target.refusals:
                refused += 1
    assert FEWEST < refused / MUTANTS[name] < 1 - FEWEST


def header(shape="(4, 2)", dtype="'<f8'", rest=""):
    text = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, {rest}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


LIES = {
    "no end": (header("(4, 2") + bytes(64), "header is damaged"),
    "unhashable": (header(rest="[]: 1, ") + bytes(64), "header is damaged"),
    "longer than the file": (header("(1000000000, 8)") + bytes(64), "is truncated"),
    "larger than any": (header(f"({2**62}, 0)"), "must hold an array of rows"),
    "negative": (header("(-1, 2)") + bytes(64), "must hold an array of rows"),
    "objects": (header(dtype="'|O'") + bytes(64), "Python objects"),
    "no header": (b"\x93NUMPY", "is not a (complete )?file of numpy.save"),
    "no version": (b"\x93NUMPY\x09\x00" + bytes(64), "is not a file of numpy.save"),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("compressed", [None, False, True], ids=["npy", "npz", "compressed"])
def test_a_header_that_lies_is_refused_before_memory_is_taken(lie, compressed, tmp_path):
    content, match = LIES[lie]
    path = tmp_path / ("rows.npy" if compressed is None else "rows.npz")
    if compressed is None:
        path.write_bytes(content)
    else:
        import_module("fuzz_arrays").write_archive(path, {"X.npy": content}, compressed)
    with pytest.raises(UnreadableFile, match=match):
        open_source(path)


def test_text_that_is_not_unicode_is_refused(tmp_path):
    words = np.array(["oak", "ash"])
    words.view(np.uint32)[1] = 0x110000
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 2)), kind=words)
    with pytest.raises(UnreadableFile, match="not Unicode"):
        open_source(tmp_path / "rows.npz", target="kind")


def test_a_parquet_file_with_a_damaged_footer_is_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    arrow.parquet.write_table(arrow.table({"x": [1.0, 2.0]}), path)
    content = bytearray(path.read_bytes())
    content[-20:-8] = b"\xff" * 12
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="is damaged, or of another format"):
        open_source(path)


def test_parquet_columns_of_one_name_are_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_arrays([arrow.array([1.0]), arrow.array([2.0])], names=["x", "x"])
    arrow.parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(UnreadableFile, match="several columns named 'x'"):
        open_source(tmp_path / "rows.parquet")
