"""What the commands carry over, suggest and ask for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from typer.testing import CliRunner, Result

from bochner.cli.app import app
from bochner.kernels import Gaussian, Kernel
from bochner.kernels.scikit_learn_names import REFUSED

CELLS = """code,x,when,note,price
007,1,2020-01-01,"=cmd|' /C calc'!A0",1
008,2,2020-01-02,"x, y",2.5
009,3,2020-01-03,@here,3
010,4,2020-01-04,,3.5
-11,5,2020-01-05,-e,5
"""


def call(*arguments: str, **options: object) -> Result:
    return CliRunner().invoke(app, arguments, **options)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(CELLS)
    fit = call("fit", "rows.csv", "-t", "price", "--columns", "x", "-o", "m.bochner", "-q")
    assert fit.exit_code == 0, fit.output
    return "m.bochner"


@pytest.mark.parametrize("standard_input", [False, True])
def test_predict_carries_cells_along_unchanged(model, standard_input):
    given = ["-", "--format", "csv"] if standard_input else ["rows.csv"]
    text = CELLS if standard_input else None
    names = ["code", "when", "note", "price"]
    options = ["--keep", ",".join(names), "-o", "p.csv"]
    result = call("predict", model, *given, *options, input=text)
    assert result.exit_code == 0, result.output
    found, rows = pd.read_csv("p.csv", dtype=str), pd.read_csv("rows.csv", dtype=str)
    assert list(found) == [*names, "predicted price"]
    pd.testing.assert_frame_equal(found[names], rows[names])


def test_large_numbers_and_dates_of_parquet_are_carried_as_text(model):
    rows = pd.DataFrame({"x": [1.0, 2.0], "id": [2**60 + 1, 5]})
    rows["when"] = pd.Timestamp("2020-02-29")
    rows.to_parquet("rows.parquet")
    assert call("predict", model, "rows.parquet", "--keep", "id,when", "-o", "p.csv").exit_code == 0
    found = pd.read_csv("p.csv", dtype=str)
    assert found["id"].tolist() == [str(2**60 + 1), "5"]
    assert all(cell.startswith("2020-02-29") for cell in found["when"])


def test_text_in_csv_can_be_kept_from_being_a_formula(model):
    options = ["--keep", "code,note", "--safe-csv"]
    assert call("predict", model, "rows.csv", *options, "-o", "p.csv").exit_code == 0
    found = pd.read_csv("p.csv", dtype=str)
    assert found["code"].tolist()[-1] == "-11"  # a number evaluates to itself
    notes = ["'=cmd|' /C calc'!A0", "x, y", "'@here", np.nan, "'-e"]
    assert found["note"].tolist() == notes
    refused = call("predict", model, "rows.csv", *options, "-o", "p.parquet")
    assert "--safe-csv is for files that end in .csv" in refused.stderr


def test_a_name_that_is_unknown_suggests_one_that_is_near(model):
    for arguments, words in {
        ("predict", model, "rows.csv", "--keep", "cod", "-o", "p.csv"): "Did you mean 'code'?",
        ("fit", "rows.csv", "-t", "Price", "-o", "n.bochner"): "Did you mean 'price'?",
        ("fit", "rows.csv", "-t", "price", "--drop", "Note", "-o", "n"): "Did you mean 'note'?",
        ("fit", "rows.csv", "-t", "price", "--columns", "x", "--kernel", "gausian", "-o", "n"): (
            "Did you mean 'gaussian'?"
        ),
        ("fit", "rows.csv", "-t", "price", "--set", "alpa=1", "-o", "n"): "Did you mean 'alpha'?",
    }.items():
        result = call(*arguments)
        assert result.exit_code == 1
        assert words in result.stderr, result.stderr


def test_kernels_have_the_names_of_scikit_learn_too():
    assert Kernel.resolve("rbf") == Gaussian()
    for name in PAIRWISE_KERNEL_FUNCTIONS.keys() - REFUSED.keys():
        assert isinstance(Kernel.resolve(name), Kernel)
    with pytest.raises(ValueError, match=r"'sigmoid': .* not positive semidefinite"):
        Kernel.resolve("sigmoid")


def test_aliases_of_scikit_learn_have_its_values():
    rng = np.random.default_rng(0)
    A, B = rng.uniform(0.1, 1.0, (5, 3)), rng.uniform(0.1, 1.0, (4, 3))
    settings = {
        "rbf": ({"gamma": 0.5}, {"bandwidth": 1.0}),
        "laplacian": ({"gamma": 1.0}, {"bandwidth": 1.0}),
        "poly": ({"gamma": 1.0, "degree": 3, "coef0": 1.0}, {"scale": 1.0}),
        "linear": ({}, {"scale": 1.0}),
        "cosine": ({}, {}),
        "chi2": ({"gamma": 0.5}, {"bandwidth": 1.0}),
    }
    for name, (theirs, ours) in settings.items():
        values = Kernel.resolve(name).set_params(**ours)(A, B)
        np.testing.assert_allclose(values, PAIRWISE_KERNEL_FUNCTIONS[name](A, B, **theirs), 1e-6)
    # scikit-learn's -chi^2 is not positive semidefinite; ours has the same distances.
    kernel = Kernel.resolve("additive_chi2")
    squares = A.sum(1)[:, None] + B.sum(1) - 2 * kernel(A, B)
    theirs = PAIRWISE_KERNEL_FUNCTIONS["additive_chi2"](A, B)
    np.testing.assert_allclose(squares, -theirs, atol=1e-6)


def test_a_column_that_the_model_learned_from_is_no_target(model):
    result = call("evaluate", model, "rows.csv", "--target", "x")
    assert result.exit_code == 1
    assert "'x', so it cannot be compared" in result.stderr


def test_settings_that_the_command_makes_itself_are_refused(model):
    fit = ("fit", "rows.csv", "-t", "price", "--columns", "x", "-o", "n")
    for name, words in {"random_state=1": "give --seed", "verbose=True": "--quiet"}.items():
        result = call(*fit, "--set", name)
        assert result.exit_code == 2
        assert words in result.stderr
