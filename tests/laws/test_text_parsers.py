"""Text is read digit for digit and letter for letter, or refused with its place."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from bochner.data.files.chunk import UnreadableFile
from bochner.data.files.csv import MISSING, CsvFile
from bochner.data.files.svmlight import SvmlightFile

lean = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
        ("1,2 1:1", 'column "label": expected one label, a finite number, found "1,2"'),
        ("oak 1:1", 'column "label": expected a finite number, found "oak"'),
        ("1 3:x", 'column "3": expected a finite number, found "x"'),
        ("1 3:", 'column "3": expected a finite number, found nothing'),
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
