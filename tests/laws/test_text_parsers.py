"""Text is read digit for digit and letter for letter, or refused with its place."""

import csv
import gzip
import io
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from bochner.compute import csv_fields
from bochner.data.files import blocks
from bochner.data.files.chunk import BAD_SHOWN, UnreadableFile
from bochner.data.files.csv import MISSING, CsvFile
from bochner.data.files.svmlight import SvmlightFile

lean = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
doubles = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8"), max_size=8).filter(
    lambda word: word.strip(" \t") not in MISSING and word[:1] != "\ufeff"
)


def table(content, **options):
    """Return the one chunk of a file."""
    (chunk,) = CsvFile(io.BytesIO(content), name="t.csv", **options).chunks()
    return chunk


def column(cells):
    """Return what is read from lines with one number each, and the lines that are refused."""
    filling = "1\n" * (20 * len(cells))
    chunk = table(("x\n" + filling + "".join(f"{cell}\n" for cell in cells)).encode())
    first = 2 + 20 * len(cells)
    return chunk.numbers[20 * len(cells) :, 0], [row.line - first for row in chunk.bad]


@lean
@given(st.lists(doubles, min_size=1), st.sampled_from(["%r", "%.17g", "%.25e", "%.3f", "%.19g"]))
def test_numbers_are_those_of_float(numbers, form):
    cells = [form % number for number in numbers]
    exact = np.array([float(cell) for cell in cells])
    found, refused = column(cells)
    assert refused == []
    np.testing.assert_array_equal(found.view(np.uint64), exact.view(np.uint64))


@lean
@given(st.lists(st.text("0123456789.eE+-", min_size=1, max_size=30), min_size=1))
def test_what_looks_like_a_number_is_one_for_float_too(cells):
    found, refused = column(cells)
    exact = [number for number in map(as_float, cells) if number is not None]
    assert refused == [k for k, cell in enumerate(cells) if as_float(cell) is None]
    assert found.tolist() == exact


