"""From files to predictions, by the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import r2_score
from typer.testing import CliRunner, Result

import bochner
from bochner import KernelClassifier, KernelRegressor
from bochner.cli import names
from bochner.cli.app import app
from bochner.features import FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.report import Run
from bochner.solvers import Solver

FORMATS = ("csv", "parquet", "svm", "npy")
ROWS = 400


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})


@pytest.fixture(scope="module")
def trees() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    kinds = rng.choice(["ash", "oak", "elm <b>"], ROWS)
    height = rng.normal(size=ROWS) + (kinds == "oak")
    label = np.where((kinds == "oak") ^ (height > 0.5), "tall, really", "short")
    return pd.DataFrame({"kind": kinds, "height": height, "label": label})


def write(frame: pd.DataFrame, format: str) -> str:
    path = f"rows.{format}"
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["y"].to_numpy()
    if format == "csv":
        frame.to_csv(path, index=False)
    elif format == "parquet":
        frame.to_parquet(path, row_group_size=100)
    elif format == "svm":
        dump_svmlight_file(X, y, path, zero_based=False)
    else:
        np.save(path, frame.to_numpy())
    return path


def target(format: str) -> list[str]:
    return {"svm": [], "npy": ["--target", "3"]}.get(format, ["--target", "y"])


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def done(*arguments: str) -> Result:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result


def told(*arguments: str) -> dict:
    return json.loads(done(*arguments, "--json", "--quiet").stdout)


def installed(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("bochner")
    start = [str(command)] if command.exists() else [sys.executable, "-m", "bochner"]
    return subprocess.run([*start, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_each_format_becomes_a_model_and_predictions(folder, frame, format):
    data = write(frame, format)
    done("fit", data, *target(format), "--task", "regression", "--out", "m.bochner", "-q")
    done("predict", "m.bochner", data, "--out", "p.npy", "-q")
    X = frame[["a", "b", "c"]].to_numpy()
    expected = KernelRegressor(random_state=0).fit(X, frame["y"]).predict(X)
    # Sparse rows are not centred, and the search for scales ends elsewhere for another rounding.
    tolerance = 1e-3 if format == "svm" else 1e-4
    np.testing.assert_allclose(np.load("p.npy").ravel(), expected, rtol=1e-4, atol=tolerance)
    assert sorted(path.name for path in folder.iterdir()) == ["m.bochner", "p.npy", data]


@pytest.mark.parametrize("format", FORMATS)
def test_the_installed_command_does_the_same(folder, frame, format):
    data = write(frame, format)
    fit = installed("fit", data, *target(format), "--task", "regression", "-o", "m.bochner")
    assert fit.returncode == 0, fit.stderr
    assert "m.bochner" in fit.stdout
    predict = installed("predict", "m.bochner", data, "--out", "-")
    assert predict.returncode == 0, predict.stderr
    header, *lines = predict.stdout.splitlines()
    assert len(lines) == ROWS
    done("predict", "m.bochner", data, "--out", "again.csv")
    assert Path("again.csv").read_text() == predict.stdout
    assert header in ("y", "3", "target", "label", "prediction")


def test_standard_input_is_a_file_too(folder, frame):
    data = Path(write(frame, "csv"))
    done("fit", str(data), "-t", "y", "-o", "m.bochner")
    predict = installed("predict", "m.bochner", "-", "-o", "-", input=data.read_text())
    done("predict", "m.bochner", str(data), "-o", "p.csv")
    assert predict.stdout == Path("p.csv").read_text()


def test_text_becomes_classes_with_probabilities(folder, trees):
    trees.to_csv("trees.csv", index=False)
    record = told("fit", "trees.csv", "-t", "label", "--test", "0.25", "-o", "m.bochner")
    assert record["task"] == "classification"
    assert 280 < record["training_rows"] < 320
    done("predict", "m.bochner", "trees.csv", "--probabilities", "-o", "p.parquet")
    found = pd.read_parquet("p.parquet")
    assert list(found) == ["label", "probability of short", "probability of tall, really"]
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1.0, rtol=1e-5)
    assert (found["label"] == trees["label"]).mean() > 0.9
    model = bochner.load("m.bochner")
    assert isinstance(model, KernelClassifier)
    np.testing.assert_array_equal(model.predict(trees[["kind", "height"]]), found["label"])


def test_the_rows_that_fit_left_out_are_those_that_evaluate_takes(folder, trees):
    trees.to_csv("trees.csv", index=False)
    record = told("fit", "trees.csv", "-t", "label", "--test", "0.25", "-o", "m.bochner")
    parts = [
        told("evaluate", "m.bochner", "trees.csv", "--part", part) for part in ("test", "train")
    ]
    assert parts[0]["scores"] == pytest.approx(record["scores"])
    assert parts[0]["rows"] + parts[1]["rows"] == ROWS
    assert parts[1]["rows"] == record["training_rows"]


def test_evaluate_writes_a_page_in_which_names_are_only_names(folder, trees):
    trees.rename(columns={"height": "<script>h</script>"}).to_csv("trees.csv", index=False)
    done("fit", "trees.csv", "-t", "label", "-o", "m.bochner")
    result = done("evaluate", "m.bochner", "trees.csv", "--report", "page.html")
    page = Path("page.html").read_text()
    assert "page.html" in result.stdout
    assert "&lt;script&gt;h" in page
    assert "<script>h" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_quantiles_and_standard_deviations_come_on_demand(folder, frame):
    data = write(frame, "csv")
    done("fit", data, "-t", "y", "--quantiles", "0.1,0.5,0.9", "-o", "q.bochner")
    done("predict", "q.bochner", data, "--quantiles", "0.1,0.9", "-o", "q.csv")
    found = pd.read_csv("q.csv")
    assert list(found) == ["quantile 0.1", "quantile 0.9"]
    assert (found["quantile 0.1"] <= found["quantile 0.9"]).all()


def test_deviations_quantiles_and_scores_of_a_gaussian_process_include_the_noise(folder, frame):
    noisy = frame.assign(y=frame["y"] + 2 * np.random.default_rng(1).normal(size=ROWS))
    data = write(noisy, "csv")
    done("fit", data, "-t", "y", "--task", "gaussian-process", "-o", "g.bochner")
    done("predict", "g.bochner", data, "--std", "--quantiles", "0.025,0.5,0.975", "-o", "g.csv")
    found, y = pd.read_csv("g.csv"), noisy["y"]
    low, middle, high = (f"quantile {share}" for share in (0.025, 0.5, 0.975))
    assert list(found) == ["y", "standard deviation", low, middle, high]
    np.testing.assert_allclose(found["y"], found[middle])
    assert 0.9 < np.mean((found[low] < y) & (y < found[high])) < 0.99
    process = bochner.load("g.bochner")
    deviation = np.sqrt(process.predict(noisy[["a", "b", "c"]], True)[1] ** 2 + process.noise_)
    np.testing.assert_allclose(found["standard deviation"], deviation, rtol=1e-5)
    likelihood = told("evaluate", "g.bochner", data)["scores"]["negative log likelihood"]
    assert likelihood == pytest.approx(-norm.logpdf(y, found["y"], deviation).mean(), rel=1e-4)
    run = Run.of(process, noisy[["a", "b", "c"]], y, seconds=None)
    assert run.scores[-1].value == pytest.approx(likelihood, rel=1e-4)


def test_notes_say_which_rows_they_are_about(folder, frame):
    holes = {"a": frame["a"].where(frame.index % 3 > 0), "y": frame["y"].where(frame.index > 4)}
    frame.assign(**holes).to_csv("holes.csv", index=False)
    skip = ["--missing-target", "skip", "--test", "0.5"]
    notes = done("fit", "holes.csv", "-t", "y", *skip, "-o", "m.bochner").stderr
    assert notes.count("Skipped 5 rows without a target.") == 1  # of all rows of the file
    assert notes.count("Missing cells in a (") == 1
    assert notes.count("Missing cells of the test rows in a (") == 1
    refused = call("compare", "holes.csv")
    assert refused.exit_code == 1
    assert "test rows" not in refused.stderr  # it ends before these are read


@pytest.mark.parametrize("task", ["regression", "gaussian-process", "quantiles"])
def test_several_targets_have_scores_of_each_and_their_means(folder, frame, task):
    frame.assign(z=100 + 5 * frame["a"]).to_csv("two.csv", index=False)
    more = ["--quantiles", "0.1,0.9"] if task == "quantiles" else []
    done("fit", "two.csv", "-t", "y,z", "--task", task, *more, "-o", "m.bochner")
    scores = told("evaluate", "m.bochner", "two.csv")["scores"]
    first = next(iter(scores))
    assert scores[first] == pytest.approx((scores[f"{first} of y"] + scores[f"{first} of z"]) / 2)
    done("predict", "m.bochner", "two.csv", "-o", "p.csv")
    found, truth = pd.read_csv("p.csv"), pd.read_csv("two.csv")
    if task == "quantiles":
        names = [f"quantile {share} of {name}" for name in "yz" for share in (0.1, 0.9)]
        assert list(found) == names
        assert (found["quantile 0.1 of z"] <= truth["z"]).mean() > 0.8
    else:
        assert list(found) == ["y", "z"]
        assert scores["R²"] == pytest.approx(r2_score(truth[["y", "z"]], found))


def test_novelty_is_learned_without_a_target_where_it_is_asked_for(folder, frame):
    frame[["a", "b"]].to_csv("rows.csv", index=False)
    refused = call("fit", "rows.csv", "-o", "m.bochner")
    assert refused.exit_code == 1
    assert "Give --target NAME, one of 'a', 'b'; or --task novelty" in refused.stderr
    assert told("fit", "rows.csv", "--task", "novelty", "-o", "m.bochner")["task"] == "novelty"
    done("predict", "m.bochner", "rows.csv", "-o", "p.csv")
    assert set(pd.read_csv("p.csv")["inside"]) <= {1, -1}


def test_compare_sets_methods_side_by_side_and_goes_on_where_one_fails(folder, frame):
    data = write(frame, "csv")
    options = ["--loss", "huber", "--methods", "direct,nystroem", "--report", "c.html"]
    record = told("compare", data, "-t", "y", *options)  # "direct" is for the squared loss
    by_name = {method["method"]: method for method in record["methods"]}
    assert set(by_name) == {"direct", "nystroem"}
    assert by_name["direct"]["error"] is not None
    assert by_name["nystroem"]["seconds"] > 0
    assert Path("c.html").stat().st_size > 10_000


@pytest.mark.parametrize("suffix", ["parquet", "npy", "svm"])
def test_convert_goes_there_and_back(folder, frame, suffix):
    frame.to_csv("rows.csv", index=False)
    done("convert", "rows.csv", f"rows.{suffix}", *(["-t", "y"] if suffix == "svm" else []))
    done("convert", f"rows.{suffix}", "back.csv")
    found = np.loadtxt("back.csv", delimiter=",", skiprows=1)  # exact, as pd.read_csv is not
    order = ["y", "a", "b", "c"] if suffix == "svm" else ["a", "b", "c", "y"]
    np.testing.assert_array_equal(found, frame[order].to_numpy())


def test_convert_keeps_text_and_what_is_missing(folder, trees):
    holes = trees.mask(np.random.default_rng(0).random(trees.shape) < 0.1)
    holes.to_csv("holes.csv", index=False)
    done("convert", "holes.csv", "holes.parquet")
    done("convert", "holes.parquet", "back.csv")
    pd.testing.assert_frame_equal(pd.read_csv("back.csv"), holes)


def test_inspect_tells_what_a_model_is(folder, trees):
    trees.to_csv("trees.csv", index=False)
    done("fit", "trees.csv", "-t", "label", "-o", "m.bochner")
    said = done("inspect", "m.bochner").stdout
    importances = said[said.index("\nimportances") :].split()
    assert set(importances[1::2]) == {"kind", "height"}
    assert sum(float(share.rstrip("%")) for share in importances[2::2]) == pytest.approx(100, abs=1)
    for word in ("KernelClassifier", "kind", "height", "tall, really", "digest"):
        assert word in said
    assert told_about("m.bochner")["names"] == ["kind", "height"]


def told_about(path: str) -> dict:
    return json.loads(done("inspect", path, "--json").stdout)


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("a,y\n1,2\n3,x\n5,6\n7,8\n" + "1,2\n" * 20, ["-t", "y"], ["rows.csv", "line 3", '"y"']),
        ("a,y\n1,2\n3\n", ["-t", "y"], ["line 3"]),
        ("a,y\n1,2\n,4\n5,6\n", ["-t", "y", "--missing", "refuse"], ["missing", "--missing own"]),
        ("a,y\n1,2\n3,4\n", ["-t", "z"], ["z", "'a', 'y'"]),
        ("", ["-t", "y"], ["empty"]),
        ("a,y\n1,2\n3,4\n", ["-t", "y", "--solver", "magic"], ["magic", "eigenpro"]),
        ("a,y\n1,2\n3,4\n", ["-t", "y", "--set", "depth=3"], ["depth", "alpha"]),
    ],
)
def test_bad_data_and_settings_are_refused_with_a_sentence(folder, content, arguments, words):
    Path("rows.csv").write_text(content)
    result = call("fit", "rows.csv", *arguments, "--out", "m.bochner")
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr
    assert [path.name for path in folder.iterdir()] == ["rows.csv"]


def test_malformed_rows_are_skipped_and_counted_if_so_asked(folder, frame):
    lines = Path(write(frame, "csv")).read_text().splitlines()
    lines[5] = "1,2,three,4"
    Path("rows.csv").write_text("\n".join(lines))
    result = done("fit", "rows.csv", "-t", "y", "--on-error", "skip", "-o", "m.bochner", "--json")
    assert json.loads(result.stdout)["skipped_rows"] == 1
    assert "line 6" in result.stderr


def test_an_error_is_json_too(folder):
    result = call("inspect", "nothing.bochner", "--json")
    assert result.exit_code == 1
    assert "nothing.bochner" in json.loads(result.stdout)["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "x.csv"],
        ["fit", "x.csv", "-o", "nowhere/m.bochner"],
        ["fit", "x.csv", "-o", "m", "--time", "soon"],
        ["fit", "x.csv", "-o", "m", "--memory", "much"],
        ["compare", "x.csv", "-t", "y", "--methods", "magic"],
    ],
)
def test_wrong_usage_has_an_exit_code_of_its_own(folder, arguments):
    assert call(*arguments).exit_code == 2


def test_a_fit_that_is_interrupted_goes_on_bit_for_bit(folder):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6_000, 5))
    np.save("rows.npy", np.column_stack([rows, np.sin(rows).sum(axis=1)]))
    arguments = ["fit", "rows.npy", "-t", "5", "--task", "regression", "--solver", "dsg"]
    arguments += ["--set", "max_passes=8"]
    done(*arguments, "-o", "whole.bochner", "-q")
    start = [sys.executable, "-m", "bochner", *arguments, "-o", "m.bochner"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [*start, "--checkpoint-every", "10ms"], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not Path("m.bochner.checkpoint").exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    if child.returncode != 0:  # else it was faster than the signal
        assert child.returncode == 130, said
        assert "--resume" in said
        assert not Path("m.bochner").exists()
        done(*arguments, "-o", "m.bochner", "--resume", "-q")
    whole, again = (bochner.load(name) for name in ("whole.bochner", "m.bochner"))
    np.testing.assert_array_equal(whole.predict(rows), again.predict(rows))
    assert not Path("m.bochner.checkpoint").exists()


def test_resume_refuses_other_options_than_those_of_the_first_run(folder, frame):
    data = write(frame, "csv")
    done("fit", data, "-t", "y", "-o", "m.bochner")
    model = bochner.load("m.bochner")
    bochner.save(model, "m.bochner.checkpoint", summary={"settings": {"seed": 1}})
    result = call("fit", data, "-t", "y", "-o", "m.bochner", "--resume")
    assert result.exit_code == 1
    assert "seed" in result.stderr


@pytest.mark.parametrize(
    ("known", "family"),
    [(names.KERNELS, Kernel), (names.SOLVERS, Solver), (names.LOSSES, Loss)],
)
def test_names_to_complete_are_those_that_there_are(known, family):
    assert set(known) <= set(family.registry)


def test_features_to_complete_are_features():
    assert set(names.FEATURES) <= set(FeatureMap.registry)


def test_every_solver_can_be_completed():
    assert set(Solver.registry) == set(names.SOLVERS)


def test_years_can_be_names_and_an_index_without_one_is_told_of(folder, frame):
    renamed = frame.rename(columns={"a": "2020", "b": "2021"})
    renamed.to_csv("rows.csv")
    result = call("fit", "rows.csv", "-t", "y", "-o", "m.bochner")
    assert result.exit_code == 1
    assert "--header yes" in result.stderr
    result = done("fit", "rows.csv", "-t", "y", "-o", "m.bochner", "--header", "yes")
    assert "--drop 'unnamed 0'" in result.stderr
    assert told_about("m.bochner")["names"] == ["unnamed 0", "2020", "2021", "c"]
    done("predict", "m.bochner", "rows.csv", "-o", "p.csv")


def test_scores_of_fit_and_compare_are_those_of_evaluate_though_categories_are_rare(folder):
    rng = np.random.default_rng(0)
    number = rng.integers(0, 60, 300)  # so that each part of the rows lacks some categories
    rare = pd.DataFrame({"kind": [f"k{k:02}" for k in number], "x": rng.normal(size=300)})
    rare.assign(y=10.0 * number).to_csv("rows.csv", index=False)
    limits = ["-t", "y", "--time", "20s"]
    fitted = told("fit", "rows.csv", "--test", "0.3", *limits, "-o", "m.bochner", "--json")
    again = told("evaluate", "m.bochner", "rows.csv", "--part", "test", "--json")
    assert fitted["scores"] == again["scores"]
    compared = told("compare", "rows.csv", "--test", "0.3", *limits, "-m", "auto", "--json")
    assert compared["methods"][0]["scores"]["RMSE"] == pytest.approx(again["scores"]["RMSE"])


def test_every_method_of_compare_takes_text(folder, trees):
    trees.head(200).assign(size=np.arange(200.0)).to_csv("trees.csv", index=False)
    methods = [name for name in names.METHODS if name not in ("averaged", "newton")]
    given = ["--methods", ",".join(methods), "--set", "max_passes=2", "--report", "c.html"]
    result = call("compare", "trees.csv", "-t", "label", *given, "--json")
    record = json.loads(result.stdout)
    assert {m["method"]: m["error"] for m in record["methods"]} == dict.fromkeys(methods)
    assert "most frequent categories of each, in cdsg, direct, dsg, eigenpro" in result.stderr
    assert "these methods need numbers" in Path("c.html").read_text()
