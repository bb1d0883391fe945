"""Rows of files: the same whatever the format, where they are kept and how they are cut."""

from __future__ import annotations

import io
import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource, Batch, RandomAccess, Schema, Split, as_source, open_source
from bochner.data.storage import ArrayStore

N_ROWS = 2_000
KEPT = ["memory", "disk", "no"]


@pytest.fixture(scope="module")
def trees() -> pd.DataFrame:
    """A table of numbers and text, with a target of numbers and one of labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=N_ROWS),
            "tree": rng.choice(["oak", "ash", "elm"], N_ROWS),
            "width": rng.normal(size=N_ROWS),
        }
    )
    frame["age"] = np.sin(2 * frame.height) + frame.width * (frame.tree == "oak")
    frame["state"] = np.where(frame.age > 0, "good", "bad")
    return frame


@pytest.fixture(scope="module")
def folder(trees, tmp_path_factory):
    """The table in files, whole and in two parts."""
    folder = tmp_path_factory.mktemp("files")
    numbers = trees[["height", "width", "age"]]
    trees.to_csv(folder / "trees.csv", index=False)
    trees.to_parquet(folder / "trees.parquet", row_group_size=300)
    np.save(folder / "numbers.npy", numbers.to_numpy())
    np.save(folder / "single.npy", numbers.to_numpy(np.float32))
    np.savez(folder / "numbers.npz", X=numbers.to_numpy()[:, :2], y=trees.age)
    np.savez_compressed(folder / "packed.npz", X=numbers.to_numpy()[:, :2], y=trees.age)
    text = as_lines(numbers.to_numpy()[:, :2], trees.age.to_numpy())
    (folder / "numbers.svm").write_text(text)
    (folder / "parts").mkdir()
    for part, rows in enumerate((trees[:700], trees[700:])):
        rows.to_csv(folder / "parts" / f"{part}.csv", index=False)
    return folder


def whole(source) -> Batch:
    return Batch.join(list(source.batches(333)))


def assert_same(one: Batch, other: Batch) -> None:
    for name in ("X", "y", "index", "weight"):
        first, second = getattr(one, name), getattr(other, name)
        first = first.toarray() if hasattr(first, "toarray") else first
        np.testing.assert_array_equal(first, second, strict=second is not None)


def as_lines(X: np.ndarray, y: np.ndarray) -> str:
    rows = (" ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row)) for row in X.tolist())
    return "".join(f"{label!r} {row}\n" for label, row in zip(y.tolist(), rows, strict=True))


NUMBERS = {
    "trees.csv": {"target": "age", "columns": ["height", "width"]},
    "trees.parquet": {"target": "age", "columns": ["height", "width"]},
    "numbers.npy": {"target": -1},
    "numbers.npz": {},
    "packed.npz": {},
    "numbers.svm": {},
}


@pytest.mark.parametrize("keep", ["auto", *KEPT])
@pytest.mark.parametrize("name", NUMBERS)
def test_rows_of_every_format_are_those_of_the_array_bit_for_bit(folder, trees, name, keep):
    expected = whole(ArraySource(trees[["height", "width"]].to_numpy(), trees.age.to_numpy()))
    source = open_source(folder / name, **NUMBERS[name], keep=keep)
    assert_same(whole(source), expected)
    assert isinstance(source, RandomAccess) == (keep != "no")
    places = np.array([5, 1_999, 0, 5, 700])
    if isinstance(source, RandomAccess):
        assert_same(source.take(places), expected[places])
        assert_same(source.take(slice(10, 400, 7)), expected[10:400:7])


def test_single_precision_is_kept_and_can_be_asked_for(folder, trees):
    source = open_source(folder / "single.npy", target=2)
    assert source.sample(3).X.dtype == np.float32
    assert open_source(folder / "trees.csv", "age", dtype="float32").sample(3).X.dtype == np.float32
    assert open_source(folder / "trees.csv", "age").sample(3).X.dtype == np.float64


@pytest.mark.parametrize("name", ["trees.csv", "trees.parquet"])
@pytest.mark.parametrize("keep", KEPT)
def test_text_becomes_its_place_among_the_sorted_categories(folder, trees, name, keep):
    source = open_source(folder / name, target="state", drop=["age"], keep=keep)
    assert source.schema.categories == (None, ("ash", "elm", "oak"), None)
    assert source.schema.labels == ("bad", "good")
    rows = whole(source)
    np.testing.assert_array_equal(rows.X[:, 1], pd.Categorical(trees.tree).codes)
    np.testing.assert_array_equal(rows.y, trees.state.to_numpy(str))


@pytest.mark.parametrize("paths", ["parts", "parts/*.csv", ["parts/0.csv", "parts/1.csv"]])
def test_folders_patterns_and_lists_of_files_are_one_table(folder, paths):
    given = folder / paths if isinstance(paths, str) else [folder / path for path in paths]
    both = open_source(given, target="age", drop=["state"])
    assert_same(whole(both), whole(open_source(folder / "trees.csv", "age", drop=["state"])))


@pytest.mark.parametrize("name", ["trees.csv", "trees.parquet", "numbers.npy", "numbers.svm"])
@pytest.mark.parametrize("keep", ["auto", *KEPT])
def test_splits_are_disjoint_and_complete_whatever_is_kept(folder, trees, name, keep):
    target = {"npy": {"target": 2}, "svm": {}}.get(name[-3:], {"target": "age"})
    parts = [
        whole(open_source(folder / name, **target, keep=keep, split=Split(part, 0.3, seed=4)))
        for part in ("train", "test")
    ]
    assert 0.25 < len(parts[1]) / N_ROWS < 0.35
    values = np.concatenate([part.y for part in parts])
    np.testing.assert_array_equal(np.sort(values), np.sort(trees.age))
    expected = Split("test", 0.3, seed=4).among(np.arange(N_ROWS))
    np.testing.assert_array_equal(parts[1].y, trees.age[expected])


@pytest.mark.parametrize("keep", ["memory", "disk"])
def test_a_model_of_a_file_is_that_of_the_data_frame(folder, trees, keep):
    X, y = trees[["height", "tree", "width"]], trees.age
    source = open_source(folder / "trees.csv", "age", drop=["state"], keep=keep)
    ours = KernelRegressor(solver="cg", random_state=0).fit(source)
    theirs = KernelRegressor(solver="cg", random_state=0).fit(X, y)
    expected = theirs.predict(X)
    for rows in (X, source, as_source(source.take(slice(0, N_ROWS)).X)):
        np.testing.assert_allclose(ours.predict(rows), expected, rtol=1e-12)
    np.testing.assert_array_equal(ours.weights_, theirs.weights_)
    assert list(ours.feature_names_in_) == list(X)
    assert ours.score(source) == pytest.approx(theirs.score(X, y))


def test_labels_of_text_come_back_as_text_and_new_files_are_read_by_the_schema(folder, trees):
    source = open_source(folder / "trees.parquet", target="state", drop=["age"])
    model = KernelClassifier(random_state=0, solver="cg").fit(source)
    assert model.classes_.tolist() == ["bad", "good"]
    shuffled = trees[["width", "state", "tree", "height", "age"]].replace("elm", "fir")
    shuffled.to_csv(folder / "new.csv", index=False)
    schema = Schema.from_dict(model.schema_.to_dict())
    new = open_source(folder / "new.csv", schema=schema.without_target(), keep="no")
    found = [model.predict(as_source(batch.X)) for batch in new.batches(300)]
    frame = shuffled[["height", "tree", "width"]]
    np.testing.assert_array_equal(np.concatenate(found), model.predict(frame))
    np.testing.assert_array_equal(np.concatenate(found), model.predict(new))
    judged = open_source(folder / "new.csv", schema=schema)
    assert model.score(judged) == pytest.approx(model.score(frame, trees.state))


def test_another_file_with_categories_of_its_own_is_refused(folder, trees):
    model = KernelRegressor(random_state=0, solver="cg")
    model.fit(open_source(folder / "trees.csv", "age", drop=["state"]))
    trees[trees.tree != "oak"].to_csv(folder / "few.csv", index=False)
    with pytest.raises(ValueError, match=r"schema=model\.schema_"):
        model.predict(open_source(folder / "few.csv", "age", drop=["state"]))


def written(tmp_path, text: str, name: str = "table.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


GAPS = "a,b,t,y\n1,5,x,1\n,7,y,2\n3,,,3\n5,1,x,4\n"


def test_missing_cells_are_refused_by_name_count_and_line(tmp_path):
    with pytest.raises(ValueError, match=r"'a' has 1 missing.*table.csv, line 3.*missing='own'"):
        open_source(written(tmp_path, GAPS), "y", missing="refuse")
    schema = Schema(("a",), (None,))
    stream = open_source(written(tmp_path, GAPS), schema=schema, keep="no")
    with pytest.raises(ValueError, match="'a' has 1 missing"):
        list(stream.batches(2))


def test_missing_cells_are_by_default_what_they_are_in_a_data_frame(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "kind": rng.choice(["ash", "oak"], 90)})
    y = frame.a + (frame.kind == "oak")
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "kind"] = None
    frame.assign(y=y).to_csv(tmp_path / "gaps.csv", index=False)
    source = open_source(tmp_path / "gaps.csv", "y")
    by_file = KernelRegressor(random_state=0).fit(source)
    by_frame = KernelRegressor(random_state=0).fit(frame, y)
    np.testing.assert_array_equal(by_file.predict(source), by_frame.predict(frame))
    new = open_source(tmp_path / "gaps.csv", schema=by_file.schema_, keep="no")
    np.testing.assert_array_equal(by_file.predict(new), by_frame.predict(frame))


@pytest.mark.parametrize("keep", ["auto", "disk", "no"])
@pytest.mark.parametrize(
    ("text", "target"),
    [("a,y\n1,1\n2,\n3,3\n4,NA\n", "y"), ("a,y\n1,ash\n2,\n3,oak\n4,NA\n", "y"),
     ("a,y,z\n1,1,1\n2,,1\n3,3,1\n4,4,\n", ["y", "z"])],
)  # fmt: skip
def test_rows_without_a_target_are_no_malformed_rows(tmp_path, text, target, keep):
    path = written(tmp_path, text)
    for on_error in ("raise", "skip"):
        with pytest.raises(ValueError, match=r"line 3: the target 'y' is missing.*_target='skip'"):
            open_source(path, target, on_error=on_error)
    source = open_source(path, target, missing_target="skip", keep=keep)
    assert source.missing_targets == 2
    assert source.skipped.count == 0
    (batch,) = source.batches(10)
    assert batch.X.tolist() == [[1], [3]]
    again = open_source(path, schema=source.schema, missing_target="skip", keep="no")
    assert sum(map(len, again.batches(10))) == 2
    assert again.missing_targets == 2


def test_array_files_without_some_targets_are_read_too(tmp_path):
    np.save(tmp_path / "rows.npy", [[1.0, 1.0], [2.0, np.nan], [3.0, 3.0]])
    with pytest.raises(ValueError, match=r"line 2: the target '1' is missing"):
        open_source(tmp_path / "rows.npy", -1)
    assert open_source(tmp_path / "rows.npy", -1, missing_target="skip").n_rows == 2


def test_a_table_of_which_no_row_has_a_target_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"at least one row.* 2 rows lack the target"):
        open_source(written(tmp_path, "a,y\n1,\n2,\n"), "y", missing_target="skip")


@pytest.mark.parametrize(
    ("missing", "filling"), [("own", (13.0, 19.0)), ("mean", (3.0, 13 / 3)), ("median", (3.0, 5.0))]
)
def test_what_stands_for_missing_numbers_is_chosen_and_kept(tmp_path, missing, filling):
    source = open_source(written(tmp_path, GAPS), "y", missing=missing)
    assert source.schema.filling[:2] == pytest.approx(filling)
    assert source.missing_cells == {"a": 1, "b": 1, "t": 1}
    assert source.schema.categories[2] == ("missing", "x", "y")
    assert np.isnan(source.take(slice(0, 4)).X).sum() == 2
    model = KernelRegressor(random_state=0).fit(source)
    gap, full = np.array([[np.nan, 5.0, 1.0]]), np.array([[filling[0], 5.0, 1.0]])
    assert model.predict(as_source(gap)) == model.predict(as_source(full))


BROKEN = "a,y\n1,1\nx,2\n3,3\n4\n5,\n6,6\n" + "7,7\n" * 30


def test_malformed_rows_are_an_error_with_their_place_or_counted(tmp_path):
    path = written(tmp_path, BROKEN)
    with pytest.raises(ValueError, match=r'table.csv, line 3, column "a".*on_error=.skip'):
        open_source(path, "y")
    source = open_source(path, "y", on_error="skip", missing_target="skip")
    assert source.n_rows == 33
    assert source.skipped.count == 2
    for sentence, line in zip(source.skipped.first, (3, 5), strict=True):
        assert f"table.csv, line {line}" in sentence


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path):
    path = written(tmp_path, "a,y\n" + "1,2\n" * 100)

    def change(progress) -> None:
        with open(path, "a") as file:
            file.write("3,4\n")

    with pytest.raises(ValueError, match=r"has changed while it was being read.*start again"):
        open_source(path, "y", progress=change)
    np.save(tmp_path / "rows.npy", np.eye(3))
    source = open_source(tmp_path / "rows.npy")
    np.save(tmp_path / "rows.npy", np.eye(4))
    with pytest.raises(ValueError, match="has changed"):
        source.sample(1)


def test_a_full_disk_is_an_error_with_a_remedy(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bochner.data.storage._write", full)
    with pytest.raises(OSError, match="TMPDIR"):
        open_source(written(tmp_path, "a,y\n1,2\n3,4\n"), "y", keep="disk")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {"target": "y"}, "empty"),
        ("a,y\n", {"target": "y"}, "at least one row"),
        ("a,y\n1,2\n", {"target": "z"}, "no column 'z'. It has 'a', 'y'"),
        ("a,y\n1,2\n", {"target": "y", "drop": ["a"]}, "no column left"),
        ("a,y\n1,2\n", {"target": "y", "columns": ["y"]}, "neither a target"),
        ("a,y\n1,2\n", {"target": "y", "weight": "y"}, "'y' cannot be both target and weight"),
        ("a,y\n1,2\n", {"target": ["y", "y"]}, "Targets must be different columns"),
        ("a,a,y\n1,2,3\n", {"target": "y"}, "two columns are called"),
        ("a,y\n1,2\n", {"missing": "guess"}, "missing must be one of"),
        ("a,y\n1,2\n", {"keep": "maybe"}, "keep must be one of"),
        ("a,y\n1,2\n", {"format": "xls"}, "format must be one of"),
        ("a,w\n1,2\n3,-1\n", {"weight": "w"}, r'line 3, column "w".*from 0 on'),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_sentence(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        open_source(written(tmp_path, text), **options)


def test_files_that_are_not_there_or_not_alike_are_refused(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match="no file"):
        open_source(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="No file matches"):
        open_source(tmp_path / "*.csv")
    with pytest.raises(FileNotFoundError, match="has no file"):
        open_source(tmp_path)
    with pytest.raises(ValueError, match="one format; got csv, parquet"):
        open_source([folder / "trees.csv", folder / "trees.parquet"])
    other = written(tmp_path, "height,tree\n1,oak\n")
    with pytest.raises(ValueError, match=r"same columns, but .*table\.csv has no 'width'"):
        open_source([folder / "trees.csv", other])


@pytest.mark.parametrize("name", ["trees.csv", "trees.parquet"])
def test_standard_input_is_a_file_too(folder, monkeypatch, name):
    def open_standard_input(**options):
        data = io.BufferedReader(io.BytesIO((folder / name).read_bytes()))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
        return open_source("-", **options)

    expected = open_source(folder / name, "age", drop=["state"])
    assert_same(whole(open_standard_input(target="age", drop=["state"])), whole(expected))
    stream = open_standard_input(schema=expected.schema, keep="no")
    assert_same(whole(stream), whole(expected))
    if name.endswith("csv"):
        assert stream.once
        with pytest.raises(ValueError, match="read once"):
            open_standard_input(target="age", keep="no")


def test_numbers_named_as_categories_are_text_without_fractions(tmp_path):
    path = written(tmp_path, "zip,y\n1,1\n1.0,2\n20,3\n3,4\n")
    source = open_source(path, "y", categorical=["zip"])
    assert source.schema.categories == (("1", "20", "3"),)
    pd.read_csv(path).to_parquet(tmp_path / "table.parquet")
    other = open_source(tmp_path / "table.parquet", "y", categorical=["zip"])
    assert_same(whole(source), whole(other))
    model = KernelRegressor(random_state=0).fit(source)
    frame = pd.DataFrame({"zip": [1, 20, 3, 4]})
    codes = as_source(np.array([[0.0], [1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(model.predict(frame), model.predict(codes))


def test_several_targets_weights_and_whole_numbers_are_read(tmp_path):
    source = open_source(written(tmp_path, "a,u,v,w\n1,2,3,0.5\n2,4,5,1\n"), ["u", "v"], "w")
    rows = whole(source)
    assert rows.y.tolist() == [[2, 3], [4, 5]]
    assert rows.y.dtype == np.int64
    assert rows.weight.tolist() == [0.5, 1.0]
    assert source.schema.names == ("a",)


def test_progress_is_told_to_the_end(folder):
    told: list = []
    open_source(folder / "trees.parquet", "age", progress=told.append)
    assert told[-1].bytes_read == told[-1].bytes_total == os.path.getsize(folder / "trees.parquet")
    assert told[-1].rows == N_ROWS
    assert all(a.rows <= b.rows for a, b in pairwise(told))


def test_results_do_not_depend_on_chunks(folder, trees, monkeypatch):
    options = {"target": "age", "drop": ["state"], "missing": "mean", "keep": "no"}
    before = open_source(folder / "trees.parquet", **options)
    monkeypatch.setattr("bochner.data.files.formats.chunk.CHUNK_ROWS", 77)
    after = open_source(folder / "trees.parquet", **options)
    assert before.schema == after.schema
    assert_same(whole(before), whole(after))
    assert_same(before.sample(50), after.sample(50))


def test_columns_of_kept_codes_stay_contiguous_on_disk():
    codes = np.asfortranarray(np.arange(60, dtype=np.int32).reshape(20, 3))[:13]
    kept = ArrayStore(memory=0).put(codes)
    assert isinstance(kept, np.memmap)
    assert kept[:, 1].flags.c_contiguous
    np.testing.assert_array_equal(kept, codes)


def test_rows_that_are_not_kept_are_mixed_to_learn_from_and_predicted_in_their_order(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=4_000), "b": rng.normal(size=4_000)})
    frame["state"] = np.where(frame.a > 0, "up", "down")
    frame = frame.sort_values("state")
    frame.to_parquet(tmp_path / "sorted.parquet", index=False)
    source = open_source(tmp_path / "sorted.parquet", "state", keep="no")
    model = KernelClassifier(random_state=0).fit(source)
    assert model.score(source) > 0.95
    np.testing.assert_array_equal(model.predict(source), model.predict(frame[["a", "b"]]))


def test_row_groups_come_in_a_new_order_each_pass_and_keep_their_numbers(tmp_path):
    path = tmp_path / "groups.parquet"
    frame = pd.DataFrame({"a": np.arange(1_000.0), "y": np.arange(1_000.0)})
    frame.loc[7, "y"] = np.inf  # a malformed row in the first group moves the numbers of the others
    frame.to_parquet(path, index=False, row_group_size=100)
    options = {"keep": "no", "on_error": "skip", "split": Split("train", 0.3)}
    source = open_source(path, "y", **options)
    plain = Batch.join(list(source.batches(64)))
    passes = [Batch.join(list(source.mixed().batches(64, 1, number))) for number in (0, 1, 0)]
    for one in passes:
        order = np.argsort(one.index)
        np.testing.assert_array_equal(one.X[order], plain.X)
        np.testing.assert_array_equal(one.index[order], plain.index)
    np.testing.assert_array_equal(passes[0].index, passes[2].index)
    assert not np.array_equal(passes[0].index, passes[1].index)
    assert not np.array_equal(passes[0].index, plain.index)
