"""Compressed text and text in other encodings is read as if it were plain UTF-8."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from bochner.data import open_source
from bochner.data.files.formats import streams
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.csv import CsvFile

ROWS = "height,tree\n1.5,Erle\n2.5,Bäume\n3.5,Erle\n" * 1
MANY = "height,tree\n" + "1.5,Bäume\n2,€\n" * 40_000


def zipped(content: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("rows.csv",):
            archive.writestr(name, content)
    return file.getvalue()


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


def cells(table: CsvFile) -> list[tuple[float, str]]:
    return [
        (number, chunk.texts[0].vocabulary[code])
        for chunk in table.chunks()
        for number, code in zip(
            chunk.numbers[:, 0].tolist(), chunk.texts[0].codes.tolist(), strict=True
        )
    ]


def rows(source) -> list[list[float]]:
    (batch,) = source.batches(100_000)
    return batch.X.tolist()


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_text_is_read_by_its_content_whatever_its_name(tmp_path, suffix):
    plain = cells(CsvFile(io.BytesIO(MANY.encode()), name="t"))
    for name in (f"rows.csv{suffix}", f"rows{suffix}", "rows.csv"):
        path = tmp_path / name
        path.write_bytes(PACKED[suffix](MANY.encode()))
        table = CsvFile(path)
        assert cells(table) == plain
        assert cells(table) == plain  # a second time
        assert open_source(path).n_rows == 80_000


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_standard_input_is_read_too(monkeypatch, suffix):
    stream = io.BufferedReader(io.BytesIO(PACKED[suffix](ROWS.encode())))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert rows(open_source("-", format="csv")) == [[1.5, 1], [2.5, 0], [3.5, 1]]


def test_sparse_rows_in_an_archive_are_known_by_the_name_of_the_file_in_it(tmp_path):
    (tmp_path / "rows.zip").write_bytes(zipped(b"1 1:5\n", "inner/rows.svm", "__MACOSX/x", ".y"))
    source = open_source(tmp_path / "rows.zip")
    assert source.schema.sparse
    assert source.n_columns == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(b"a\n1\n" * 999)[:-9], "not a complete gzip file"),
        (bz2.compress(b"a\n1\n" * 999)[:-9], "not a complete bzip2 file"),
        (lzma.compress(b"a\n1\n" * 999)[:-9], "not a complete xz file"),
        (zipped(b"a\n1\n" * 999)[:-9], "not a complete zip file"),
        (zipped(b"a\n1\n", "a.csv", "b.csv"), "must hold one file of rows; .* holds 2"),
        (zipped(b"a\n1\n", "__MACOSX/a.csv"), "must hold one file of rows; .* holds 0"),
    ],
    # Archives hold the time: names made of them would differ between the workers of a test run.
    ids=["gzip", "bzip2", "xz", "zip", "two files", "no file"],
)
def test_a_damaged_archive_is_refused_by_its_name(tmp_path, content, sentence):
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(UnreadableFile, match=sentence):
        list(CsvFile(tmp_path / "rows.csv").chunks())


def test_damage_within_a_compressed_file_is_refused(tmp_path):
    for suffix, pack in PACKED.items():
        content = bytearray(pack(np.random.default_rng(0).bytes(20_000).hex().encode()))
        content[len(content) // 2] ^= 0xFF
        path = tmp_path / f"rows{suffix}"
        path.write_bytes(b"".join([content]))
        with pytest.raises(UnreadableFile, match=r"not a complete|has no complete row"):
            list(CsvFile(path).chunks())


@pytest.mark.parametrize("suffix", PACKED)
def test_a_bomb_ends_with_a_sentence_in_little_memory(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(streams, "SHORT", 16 << 20)
    path = tmp_path / f"rows.csv{suffix}"
    path.write_bytes(PACKED[suffix](b"a\n" + b"1\n" * (20 << 20)))
    assert path.stat().st_size * streams.MOST_TIMES < 20 << 21
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile, match=r"holds more than .* times the size of the file"):
            for _ in CsvFile(path).chunks():
                pass
        assert tracemalloc.get_traced_memory()[1] < 400e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"]
)
def test_unicode_encodings_are_found_by_themselves(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    path.write_bytes(MANY.encode(encoding))
    expected = cells(CsvFile(io.BytesIO(MANY.encode()), name="t"))
    assert cells(CsvFile(path)) == expected
    assert cells(CsvFile(io.BytesIO(MANY.encode(encoding)), name="t")) == expected


def test_other_encodings_can_be_said(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    with pytest.raises(ValueError, match=r"line 3, column .tree.*encoding='cp1252'"):
        open_source(path)
    assert open_source(path, encoding="cp1252").schema.categories[1] == ("Bäume", "Erle")
    assert open_source(path, encoding="latin-1").n_rows == 3
    with pytest.raises(UnreadableFile, match=r"rows\.csv is not text in utf-16.*encoding="):
        open_source(path, encoding="utf-16")
    for wrong in ("klingon", "hex", ""):
        with pytest.raises(ValueError, match="encoding must be the name of an encoding"):
            open_source(path, encoding=wrong)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rows.xls", "a workbook of Excel before 2007"),
        ("rows.json", "JSON document"),
        ("rows.h5", "HDF5"),
        ("rows.pkl", "pickle"),
        ("rows.tar.gz", "tar archive"),
        ("rows.csv.zst", "Zstandard"),
    ],
)
def test_formats_that_are_not_read_are_refused_by_their_names(tmp_path, name, words):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(UnreadableFile, match=f"{words}.* not read. Save it as CSV"):
        open_source(tmp_path / name)
    assert open_source(tmp_path / name, format="csv").n_rows == 1


def test_an_archive_is_closed_with_its_member(tmp_path, monkeypatch):
    path, members, open_member = tmp_path / "rows.zip", [], zipfile.ZipFile.open

    def noted(*given):
        members.append(open_member(*given))
        return members[-1]

    path.write_bytes(zipped(MANY.encode()))
    monkeypatch.setattr(zipfile.ZipFile, "open", noted)
    streams.TextStream(path, "rows").close()
    assert [member.closed for member in members] == [True]
