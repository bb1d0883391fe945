"""Several files, and files after a fit: columns mean the same in all of them."""

from __future__ import annotations

import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from bochner import Checkpoint, KernelRegressor, load
from bochner.data import Split, open_source

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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


@pytest.mark.parametrize("keep", ["auto", "disk", "no"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_files_by_scikit_learn_are_read_however_they_count_their_columns(
    tmp_path, zero_based, keep
):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 9, size=(50, 6)) * (rng.uniform(size=(50, 6)) < 0.5) / 8
    X[:40, 0] = 0.0  # the first column appears far from the beginning
    X[-1, 0] = X[-1, 5] = 1.0
    y = np.arange(50.0)
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(X, y, path, zero_based=zero_based)
    for on_error in ("raise", "skip"):
        source = open_source(path, keep=keep, on_error=on_error)
        (batch,) = source.batches(100)
        np.testing.assert_array_equal(batch.X.toarray(), X)
        assert source.schema.zero_based == zero_based
        assert source.skipped.count == 0
    part = open_source(path, split=Split("train", 0.5), keep=keep)
    assert part.schema.zero_based == zero_based
    assert part.n_columns == 6


def test_a_model_of_dense_rows_reads_sparse_files_however_they_count(tmp_path):
    (zero, one) = written(tmp_path, **{"a.svm": "1 0:5 2:1\n", "b.svm": "1 1:5 3:1\n"})
    np.save(tmp_path / "rows.npy", np.zeros((4, 4)))
    schema = open_source(tmp_path / "rows.npy", target=3).schema.without_target()
    for path in (zero, one):
        for keep in ("auto", "no"):
            (batch,) = open_source(path, schema=schema, keep=keep).batches(10)
            assert batch.X.toarray().tolist() == [[5, 0, 1]]


def test_how_columns_are_counted_can_be_said(tmp_path):
    (path,) = written(tmp_path, **{"a.svm": "1 1:5 2:1\n"})
    assert rows(open_source(path)) == [[5, 1]]
    assert rows(open_source(path, zero_based=True)) == [[0, 5, 1]]
    with pytest.raises(ValueError, match="zero_based must be one of"):
        open_source(path, zero_based="maybe")


def test_an_index_beyond_those_of_the_fit_is_a_malformed_row(tmp_path):
    paths = written(tmp_path, **{"a.svm": "1 1:5 2:1\n", "b.svm": "1 1:1\n1 2:6 9:2\n1 2:3\n"})
    schema = open_source(paths[0]).schema
    message = r"b\.svm, line 2: expected an index of at most 2, as in the rows of the fit, found 9"
    with pytest.raises(ValueError, match=message):
        open_source(paths[1], schema=schema)
    source = open_source(paths[1], schema=schema, on_error="skip")
    assert rows(source) == [[1, 0], [0, 3]]
    assert source.skipped.count == 1


def test_an_index_beside_those_of_the_fit_is_a_malformed_row(tmp_path):
    paths = written(tmp_path, **{"a.svm": "1 1:5 2:1\n", "b.svm": "1 0:6 2:2\n"})
    with pytest.raises(ValueError, match=r"b\.svm, line 1: expected an index from 1 on"):
        open_source(paths[1], schema=open_source(paths[0]).schema)


def test_an_index_that_no_memory_holds_is_a_malformed_row(tmp_path):
    (path,) = written(tmp_path, **{"a.svm": "1 1:5\n1 2000000000:1\n"})
    with pytest.raises(ValueError, match=r"line 2: expected an index of at most 16777216"):
        open_source(path)
    assert open_source(path, on_error="skip").n_columns == 1


def test_numbers_in_another_notation_are_categories_if_said_so_and_can_be_left_out(tmp_path):
    (path,) = written(tmp_path, **{"a.csv": "p;q;y\n1,5;1;2\n2,5;1;3\n"})
    with pytest.raises(ValueError, match=r'not written like 1234\.5, but "1,5"'):
        open_source(path, "y")
    assert open_source(path, "y", drop=["p"]).schema.names == ("q",)
    categories = open_source(path, "y", categorical=["p"]).schema.categories
    assert categories == (("1,5", "2,5"), None)


def test_standard_input_needs_no_labels_to_be_predicted(tmp_path, monkeypatch):
    (path,) = written(tmp_path, **{"a.csv": "a,y\n1,oak\n2,ash\n"})
    data = io.BufferedReader(io.BytesIO(b"a\n3\n"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    source = open_source("-", schema=open_source(path, "y").schema, keep="no")
    assert [batch.X.tolist() for batch in source.batches(10)] == [[[3.0]]]


def test_text_of_one_file_is_text_in_all_even_if_it_looks_like_numbers(tmp_path):
    first, second = "zip,y\n01234,a\nA12,01\n", "zip,y\n01234,01\n02345,02\n"
    source = open_source(written(tmp_path, **{"a.csv": first, "b.csv": second}), "y")
    assert source.schema.categories == (("01234", "02345", "A12"),)
    assert source.schema.labels == ("01", "02", "a")
    assert source.take(slice(2, 4)).y.tolist() == ["01", "02"]


def test_columns_beside_those_of_x_in_an_archive_can_be_chosen(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=[1, 2, 3], z=[4, 5, 6])
    assert open_source(tmp_path / "a.npz", drop=["0"]).schema.names == ("1",)
    other = open_source(tmp_path / "a.npz", target="1")
    assert other.schema.names == ("0",)
    assert other.take(slice(0, 3)).y.tolist() == [1, 3, 5]
    assert open_source(tmp_path / "a.npz").schema.targets == ("y",)
    chosen = open_source(tmp_path / "a.npz", columns=["z", "0"])
    assert chosen.take(slice(0, 3)).X.tolist() == [[4, 0], [5, 2], [6, 4]]


def test_an_array_file_that_is_cut_off_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.data.files.formats.chunk.CHUNK_ROWS", 1_024)
    path = tmp_path / "a.npy"
    np.save(path, np.ones((4_096, 2)))
    with pytest.raises(ValueError, match="has changed while it was being read"):
        open_source(path, progress=lambda progress: os.truncate(path, 100))


def test_a_row_with_two_mistakes_is_counted_once(tmp_path):
    (path,) = written(tmp_path, **{"a.csv": "a,y,w\n1,2,3\n1e99,2,\n2,,\n"})
    skipping = {"on_error": "skip", "missing_target": "skip"}
    source = open_source(path, "y", "w", dtype="float32", **skipping)
    assert source.n_rows == source.skipped.count == source.missing_targets == 1


def test_a_file_without_names_and_with_text_is_read_if_said_so(tmp_path):
    (path,) = written(tmp_path, **{"a.data": "39, state, high\n50, self, low\n"})
    with pytest.raises(ValueError, match="header=True or header=False"):
        open_source(path, 2)
    source = open_source(path, 2, header=False)
    assert source.schema.names == ("0", "1")
    assert source.schema.labels == (" high", " low")
    again = open_source(path, schema=source.schema)
    assert again.take(slice(0, 2)).X.tolist() == source.take(slice(0, 2)).X.tolist()


def test_a_checkpoint_goes_on_with_a_file_that_is_opened_again_in_the_same_way(tmp_path):
    values = np.random.default_rng(0).normal(size=(600, 2))
    lines = "".join(f"{a!r},{a * b!r}\n" for a, b in values.tolist())
    (path,) = written(tmp_path, **{"a.csv": "a,y\n" + lines})
    checkpoint = Checkpoint(tmp_path / "fit", 0)
    model = KernelRegressor(solver="dsg", max_passes=2, random_state=0, callbacks=[checkpoint])
    model.fit(open_source(path, "y", keep="no"))
    with pytest.raises(ValueError, match="checkpoint of a fit to other rows"):
        load(tmp_path / "fit").fit(open_source(path, "y"))  # which is shuffled in another way
    resumed = load(tmp_path / "fit").fit(open_source(path, "y", keep="no"))
    new = open_source(path, schema=model.schema_)
    assert (resumed.predict(new) == model.predict(new)).all()


def test_a_damaged_parquet_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.arange(100.0), "y": np.arange(100.0)}).to_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    with pytest.raises(ValueError, match=r"a\.parquet is damaged"):
        open_source(path, "y")


def test_numbers_that_single_precision_does_not_hold_are_malformed(tmp_path):
    (path,) = written(tmp_path, **{"a.csv": "a,y\n1e39,1\n2,1e39\n"})
    with pytest.raises(ValueError, match=r"line 2.*at most 3\.4e\+38, .*found 1e\+39"):
        open_source(path, "y", dtype="float32")
    source = open_source(path, "y", dtype="float32", on_error="skip")
    assert source.take(slice(0, 2)).y.tolist() == [1e39]
