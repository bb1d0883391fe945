"""Options of all commands about the text of files, missing cells and missing targets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner, Result

import bochner
from bochner import KernelRegressor
from bochner.cli.app import app
from bochner.cli.names import Task
from bochner.cli.screen import Screen
from bochner.cli.work.fitting import FitCommand
from bochner.cli.work.reading import DataOptions

ROWS = 60
NEWER = ("missing_target", "delimiter", "decimal", "encoding", "zero_based")
FIT = ("--target", "age", "--task", "regression", "--out", "m.bochner")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def trees() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    height = rng.uniform(1, 30, ROWS).round(3)
    kind = rng.choice(["Bäume", "oak"], ROWS)
    age = (2 * height + 9 * (kind == "oak")).round(3)
    return pd.DataFrame({"kind": kind, "height": height, "age": age})


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def done(*arguments: str) -> dict:
    result = call(*arguments, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: str) -> str:
    result = call(*arguments)
    assert result.exit_code == 1, result.output
    return " ".join(result.output.split())


def written(name: str, trees: pd.DataFrame, **how: str) -> str:
    trees.to_csv(name, index=False, **how)
    return name


def predicted(*arguments: str) -> list[float]:
    done("predict", "m.bochner", *arguments, "--out", "p.npy")
    return np.load("p.npy").ravel().tolist()


def test_decimal_commas_are_named_and_read_when_told(trees):
    commas = written("commas.csv", trees, sep=";", decimal=",")
    points = written("points.csv", trees)
    assert "--decimal , if the comma begins the fraction" in refused("fit", commas, *FIT)
    done("fit", commas, "--decimal", ",", *FIT)
    of_commas = predicted(commas)  # the model remembers them
    text = refused("predict", "m.bochner", points, "--out", "p.npy")
    assert "Text is read as that of the fit, with --decimal ,; say so if this file differs" in text
    assert predicted(points, "--decimal", ".") == of_commas
    scores = done("evaluate", "m.bochner", points, "--decimal", ".")["scores"]
    assert done("evaluate", "m.bochner", commas)["scores"] == scores
    done("convert", commas, "back.csv", "--decimal", ",")
    pd.testing.assert_frame_equal(pd.read_csv("back.csv"), trees)
    done("fit", points, *FIT)
    assert predicted(points) == of_commas


def test_delimiter_and_encoding_are_remembered(trees):
    odd = written("odd.csv", trees, sep="^", encoding="cp1252")
    assert "--encoding" in refused("fit", odd, "--delimiter", "^", *FIT)
    done("fit", odd, "--delimiter", "^", "--encoding", "cp1252", *FIT)
    assert bochner.load("m.bochner").schema_.categories[0] == ("Bäume", "oak")
    of_odd = predicted(odd)
    tabs = written("tabs.tsv", trees, sep="\t")
    assert predicted(tabs, "--delimiter", "tab", "--encoding", "utf-8") == of_odd
    done("convert", odd, "back.csv", "--delimiter", "^", "--encoding", "cp1252")
    pd.testing.assert_frame_equal(pd.read_csv("back.csv"), trees)
    compare = "compare", odd, "--delimiter", "^", "--encoding", "cp1252", "--methods", "direct"
    record = done(*compare, "--target", "age", "--drop", "kind", "--report", "page.html")
    assert record["methods"][0]["error"] is None


@pytest.mark.parametrize("wrong", ["ab", '"', "ä"])
def test_a_delimiter_is_one_character(trees, wrong):
    result = call("fit", written("rows.csv", trees), "--delimiter", wrong, *FIT)
    assert result.exit_code == 2
    assert "one ASCII character" in result.output


def test_sparse_rows_may_count_from_zero_when_told():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(ROWS), rng.normal(size=(ROWS, 2))])
    dump_svmlight_file(X, X[:, 1], "rows.svm", zero_based=True)
    fit = "fit", "rows.svm", "--task", "regression", "--out", "m.bochner"
    done(*fit)
    assert bochner.load("m.bochner").n_features_in_ == 2  # 1 and 2 could be the first columns
    done(*fit, "--zero-based", "yes")
    model = bochner.load("m.bochner")
    assert model.n_features_in_ == 3
    assert model.schema_.zero_based
    of_zero = predicted("rows.svm")
    dump_svmlight_file(X, X[:, 1], "ones.svm", zero_based=False)
    assert predicted("ones.svm", "--zero-based", "no") == of_zero
    done("convert", "rows.svm", "rows.csv", "--zero-based", "yes")
    assert pd.read_csv("rows.csv").shape == (ROWS, 4)


def test_missing_cells_are_treated_as_by_the_estimator(trees):
    numbers = trees.drop(columns="kind")
    numbers.loc[::7, "height"] = np.nan
    rows = written("rows.csv", numbers)
    result = call("fit", rows, *FIT)
    assert result.exit_code == 0, result.output
    assert "Missing cells in height (9)" in result.output
    assert "--missing own" in result.output
    found = predicted(rows)
    model = KernelRegressor(random_state=0).fit(numbers[["height"]], numbers["age"])
    np.testing.assert_allclose(found, model.predict(numbers[["height"]]), rtol=1e-4)
    assert "--missing own" in refused("fit", rows, "--missing", "refuse", *FIT)


@pytest.mark.parametrize("size", [1e40, 1e160, 1e-60])
def test_errors_about_sizes_name_the_column(trees, size):
    numbers = trees.assign(width=trees["height"] * size).drop(columns="kind")
    text = refused("fit", written("rows.csv", numbers), *FIT)
    assert "Column 'width'" in text
    done("fit", written("plain.csv", numbers.assign(width=1.5)), *FIT)
    if size > 1:
        predict = "predict", "m.bochner", "rows.csv", "--out", "p.csv"
        assert "Column 'width'" in refused(*predict)


def test_checkpoints_of_earlier_versions_lack_newer_options(trees):
    rows, options = written("rows.csv", trees), DataOptions(target=("age",))
    fit = FitCommand([rows], options, Task.REGRESSION, {}, 0, 0.0, Path("m.bochner"), 60, True, "")
    known = {name: value for name, value in fit.settings.items() if name not in NEWER}
    model = KernelRegressor(random_state=0).fit(trees[["height"]], trees["age"])
    bochner.save(model, fit.checkpoint, summary={"settings": known})
    screen = Screen(as_json=False, quiet=True)
    assert fit._unfinished(screen) is not None
    bochner.save(model, fit.checkpoint, summary={"settings": known | {"decimal": ","}})
    with pytest.raises(ValueError, match="these differ: decimal"):
        fit._unfinished(screen)


def test_rows_without_a_target_are_refused_or_counted(trees):
    rows = written("rows.csv", trees.assign(age=trees["age"].where(trees.index % 5 > 0)))
    for command in (
        ("fit", rows, *FIT),
        ("compare", rows, "--target", "age", "--methods", "direct"),
    ):
        text = refused(*command)
        assert "'age' is missing" in text
        assert "--missing-target skip" in text
    result = call("fit", rows, "--missing-target", "skip", *FIT)
    assert "Skipped 12 rows without a target" in result.output
    assert "48 rows" in result.output
    assert "--missing-target skip" in refused("evaluate", "m.bochner", rows)
    assert done("evaluate", "m.bochner", rows, "--missing-target", "skip")["rows"] == 48
    skipped = call("evaluate", "m.bochner", rows, "--missing-target", "skip").output
    assert "Skipped 12 rows without a target" in skipped
    assert len(predicted(rows)) == ROWS  # targets are not read
