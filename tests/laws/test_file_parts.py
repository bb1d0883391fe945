"""Several files, and files after a fit: columns mean the same in all of them."""

from __future__ import annotations

import pytest

from bochner.data import open_source


def written(tmp_path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def rows(source) -> list[list[float]]:
    return source.take(slice(0, 10)).X.toarray().tolist()


def test_sparse_files_count_their_columns_alike_even_if_one_never_uses_the_first(tmp_path):
    paths = written(tmp_path, **{"a.svm": "1 0:5 2:1\n", "b.svm": "1 1:6 2:2\n"})
    source = open_source(paths)
    assert rows(source) == [[5, 0, 1], [0, 6, 2]]
    assert rows(open_source(paths[1], schema=source.schema)) == [[0, 6, 2]]


def test_an_index_beside_those_of_the_fit_is_a_malformed_row(tmp_path):
    paths = written(tmp_path, **{"a.svm": "1 1:5 2:1\n", "b.svm": "1 0:6 2:2\n"})
    with pytest.raises(ValueError, match=r"b\.svm, line 1: expected an index from 1 on"):
        open_source(paths[1], schema=open_source(paths[0]).schema)


def test_an_index_that_no_memory_holds_is_a_malformed_row(tmp_path):
    (path,) = written(tmp_path, **{"a.svm": "1 1:5\n1 2000000000:1\n"})
    with pytest.raises(ValueError, match=r"line 2: expected an index of at most 16777216"):
        open_source(path)
    assert open_source(path, on_error="skip").n_columns == 1
