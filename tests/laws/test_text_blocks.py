"""Files of any size and any bytes are read block by block, in little memory."""

import gzip
import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bochner.compute.text import csv as csv_fields
from bochner.data.files.formats import blocks
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.svmlight import SvmlightFile

lean = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut files into blocks and tiles of a few bytes."""
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(blocks, "TILE", 16)
    monkeypatch.setattr(csv_fields, "TILE", 16)


CONTENT = (
    b"\xef\xbb\xbfkind,x\r\n"
    + b"".join(b'"oak, ""%d""\nold",%d.5\r\n' % (k, k) for k in range(30))
    + b"\r\n"
    + b"".join(b"ash%d,%d\n" % (k, k) for k in range(50))
    + b"lime,\xc3\xa4\n" * 3
    + b"long" * 100
    + b",7"
)


def joined(chunks):
    """Return all rows of chunks: numbers, texts, lines and sentences of bad rows."""
    chunks = list(chunks)
    columns = [chunk.texts[0] for chunk in chunks]
    return (
        np.concatenate([chunk.numbers[:, 0] for chunk in chunks]).tolist(),
        [column.vocabulary[code] for column in columns for code in column.codes],
        np.concatenate([chunk.lines for chunk in chunks]).tolist(),
        [str(row) for chunk in chunks for row in chunk.bad],
    )


def test_the_size_of_blocks_changes_nothing(small_blocks, monkeypatch):
    small = list(CsvFile(io.BytesIO(CONTENT), name="t.csv").chunks())
    monkeypatch.undo()
    (whole,) = CsvFile(io.BytesIO(CONTENT), name="t.csv").chunks()
    assert len(small) > 10
    assert joined(small) == joined([whole])
    numbers, words, lines, bad = joined([whole])
    assert words[1] == 'oak, "1"\nold'
    assert lines[:3] == [2, 4, 6]
    assert lines[30] == 63
    assert numbers[-1] == 7
    assert len(words[-1]) == 400
    assert bad[0].startswith('t.csv, line 113, column "x": expected a number, found "ä"')


def test_sparse_rows_do_not_depend_on_blocks(small_blocks):
    lines = [f"{k} {k % 7 + 1}:{k / 3!r} 9:1 {'#' * (k % 100)}" for k in range(300)]
    chunks = list(SvmlightFile(io.BytesIO("\n".join(lines).encode())).chunks())
    assert len(chunks) > 10
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == list(range(300))
    data = np.concatenate([chunk.data for chunk in chunks])
    assert data[::2].tolist() == [k / 3 for k in range(300)]
    assert np.concatenate([chunk.lines for chunk in chunks]).tolist() == list(range(1, 301))


def test_packed_files_are_read_and_half_of_one_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(CONTENT))
    expected = joined(CsvFile(io.BytesIO(CONTENT), name=str(path)).chunks())
    packed = CsvFile(path)
    assert joined(packed.chunks()) == expected
    assert joined(packed.chunks()) == expected  # a path can be walked over again
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UnreadableFile, match="not a complete gzip file"):
        list(CsvFile(path).chunks())


def test_a_stream_is_read_once():
    stream = CsvFile(io.BytesIO(b"x\n1\n"), name="standard input")
    assert stream.once
    assert len(list(stream.chunks())) == 1
    with pytest.raises(ValueError, match="standard input is a stream, which can be read once"):
        list(stream.chunks())


def test_a_record_without_end_is_refused_before_it_fills_the_memory(monkeypatch, small_blocks):
    monkeypatch.setattr(blocks, "LONGEST", 1000)
    rows = b'x,y\n1,2\n3,"' + b"4\n" * 2000
    with pytest.raises(UnreadableFile, match=r"line 3: the record .* longer than"):
        list(CsvFile(io.BytesIO(rows)).chunks())


def outcome(reader, content):
    """Return the lines that are read and the number of bad rows, or None if it is refused."""
    try:
        chunks = list(reader(io.BytesIO(content), name="t").chunks())
    except UnreadableFile:
        return None
    return [line for chunk in chunks for line in chunk.lines], sum(c.n_bad for c in chunks)


broken = st.lists(
    st.sampled_from([b'"', b",", b"\n", b"\r\n", b"1", b"x", b":", b"#", b" ", b"\xff", b"9" * 30])
    | st.binary(max_size=3),
    max_size=200,
).map(b"".join)


@lean
@given(broken, st.sampled_from([CsvFile, SvmlightFile]))
def test_any_bytes_are_read_or_refused_whatever_the_blocks(content, reader):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", 32)
        patch.setattr(blocks, "TILE", 8)
        patch.setattr(csv_fields, "TILE", 8)
        small = outcome(reader, content)
    assert small == outcome(reader, content)


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (CsvFile, b",".join(b"c%d" % k for k in range(30_000)) + b"\n" + b"1\n" * 500_000),
        (CsvFile, b"a,b\n" + b"x,y\n" * 300_000 + b"1\n" * 300_000),
        (CsvFile, b"a\n" + b'""\n' * 500_000),
        (SvmlightFile, b"1\n" * 1_000_000),
        (SvmlightFile, b"x\n" * 1_000_000),
    ],
)
def test_memory_is_bounded_by_the_size_of_a_block(reader, content):
    outcome(reader, b"1\n")
    tracemalloc.start()
    try:
        for _ in reader(io.BytesIO(content)).chunks():
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 160 << 20
