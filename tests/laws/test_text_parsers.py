"""Text is read digit for digit and letter for letter, or refused with its place."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bochner.data.files.chunk import UnreadableFile
from bochner.data.files.csv import MISSING, CsvFile

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
