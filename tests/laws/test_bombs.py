"""Files that are made to fill memory or disk end with a sentence, in little memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner.data import open_source
from bochner.data.files.formats import blocks, chunk, streams
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.notation import is_other_number

MB = 1 << 20
LONG = 40 * MB  # bytes of a bomb, much more than the memory that reading it may take
MOST_MEMORY = 20 * MB
PIECE = b"12345678,87654321,".ljust(63, b"0") + b"\n"


@pytest.fixture(autouse=True, scope="module")
def compiled_code(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what reading compiles, which takes memory of its own."""
    path = tmp_path_factory.mktemp("small") / "rows.csv"
    path.write_text("a,b\n1,2\n3,x\n")
    assert open_source(path, "a").n_rows == 2


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the limits small, and measure the memory that the test takes."""
    monkeypatch.setattr(streams, "SHORT", MB)
    monkeypatch.setattr(blocks, "LONGEST", MB)
    monkeypatch.setattr(blocks, "HEAD", MB // 4)
    monkeypatch.setattr(blocks, "BLOCK", MB // 2)
    monkeypatch.setattr(chunk, "MOST_COLUMNS", 1000)
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def refused(path: Path, words: str, **options: object) -> None:
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(UnreadableFile, match=words):
        open_source(path, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    assert peak - before < MOST_MEMORY


@pytest.mark.parametrize("suffix", COMPRESS)
def test_text_that_is_compressed_a_thousand_times(tmp_path, suffix):
    path = tmp_path / f"rows.csv.{suffix}"
    piece = COMPRESS[suffix](PIECE * (MB // len(PIECE)))
    path.write_bytes(piece * (LONG // MB))  # streams one after the other are one stream
    refused(path, "may be made to fill the memory", keep="disk")


def test_text_in_an_archive_that_is_compressed_a_thousand_times(tmp_path):
    path = tmp_path / "rows.csv.zip"
    archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    with archive, archive.open("rows.csv", "w") as member:
        for _ in range(LONG // MB):
            member.write(PIECE * (MB // len(PIECE)))
    refused(path, "may be made to fill the memory", keep="disk")


@pytest.mark.parametrize(
    ("suffix", "begin"),
    [("csv", b""), ("csv", b"a,b\n1,2\n"), ("csv", b'a,b\n1,"'), ("svm", b""), ("svm", b"1 1:2\n")],
)
@pytest.mark.parametrize("early", [True, False])
def test_a_line_without_an_end(tmp_path, suffix, begin, early):
    path = tmp_path / f"rows.{suffix}"
    rows = begin[begin.find(b"\n") + 1 :] if begin.endswith(b"\n") and not early else b""
    with path.open("wb") as file:
        file.write(begin + rows * (MB // max(len(rows), 1)))
        for _ in range(LONG // MB):
            file.write(b"1" * MB)
    refused(path, "no complete row|is longer than 1 MB")


def test_a_line_of_json_without_an_end(tmp_path):
    path = tmp_path / "rows.jsonl"
    for begin in (b'{"a": "', b'{"a": "b"}\n{"a": "'):
        path.write_bytes(begin + b"x" * (4 * MB))
        refused(path, "no complete row|is longer than 1 MB")


WIDE = pd.DataFrame(np.ones((2, 1001)), columns=[f"c{k}" for k in range(1001)])


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.csv", lambda path: WIDE.to_csv(path, index=False)),
        ("rows.parquet", lambda path: WIDE.to_parquet(path)),
        ("rows.feather", lambda path: WIDE.to_feather(path)),
        ("rows.jsonl", lambda path: WIDE.to_json(path, orient="records", lines=True)),
        ("rows.npy", lambda path: np.save(path, WIDE.to_numpy())),
    ],
)
def test_more_columns_than_a_table_has(tmp_path, name, write):
    write(tmp_path / name)
    refused(tmp_path / name, "has 1,001 columns, and at most 1,000 are read")


def test_an_index_beyond_all_columns(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1 2000000000:1\n")
    with pytest.raises(ValueError, match="an index of at most 16777216"):
        open_source(tmp_path / "rows.svm")


def test_names_of_millions_of_sparse_columns_take_no_memory(tmp_path):
    """A short line may name column 2^24; a text for each would take a gigabyte."""
    columns = 1_000_000
    (tmp_path / "rows.svm").write_text(f"1 1:1 {columns}:1\n")
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    source = open_source(tmp_path / "rows.svm")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    assert source.n_columns == columns
    assert source.schema.names[-1] == str(columns - 1)
    assert peak - before < 20 * columns  # bytes


def test_long_runs_of_blanks_are_told_from_numbers_at_once():
    """Backtracking over every division of the blanks would take hours."""
    assert not is_other_number(" " * 20_000 + "x")
    assert not is_other_number("1" + " " * 20_000 + "x")
    assert is_other_number(" \t$ 1,234 % ")
