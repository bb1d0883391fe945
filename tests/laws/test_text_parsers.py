"""Text is read digit for digit and letter for letter, or refused with its place."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bochner.data.files.formats.chunk import BAD_SHOWN, UnreadableFile
from bochner.data.files.formats.csv import MISSING, CsvFile

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
    # Without quotes a carriage return at the end of a line is part of the line's end.
    assume(quoting == csv.QUOTE_ALL or not any(row[2].endswith("\r") for row in rows))
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


@pytest.mark.parametrize("cell", ["1,5", "1.234,5", "1,234.5", "12%", "0x1F"])
def test_columns_of_numbers_in_another_notation_are_not_taken_for_text(cell):
    content = f"x;y\n{cell};1\n;2\n{cell};3\n".encode()
    with pytest.raises(UnreadableFile, match=r't\.csv: column "x" seems to hold numbers'):
        table(content)
    assert table(content, text=("x",)).texts[0].vocabulary == (cell,)


@lean
@given(st.lists(doubles, min_size=1), st.sampled_from(["%r", "%.17g", "%.25e", "%.3f"]))
def test_numbers_with_a_decimal_comma_are_those_with_a_point(numbers, form):
    cells = [form % number for number in numbers]
    exact = np.array([float(cell) for cell in cells])
    lines = "".join(f"{cell.replace('.', ',')};1.5\n" for cell in cells)
    chunk = table(("x;v\n" + lines).encode(), decimal=",", text=("v",))
    np.testing.assert_array_equal(chunk.numbers[:, 0].view(np.uint64), exact.view(np.uint64))
    assert chunk.texts[0].vocabulary == ("1.5",)  # text is read as it is written


def test_a_point_among_decimal_commas_is_refused():
    chunk = table(b"x\n" + b"1,5\n" * 30 + b"2.5\n1.234,5\nNA\n", decimal=",")
    assert [row.line for row in chunk.bad] == [32, 33]
    assert 'found "2.5"' in str(chunk.bad[0])
    np.testing.assert_array_equal(chunk.numbers[:, 0], [1.5] * 30 + [np.nan])


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"a;b\n1,5;2\n2,25;3\n", r'"1,5". Give decimal=\',\' if the comma begins the fraction'),
        (b"1,5;2,5\n3,5;2\n", r"Give decimal=\',\' if"),
        (b"a;b\n1.234,5;2\n2,25;3\n", "Rewrite them"),
    ],
)
def test_decimal_commas_are_recognised(content, advice):
    with pytest.raises(UnreadableFile, match=advice):
        table(content)


def test_percentages_may_be_names():
    assert CsvFile(io.BytesIO(b"10%,90%\n1,2\n3,4\n"), name="t").names == ("10%", "90%")


def test_fields_and_fractions_are_separated_by_different_signs():
    with pytest.raises(ValueError, match="cannot separate both fields and fractions"):
        table(b"a,b\n1,2\n", delimiter=",", decimal=",")


def test_a_stream_of_text_is_refused():
    with pytest.raises(TypeError, match="Open the file as 'rb'"):
        CsvFile(io.StringIO("x\n1\n"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "t.csv has no rows: it is empty"),
        (b"\xef\xbb\xbf\n \n", "it is empty"),
        (b"\xff\xfea\x00\n\x00\x00\xd8\n\x00", "is not text in utf-16: .*encoding="),
        (b"a\r1\r2\r", "carriage return alone"),
        (b"a,a\n1,2\n", 'line 1: two columns are called "a"'),
        (b"a,\xe4\n1,2\n", "line 1: the name .* is not text in UTF-8"),
        (b'"a"b,c\n1,2\n', "line 1: text follows a closing quote"),
        (b"39,oak\n40,ash\n", "line 1: .* may hold names or a row. Give header="),
        (b'a,b\n1,"2', "line 2: a quote is opened here and never closed"),
        (b'"a,b\n1,2', "no complete row"),
    ],
)
def test_files_that_cannot_be_read_say_why(content, sentence):
    with pytest.raises(UnreadableFile, match=sentence):
        list(CsvFile(io.BytesIO(content), name="t.csv").chunks())


def test_bad_rows_are_counted_and_some_of_them_described():
    chunk = table(b"x,y\n" + b"1,2\n" * 5000 + b"1\n" * 300 + b'1,"2"3\n' * 200)
    assert chunk.n_bad == 500
    assert len(chunk.bad) == BAD_SHOWN
    assert str(chunk.bad[0]) == "t.csv, line 5002: expected 2 fields, found 1 field."
    assert len(chunk) == 5000


def test_text_that_is_not_utf8_is_a_bad_row():
    chunk = table(b"x,kind\n1,oak\n2,\xff\n3,ash\n", text=["kind"])
    assert [str(row) for row in chunk.bad] == [
        't.csv, line 3, column "kind": expected text in UTF-8, '
        "found other bytes, perhaps of encoding='cp1252'."
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
    ("content", "names"), [(b"1;a,b\n3;c,d\n", ("0", "1")), (b"a\tb\n1\t2\n", ("a", "b"))]
)
def test_delimiter_and_names_are_told_from_the_first_lines(content, names):
    assert CsvFile(io.BytesIO(content), header="auto" if names[0] == "a" else False).names == names
