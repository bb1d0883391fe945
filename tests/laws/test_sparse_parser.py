"""Sparse rows are read entry for entry, or refused with their place."""

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from bochner.data.files.formats.svmlight import SvmlightFile

lean = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
doubles = st.floats(allow_nan=False, allow_infinity=False)


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
    chunk = sparse(content, zero_based=False)
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
        ("1 2147483648:1", 'expected an index of at most 16777216, found "2147483648:1"'),
        ("1 0:1", "expected an index from 1 on (the first column is 1; give zero_based=True if"),
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


def test_indices_stay_as_they_are_written_until_all_are_known():
    chunk = sparse(b"1 1:1\n1 0:1 7:2\n")
    assert chunk.indices.tolist() == [1, 0, 7]
    assert chunk.least_index == 0
