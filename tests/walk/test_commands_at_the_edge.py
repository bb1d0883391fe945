"""Commands at the edge: odd names, no rows, and what is left where something is wrong."""

from __future__ import annotations

import gc
import json
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from typer.testing import CliRunner, Result

import bochner
from bochner.cli.app import COMMANDS, app
from bochner.cli.work.pages import summarize
from bochner.cli.work.reading import ReadingBar
from bochner.cli.work.table_files import table_writer
from bochner.data import open_source
from bochner.estimators.automatic.scales import KernelTuning

RNG = np.random.default_rng(0)
ROWS = [f"{a:.4f},{b:.4f},{np.sin(a) + b:.4f}" for a, b in RNG.normal(size=(30, 2))]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("rows.csv")
    path.write_text("\n".join(["a,b,y", *ROWS]))
    return path


def call(*arguments: str, **options: object) -> Result:
    return CliRunner().invoke(app, arguments, **options)


def test_a_model_is_kept_where_there_is_no_row_to_judge_it_by(rows):
    result = call("fit", str(rows), "-t", "y", "--test", "0.001", "-o", "m.bochner", "--json")
    assert result.exit_code == 1
    assert "m.bochner was saved" in json.loads(result.stdout)["error"]
    assert bochner.load("m.bochner").n_features_in_ == 2


@pytest.mark.parametrize(
    "arguments", [["fit", "-", "--test", "0.3", "-o", "m.bochner"], ["compare", "-"]]
)
def test_standard_input_is_refused_before_the_work_where_rows_are_read_twice(rows, arguments):
    result = call(*arguments, "-t", "y", input=rows.read_text())
    assert result.exit_code == 1
    assert "Put the rows into a file" in result.stderr


