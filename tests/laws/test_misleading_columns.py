"""Targets and columns that mislead: they are refused or questioned before a fit, with a remedy."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from typer.testing import CliRunner

from bochner import KernelClassifier, KernelGaussianProcess, KernelRegressor, save
from bochner.cli.app import app
from bochner.cli.screen import Screen
from bochner.data import ArraySource, open_source
from bochner.estimators.inputs.suspicions import warn_of_columns, warn_of_labels
from bochner.estimators.inputs.tables import Table
from bochner.exceptions import DataWarning
from bochner.features import Binning

ROWS = 120
RNG = np.random.default_rng(0)
NOTATIONS = {
    "dollars": lambda number: f"${number:,.2f}",
    "euros": lambda number: f"{number:.0f} €",
    "percent": lambda number: f"{number:.1f}%",
    "thousands by commas": lambda number: f"{number:,.0f}",
    "thousands by blanks": lambda number: f"{number:,.0f}".replace(",", " "),
    "thousands by apostrophes": lambda number: f"{number:,.0f}".replace(",", "'"),
    "negative in brackets": lambda number: f"({number:,.0f})",
}
every_notation = pytest.mark.parametrize("notation", NOTATIONS)


def prices(notation):
    return list(map(NOTATIONS[notation], 1e3 * np.arange(2, ROWS + 2) + 0.5))


@every_notation
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_target_of_numbers_in_another_notation_is_refused(notation, ending, tmp_path):
    path = tmp_path / f"houses.{ending}"
    frame = pd.DataFrame({"size": RNG.normal(size=ROWS), "price": prices(notation)})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"price.*not written like 1234\.5.*Rewrite|rewrite"):
        open_source(path, "price")
    with pytest.raises(ValueError, match=r"price.*not written like 1234\.5.*if they are no target"):
        open_source(path, "size")
    source = open_source(path, "price", categorical=["price"])
    assert len(source.schema.labels) == ROWS
    assert open_source(path, "size", categorical=["price"]).schema.categorical == (0,)


@every_notation
def test_a_frame_with_numbers_in_another_notation_is_refused(notation):
    frame = pd.DataFrame({"size": RNG.normal(size=ROWS), "price": prices(notation)})
    with pytest.raises(ValueError, match=r"'price' seems to hold numbers.*Turn them into numbers"):
        Table.learn(frame)
    for y in (frame["price"], frame["price"].tolist(), frame[["price"]].to_numpy()):
        with pytest.raises(ValueError, match=r"y seems to hold numbers.*Turn them into numbers"):
            KernelRegressor().fit(frame[["size"]], y)
    assert Table.learn(frame.astype({"price": "category"})).categorical == (1,)


@pytest.mark.parametrize(
    "texts",
    [
        ["2020 Q1", "2021 Q3"],
        ["192.168.0.1", "10.0.0.2"],
        ["555-1234", "555-9876"],
        ["1.2.3", "1.2.4"],
        ["1", "2"],
        ["5kg", "7kg"],
        ["A 123", "$", "oak"],
    ],
    ids=lambda texts: texts[0],
)
def test_other_texts_are_categories(texts):
    assert Table.learn(pd.DataFrame({"a": texts * 5})).categorical == (0,)


def fit(frame, y, **parameters):
    return KernelRegressor("gaussian", random_state=0, **parameters).fit(frame, y)


def table(rows=300, **columns):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    y = np.sin(2 * frame["a"].to_numpy()) + 0.1 * rng.normal(size=rows)
    for name, column in columns.items():
        frame[name] = column(frame, y) if callable(column) else column
    return frame, y


COUNTED = np.arange(300)
MISLEADING = {
    "an index that pandas wrote": ({"Unnamed: 0": COUNTED}, "another value in .*every row"),
    "shuffled numbers of rows": ({"no": RNG.permutation(300)}, "Column 'no' has another value"),
    "large numbers called id": ({"user_id": COUNTED * 7919 + 10**9}, "Column 'user_id' has"),
    "a constant column": ({"year": 2020.0}, "Column 'year' is constant"),
    "a copy of the target": ({"c": lambda X, y: y}, "Column 'c' alone explains"),
    "a linear map of it": ({"c": lambda X, y: 3 - 2 * y}, "Column 'c' alone explains"),
    "a monotone map of it": ({"c": lambda X, y: np.exp(-y)}, "Column 'c' alone explains"),
}


@pytest.mark.parametrize("case", MISLEADING)
@pytest.mark.parametrize("machine", [KernelRegressor, KernelGaussianProcess])
def test_columns_that_mislead_are_named_before_the_fit(case, machine):
    columns, message = MISLEADING[case]
    X, y = table(**columns)
    with pytest.warns(DataWarning, match=rf"{message}.*X\.drop\(columns=\['{X.columns[-1]}'\]"):
        machine("gaussian", random_state=0, n_jobs=1).fit(X, y)
    if case == "large numbers called id":
        return  # without its name it could be anything
    with pytest.warns(DataWarning, match="Columns? 2 .*out"):
        machine("gaussian", random_state=0, n_jobs=1).fit(X.to_numpy(), y)


def test_text_that_names_rows_is_named_before_the_fit():
    X, y = table(name=[f"house {i}" for i in range(300)])
    with pytest.warns(DataWarning, match=r"'name' has another value.*X\.drop\(columns=\['name'\]"):
        KernelRegressor(random_state=0, features=Binning(8)).fit(X, y)


def test_a_column_that_renames_the_labels_is_named_before_the_fit():
    labels = RNG.choice(["oak", "ash", "elm"], 300)
    X, _ = table(code=np.unique(labels, return_inverse=True)[1] * 10.0)
    with pytest.warns(DataWarning, match="Column 'code' alone explains"):
        KernelClassifier("gaussian", random_state=0).fit(X, labels)


LEGITIMATE = {
    "numbers that are all different": {"c": RNG.normal(size=300)},
    "large whole numbers that are all different": {"people": RNG.permutation(10**6)[:300]},
    "counts": {"c": RNG.integers(0, 300, 300)},
    "a noisy copy of the target": {"c": lambda X, y: y + 0.05 * RNG.normal(size=300)},
    "two copies of the target": {"c": lambda X, y: y, "d": lambda X, y: 2 * y},
    "a column of nearly one value": {"c": np.eye(300)[17]},
    "categories": {"tree": RNG.choice(["oak", "ash", "elm"], 300)},
    "numbers of groups called id": {"shop_id": np.arange(300) // 3},
}


@pytest.mark.parametrize("case", LEGITIMATE)
def test_legitimate_columns_raise_no_suspicion(case):
    X, y = table(**LEGITIMATE[case])
    source = ArraySource(Table.learn(X).encode(X), y)
    warn_of_columns(source, np.array(X.columns, object), Table.learn(X))


@pytest.mark.parametrize("rows", [20, 150])
def test_small_tables_raise_no_suspicion(rows):
    X, y = table(rows, id=np.arange(rows), constant=1.0, copy=lambda X, y: y)
    fit(X, y)


def test_one_column_raises_no_suspicion():
    x = np.linspace(0, 1, 400)
    fit(x[:, None], 3 * x)
    fit(np.arange(400.0)[:, None], np.sin(x))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_tables_of_scikit_learn_raise_no_suspicion(load):
    X, y = load(return_X_y=True, as_frame=True)
    warn_of_columns(ArraySource(X.to_numpy(), y.to_numpy()), np.array(X.columns, object), None)


def test_nearly_as_many_labels_as_rows_are_questioned():
    X, _ = table()
    with pytest.warns(DataWarning, match="150 different labels in 300 rows, .* 2.0 rows a label"):
        KernelClassifier("gaussian", random_state=0, max_passes=1).fit(X, COUNTED // 2)
    warn_of_labels(np.full(100, 10))  # a hundred classes of ten rows each are classes
    warn_of_labels(np.full(99, 1))


def test_a_continued_fit_says_nothing_twice():
    X, y = table(id=COUNTED)
    model = KernelRegressor("gaussian", random_state=0, warm_start=True)
    with pytest.warns(DataWarning):
        model.fit(X, y)
    model.fit(X, y)


def many_labels(rows=3_000, labels=300):
    rng = np.random.default_rng(2)
    return rng.normal(size=(rows, 3)), np.arange(rows) % labels


def test_a_plan_tells_the_size_of_its_model():
    X, y = many_labels()
    plan = KernelClassifier().plan(X, y)
    assert plan.model_bytes == 3_000 * (28 + 4 * 3 + 16 * 300)
    assert str(plan).endswith("; the model takes about 14.5 MB.")
    model = KernelClassifier(random_state=0).fit(X[:400], y[:400] % 20)
    assert 0.5 < len(model_bytes(model)) / model.plan_.model_bytes < 2
    assert "the model takes" not in str(KernelRegressor().plan(X, X[:, 0] * X[:, 1]))


def model_bytes(model):
    with TemporaryDirectory() as folder:
        save(model, Path(folder) / "m.bochner")
        return (Path(folder) / "m.bochner").read_bytes()


def test_a_model_a_hundred_times_larger_than_its_rows_is_said_before_the_fit():
    X, y = many_labels()
    machine = KernelClassifier(features="binning", random_state=0, callbacks=[stop_at_once])
    message = r"model will take about 154 MB, more than 100 times .*features=Centers"
    with pytest.warns(DataWarning, match=message):
        machine.plan(X, y)
    with pytest.warns(DataWarning, match=message), pytest.raises(Stopped):
        machine.fit(X, y)


class Stopped(Exception):
    pass


def stop_at_once(progress):
    raise Stopped


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_command_names_the_option_that_drops_a_column(tmp_path):
    X, y = table(Copied=lambda X, y: 2 * y, **{"Unnamed: 0": COUNTED})
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    found = run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.bochner")
    assert found.exit_code == 0, found.stderr
    notes = " ".join(found.stderr.split())
    assert "Column 'Unnamed: 0' has another value in (nearly) every row" in notes
    assert "--drop 'Unnamed: 0'" in notes
    assert "--drop Copied" in notes


def test_the_command_says_notes_before_the_fit(tmp_path):
    screen = Screen(as_json=False, quiet=False)
    with screen.report_errors():
        warnings.warn("Leave out: drop=['id'].", DataWarning, stacklevel=1)
        warnings.warn("Leave out: drop=['id'].", DataWarning, stacklevel=1)
        assert len(screen.notes) == 1


def test_the_command_refuses_names_as_labels(tmp_path):
    X, _ = table()
    X.assign(name=[f"artist {i // 2}" for i in range(299)] + ["artist 0"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    target = ["-t", "name", "-o", tmp_path / "m.bochner"]
    found = run("fit", tmp_path / "t.csv", *target)
    assert found.exit_code == 0  # 150 labels in 300 rows: questioned
    notes = " ".join(found.stderr.split())
    assert "150 different labels in 300 rows" in notes
    assert "Kernel" not in notes  # no class of Python
    X.assign(name=[f"artist {i}" for i in range(300)]).to_csv(tmp_path / "t.csv", index=False)
    found = run("fit", tmp_path / "t.csv", *target)
    assert found.exit_code == 1
    assert "300 different ones in 300 rows: these are names" in " ".join(found.stderr.split())