def as_float(cell):
    """Return the finite number that a cell holds, or None."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@pytest.mark.parametrize(
    "cell", ["0x1F", "1 000", "1e", "1_000", "inf", "-Infinity", "1e999", "one", "1.2.3", "−1"]
)
def test_no_other_number_is_guessed(cell):
    found, refused = column(["2", cell, "3"])
    assert found.tolist() == [2.0, 3.0]
    assert refused == [1]


@lean
@given(
    st.lists(st.tuples(doubles, words, words), min_size=1),
    st.sampled_from(",;|\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_is_written_by_the_csv_module_is_read(rows, delimiter, ends, quoting):
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    writer.writerows([("number", "one", "other"), *rows])
    content = written.getvalue().encode()
    chunk = table(content, text=("one", "other"), delimiter=delimiter)
    assert chunk.bad == ()
    assert chunk.numbers[:, 0].tolist() == [row[0] for row in rows]
    for k, coded in enumerate(chunk.texts, 1):
        assert [coded.vocabulary[code] for code in coded.codes] == [row[k] for row in rows]
        assert list(coded.vocabulary) == list(dict.fromkeys(row[k] for row in rows))


def test_an_open_quote_is_an_error_that_names_its_line():
    with pytest.raises(UnreadableFile, match=r"t\.csv, line 3: a quote is opened here"):
        table(b'a,b\n1,x\n2,"y\n3,z\n')


def sparse(content, **options):
    """Return the one chunk of a sparse file."""
    (chunk,) = SvmlightFile(io.BytesIO(content), name="t.svm", **options).chunks()
    return chunk


@lean
@given(st.lists(st.tuples(doubles, st.dictionaries(st.integers(0, 50), doubles)), min_size=1))
def test_sparse_rows_are_read_as_they_are_written(rows):
    lines = [f"{y!r} " + " ".join(f"{k}:{row[k]!r}" for k in sorted(row)) for y, row in rows]
    chunk = sparse("\n".join(lines).encode(), zero_based=True)
    assert chunk.bad == ()
    assert chunk.labels.tolist() == [y for y, _ in rows]
    for i, (_, row) in enumerate(rows):
        entries = slice(chunk.indptr[i], chunk.indptr[i + 1])
        assert dict(zip(chunk.indices[entries], chunk.data[entries], strict=True)) == row


def test_sparse_rows_are_those_of_scikit_learn():
    content = b"# head\n+1 qid:3 1:0.25 7:-1e3 # note\r\n\n-1\t2:3  5:.5 \n2.5\n"
    X, y = load_svmlight_file(io.BytesIO(content), n_features=7, zero_based=False)
    chunk = sparse(content)
    np.testing.assert_array_equal(chunk.labels, y)
    np.testing.assert_array_equal(chunk.matrix(7).toarray(), X.toarray())
    assert chunk.lines.tolist() == [2, 4, 5]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1 2:1 2:3", 'expected indices that increase, found "2:3"'),
        ("1 3:1 2:3", 'expected indices that increase, found "2:3"'),
        ("1,2 1:1", 'column "label": expected a single number, found "1,2"'),
        ("oak 1:1", 'column "label": expected a number, found "oak"'),
        ("1 3:x", 'column "3": expected a number, found "x"'),
        ("1 3:", 'column "3": expected a number, found nothing'),
        ("1 3:inf", 'column "3": expected a finite number, found "inf"'),
        ("1 3", 'expected index:value, found "3"'),
        ("1 -3:1", 'expected index:value, found "-3:1"'),
        ("1 2147483648:1", 'expected an index of at most 2147483647, found "2147483648:1"'),
        ("1 0:1", "expected an index from 1 on (say zero_based=True if the first column is 0)"),
        ("1 1:1 qid:3", 'expected index:value, found "qid:3"'),
    ],
)
def test_bad_sparse_rows_are_named_and_left_out(line, sentence):
    chunk = sparse(f"1 1:1 5:2\n{line}\n2 1:3\n".encode(), zero_based=False)
    (bad,) = chunk.bad
    assert str(bad).startswith("t.svm, line 2")
    assert sentence in str(bad)
    assert chunk.lines.tolist() == [1, 3]
    assert chunk.matrix(5).toarray().tolist() == [[1, 0, 0, 0, 2], [3, 0, 0, 0, 0]]


def test_an_index_0_at_the_beginning_tells_how_columns_are_counted():
    assert SvmlightFile(io.BytesIO(b"1 1:1\n1 0:1\n")).zero_based
    assert not SvmlightFile(io.BytesIO(b"1 1:1\n1 10:1\n")).zero_based


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
    with pytest.raises(UnreadableFile, match="no whole gzip file"):
        list(CsvFile(path).chunks())


def test_a_stream_is_read_once():
    stream = CsvFile(io.BytesIO(b"x\n1\n"), name="standard input")
    assert stream.once
    assert len(list(stream.chunks())) == 1
    with pytest.raises(ValueError, match="standard input is a stream, which can be read once"):
        list(stream.chunks())


def test_a_stream_of_text_is_refused():
    with pytest.raises(TypeError, match="Open the file as 'rb'"):
        CsvFile(io.StringIO("x\n1\n"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "t.csv has no rows: it is empty"),
        (b"\xef\xbb\xbf\n \n", "it is empty"),
        (b"\xff\xfea\x00\n\x00", "UTF-16; UTF-8 is needed"),
        (b"a\r1\r2\r", "carriage return alone"),
        (b"a,a\n1,2\n", 'line 1: two columns are called "a"'),
        (b"\n,a\n1,2\n", "line 2: column 1 has no name"),
        (b"a,\xe4\n1,2\n", "line 1: the name .* is not text in UTF-8"),
        (b'"a"b,c\n1,2\n', "line 1: text follows a closing quote"),
        (b"39,oak\n40,ash\n", "line 1: .* may hold names or a row. Say which by header="),
        (b'a,b\n1,"2', "line 2: a quote is opened here and never closed"),
        (b'"a,b\n1,2', "no row that ends"),
    ],
)
def test_files_that_cannot_be_read_say_why(content, sentence):
    with pytest.raises(UnreadableFile, match=sentence):
        list(CsvFile(io.BytesIO(content), name="t.csv").chunks())


def test_a_record_without_end_is_refused_before_it_fills_the_memory(monkeypatch, small_blocks):
    monkeypatch.setattr(blocks, "LONGEST", 1000)
    rows = b'x,y\n1,2\n3,"' + b"4\n" * 2000
    with pytest.raises(UnreadableFile, match=r"line 3: the record .* longer than"):
        list(CsvFile(io.BytesIO(rows)).chunks())


def test_bad_rows_are_counted_and_some_of_them_described():
    chunk = table(b"x,y\n" + b"1,2\n" * 5000 + b"1\n" * 300 + b'1,"2"3\n' * 200)
    assert chunk.n_bad == 500
    assert len(chunk.bad) == BAD_SHOWN
    assert str(chunk.bad[0]) == "t.csv, line 5002: expected 2 fields, found 1 field."
    assert len(chunk) == 5000


def test_text_that_is_not_utf8_is_a_bad_row():
    chunk = table(b"x,kind\n1,oak\n2,\xff\n3,ash\n", text=["kind"])
    assert [str(row) for row in chunk.bad] == [
        't.csv, line 3, column "kind": expected text in UTF-8, found other bytes.'
    ]
    assert chunk.numbers[:, 0].tolist() == [1, 3]
    assert chunk.texts[0].vocabulary == ("oak", "ash")


def test_missing_cells_are_missing_in_quotes_or_not():
    chunk = table(b'x,kind\n1,oak\n,\n"","NA"\n NA , ?\n-9,-9\n', missing=("", "NA", "?", "-9"))
    np.testing.assert_array_equal(chunk.numbers[:, 0], [1, *[np.nan] * 4])
    assert chunk.texts[0].codes.tolist() == [0, -1, -1, -1, -1]


def test_columns_come_in_the_order_in_which_they_are_asked_for():
    content = b"a,b,c,d\n1,oak,3,ash\n"
    file = CsvFile(io.BytesIO(content))
    (chunk,) = file.chunks(["d", "c", "b", "a"])
    assert (chunk.number_names, chunk.text_names) == (("c", "a"), ("d", "b"))
    assert chunk.numbers.tolist() == [[3, 1]]
    assert [coded.vocabulary for coded in chunk.texts] == [("ash",), ("oak",)]
    for wrong in (["a", "e"], ["a", "a"]):
        with pytest.raises(ValueError, match="columns must be different ones of"):
            CsvFile(io.BytesIO(content)).chunks(wrong)


def test_columns_that_are_not_asked_for_are_not_looked_at():
    content = b"a,b\n" + b"1,2\n" * 20 + b"x,3\n"
    (chunk,) = CsvFile(io.BytesIO(content)).chunks(["b"])
    assert chunk.n_bad == 0
    assert len(chunk) == 21


@pytest.mark.parametrize(
    ("content", "names"), [(b"1;2,5\n3;4,5\n", ("0", "1")), (b"a\tb\n1\t2\n", ("a", "b"))]
)
def test_delimiter_and_names_are_told_from_the_first_lines(content, names):
    assert CsvFile(io.BytesIO(content), header="auto" if names[0] == "a" else False).names == names


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


@settings(lean, max_examples=300)
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