def test_compare_needs_no_target_where_the_format_has_one(rows):
    assert call("convert", str(rows), "rows.svm", "-t", "y").exit_code == 0
    result = call("compare", "rows.svm", "--methods", "direct", "--report", "c.html", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["methods"][0]["error"] is None


def test_compare_without_a_target_says_what_is_needed(rows):
    result = call("compare", str(rows))
    assert result.exit_code == 1
    assert "give --target NAME, of 'a', 'b', 'y'" in result.stderr


def test_compare_fails_where_every_method_does(rows):
    options = ["--loss", "huber", "--methods", "direct", "--report", "c.html", "--json"]
    result = call("compare", str(rows), "-t", "y", *options)  # "direct" is for the squared loss
    assert result.exit_code == 1
    assert json.loads(result.stdout)["methods"][0]["error"] is not None


def test_a_column_whose_name_has_a_comma_can_be_named(rows):
    rows.write_text("\n".join(['a,b,"y, net"', *ROWS]))
    result = call("fit", str(rows), "-t", '"y, net"', "-o", "m.bochner", "--json")
    assert result.exit_code == 0, result.output
    assert bochner.read_header("m.bochner").names == ["a", "b"]


def test_a_page_tells_a_command_that_a_shell_takes_as_it_was_given(rows, monkeypatch):
    monkeypatch.setattr("sys.argv", ["bochner", "compare", "my rows.csv", "-t", "y"])
    rows.rename("my rows.csv")
    result = call("compare", "my rows.csv", "-t", "y", "-m", "direct", "--report", "c.html")
    assert result.exit_code == 0, result.output
    assert "&#39;my rows.csv&#39; -t y" in Path("c.html").read_text()


@pytest.fixture
def model(rows: Path) -> str:
    fit = call("fit", str(rows), "-t", "y", "--missing", "refuse", "-o", "m.bochner")
    assert fit.exit_code == 0, fit.output
    return "m.bochner"


@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.parquet"])
def test_no_rows_are_refused_whatever_is_written(rows, model, name):
    rows.write_text("a,b\n")
    for command in (["predict", model, str(rows), "-o", name], ["convert", str(rows), name]):
        result = call(*command)
        assert result.exit_code == 1, result.output
        assert "no rows" in result.stderr
        assert not Path(name).exists()


def test_predict_advises_no_option_that_it_does_not_have(rows, model):
    rows.write_text("a,b\n1,\n")
    result = call("predict", model, str(rows), "-o", "p.csv")
    assert result.exit_code == 1
    assert "line 2" in result.stderr
    assert "`bochner fit --missing own`" in result.stderr
    assert "--drop" not in result.stderr


def test_an_error_about_a_model_names_its_file(rows):
    Path("half.bochner").write_bytes(b"this is no model at all")
    result = call("predict", "half.bochner", str(rows), "-o", "p.csv")
    assert result.exit_code == 1
    assert "half.bochner: " in result.stderr


def test_text_that_begins_with_missing_cells_is_written_to_parquet(tmp_path):
    path = tmp_path / "text.parquet"
    with table_writer(str(path)) as file:
        for cells in ([None, None], ["ash", None]):
            file.write({"tree": np.array(cells, object)})
    assert pd.read_parquet(path)["tree"].fillna("").tolist() == ["", "", "ash", ""]


def test_a_table_that_fails_halfway_leaves_nothing_and_says_nothing_more(tmp_path, capfd):
    def write() -> None:
        with table_writer(f"{tmp_path}/a.parquet") as file:
            file.write({"a": np.zeros(2)})
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write()
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""


def test_standard_output_is_json_alone(rows, model):
    for command in (["predict", model, str(rows), "-o", "-"], ["convert", str(rows), "-"]):
        assert "error" in json.loads(call(*command, "--json").stdout)


def test_a_fit_that_begins_anew_tells_of_the_checkpoint_that_it_writes_over(rows, model):
    Path(model).rename("m.bochner.checkpoint")
    result = call("fit", str(rows), "-t", "y", "-o", model)
    assert result.exit_code == 0, result.output
    assert "m.bochner.checkpoint of an earlier run" in result.stderr


@pytest.mark.parametrize("command", [function.__name__ for function in COMMANDS])
def test_the_help_of_every_command_has_examples(command):
    assert "Examples:" in call(command, "--help").stdout


def test_a_page_about_wide_sparse_rows_keeps_them_sparse(rows, monkeypatch):
    Path("wide.svm").write_text("".join(f"{k % 2} {k}:1 50000:{k}\n" for k in range(1, 30)))
    monkeypatch.setattr(csr_matrix, "toarray", None)  # gigabytes, of a sample of a text corpus
    first, *_, last = summarize(open_source("wide.svm")).columns
    assert (first.low, first.mean, first.high) == (0.0, pytest.approx(1 / 29), 1.0)
    assert (last.low, last.mean, last.high) == (1.0, 15.0, 29.0)


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(rows, model):
    os.mkfifo("pipe.csv")
    result = call("predict", model, str(rows), "-o", "pipe.csv")
    assert result.exit_code == 1, result.output
    assert "device or a pipe" in result.stderr
    assert call("fit", "nothing.csv", "-o", "pipe.csv").exit_code == 2  # before the work begins
    assert Path("pipe.csv").is_fifo()


def press(*given: object) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("old", [False, True])
def test_an_interruption_while_rows_are_read_says_what_was_kept(rows, monkeypatch, old):
    if old:
        Path("m.bochner.checkpoint").write_bytes(b"of an earlier run")
    monkeypatch.setattr(ReadingBar, "__call__", press)
    result = call("fit", str(rows), "-t", "y", "-o", "m.bochner", "--test", "0")
    assert result.exit_code == 130
    assert "while the rows were read" in result.stderr
    assert "m.bochner was not written" in result.stderr
    assert ("of an earlier run is as it was" in result.stderr) == old
    assert not Path("m.bochner").exists()


def test_an_interruption_of_the_search_says_what_was_kept(rows, monkeypatch):
    monkeypatch.setattr(KernelTuning, "run", press)
    result = call("fit", str(rows), "-t", "y", "-o", "m.bochner")
    assert result.exit_code == 130
    assert "nothing was kept, and m.bochner was not written" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["rows.csv"]


def test_an_interruption_while_a_model_is_saved_waits_for_the_file(rows, monkeypatch):
    save = bochner.save

    def interrupted(model, path, **more):
        press()
        save(model, path, **more)

    monkeypatch.setattr(bochner, "save", interrupted)
    result = call("fit", str(rows), "-t", "y", "-o", "m.bochner", "--test", "0.5")
    assert result.exit_code == 130
    assert "interrupted; m.bochner was saved." in result.stderr
    assert bochner.load("m.bochner").n_features_in_ == 2
    assert sorted(path.name for path in Path().iterdir()) == ["m.bochner", "rows.csv"]


@pytest.mark.parametrize(
    ("work", "arguments", "out"),
    [
        ("reading.load_model", ["predict", "m.bochner", "rows.csv", "-o"], "p.csv"),
        ("reading.load_model", ["evaluate", "m.bochner", "rows.csv", "--report"], "page.html"),
        ("conversion.convert_files", ["convert", "rows.csv"], "rows.parquet"),
        ("fitting.FitCommand.run", ["fit", "rows.csv", "-t", "y", "-o"], "new.bochner"),
        ("comparison.CompareCommand.run", ["compare", "rows.csv", "--report"], "page.html"),
    ],
)
def test_an_interruption_names_the_file_that_was_not_written(
    rows, model, monkeypatch, work, arguments, out
):
    monkeypatch.setattr(f"bochner.cli.work.{work}", press)
    result = call(*arguments, out)
    assert result.exit_code == 130
    assert f"interrupted; {out} was not written." in result.stderr
    assert not Path(out).exists()


def test_a_reader_who_leaves_early_is_no_error(rows, model, monkeypatch):
    def broken(*given, **more):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("bochner.cli.work.reading.load_model", broken)
    result = call("predict", "m.bochner", str(rows), "-o", "-")
    assert result.exit_code == 1
    assert "Error" not in result.stderr


def test_a_page_has_the_ranges_of_columns_with_missing_cells(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("a,b,c,y\n1,2,,1\n,4,,2\n4,,,3\n")
    a, b, c = summarize(open_source(path, "y")).columns
    assert (a.missing, a.low, a.mean, a.high) == (1, 1.0, 2.5, 4.0)
    assert (b.missing, b.low, b.mean, b.high) == (1, 2.0, 3.0, 4.0)
    assert c.missing == 3
    assert np.isnan(c.mean)
