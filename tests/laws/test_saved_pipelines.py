"""Pipelines of scikit-learn transformers in model files."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from sklearn import set_config
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import bochner
from bochner import KernelClassifier, KernelRegressor, ModelFileError, RandomFourier
from bochner.persist import container
from bochner.persist.pipelines import TRANSFORMERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    tree=RNG.choice(["oak", "ash", "elm"], 60), size=RNG.choice([1, 2, 5], 60)
)
FRAME.loc[3, "a"] = np.nan
FRAME.loc[4, "tree"] = None
Y = np.nan_to_num(X[:, 0]) + (FRAME["tree"] == "oak")
MACHINE = KernelRegressor(random_state=0, max_passes=1)

NUMBERS = {
    "standard": StandardScaler(),
    "unshifted": StandardScaler(with_mean=False),
    "range": MinMaxScaler((0, 2), clip=True),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(with_centering=False),
    "components": PCA(2, whiten=True),
    "quantiles": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "polynomial": PolynomialFeatures((1, 2), include_bias=False),
    "fill": SimpleImputer(strategy="median"),
    "one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "our features": RandomFourier(size=20, random_state=0),
}


def table(**changes: object) -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(add_indicator=False), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    parts = [
        ("numbers", numbers, make_column_selector(dtype_include=float)),
        ("words", words, ["tree"]),
        ("sizes", OrdinalEncoder(dtype=np.float32), ["size"]),
        ("same", "passthrough", ["c"]),
    ]
    return ColumnTransformer(parts, **changes)


TABLES = {
    "table": table(),
    "weighted": table(sparse_threshold=0, transformer_weights={"numbers": 2.0}),
    "rest": ColumnTransformer([("drop", "drop", ["tree"])], remainder="passthrough"),
    "places": ColumnTransformer(
        [("ab", StandardScaler(), slice(1, 3)), ("t", OneHotEncoder(handle_unknown="ignore"), [3])],
        verbose_feature_names_out=False,
    ),
}


def saved(model: object, path: Path) -> object:
    bochner.save(model, path)
    return bochner.load(path)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_pipeline_predicts_the_same_when_it_is_loaded(name, tmp_path):
    pipeline = Pipeline([("first", NUMBERS[name]), ("machine", MACHINE)]).fit(np.round(X), Y)
    again = saved(pipeline, tmp_path / "m")
    assert list(again.named_steps) == ["first", "machine"]
    assert type(again["first"]) is type(pipeline["first"])
    assert repr(again["first"].get_params()) == repr(pipeline["first"].get_params())
    np.testing.assert_array_equal(again.predict(np.round(X)), pipeline.predict(np.round(X)))
    assert list(again[:-1].get_feature_names_out()) == list(pipeline[:-1].get_feature_names_out())
    again.fit(np.round(X), Y)  # a loaded pipeline can be fitted again


@pytest.mark.parametrize("name", TABLES)
def test_a_pipeline_of_columns_predicts_the_same_when_it_is_loaded(name, tmp_path):
    rows = FRAME.fillna({"a": 0.0}) if name == "rest" else FRAME
    pipeline = make_pipeline(TABLES[name], MACHINE).fit(rows, Y)
    again = saved(pipeline, tmp_path / "m")
    np.testing.assert_array_equal(again.predict(rows), pipeline.predict(rows))
    reordered = rows[list(rows)[::-1]]
    np.testing.assert_array_equal(again.predict(reordered), pipeline.predict(reordered))
    assert list(again[:-1].get_feature_names_out()) == list(pipeline[:-1].get_feature_names_out())
    unseen = rows.assign(tree="yew")
    np.testing.assert_array_equal(again.predict(unseen), pipeline.predict(unseen))
    again.fit(rows, Y)


def test_a_pipeline_of_data_frames_stays_one(tmp_path):
    pipeline = make_pipeline(StandardScaler(), KernelClassifier(random_state=0))
    pipeline.set_output(transform="pandas").fit(FRAME[["b", "c"]], FRAME["size"])
    again = saved(pipeline, tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            again.predict(FRAME[["b", "c"]]), pipeline.predict(FRAME[["b", "c"]])
        )
    assert list(again[0].transform(FRAME[["b", "c"]])) == ["b", "c"]


def test_every_known_transformer_is_tried():
    tried = {type(one).__name__ for one in NUMBERS.values()}
    assert tried >= TRANSFORMERS.keys()


@pytest.mark.parametrize(
    "part",
    [
        TruncatedSVD(2),
        FunctionTransformer(np.abs),
        SimpleImputer(add_indicator=True),
        OneHotEncoder(max_categories=2),
        ColumnTransformer([("a", StandardScaler(), [0])], remainder=StandardScaler()),
    ],
    ids=lambda part: type(part).__name__,
)
def test_other_transformers_are_refused_with_the_name_of_skops(part, tmp_path):
    pipeline = make_pipeline(part, MACHINE).fit(np.round(X), Y)
    with pytest.raises(ValueError, match="skops"):
        bochner.save(pipeline, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_pipeline_without_our_machine_or_without_a_fit_is_refused(tmp_path):
    for model in (StandardScaler().fit(X), make_pipeline(PCA(2), StandardScaler()).fit(X)):
        with pytest.raises(ValueError, match="pipelines that end with one"):
            bochner.save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="fit the pipeline first"):
        bochner.save(make_pipeline(StandardScaler(), KernelRegressor()), tmp_path / "m")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "m"
    steps = make_pipeline(PCA(2), PolynomialFeatures(2), MACHINE)
    columns = ColumnTransformer(
        [("words", OneHotEncoder(), ["tree"]), ("a", steps[:2], ["b", "c"])]
    )
    rows = FRAME.fillna({"tree": "oak"})
    bochner.save(make_pipeline(columns, MACHINE).fit(rows, Y), path)
    return path


def altered(path: Path, out: Path, change: object) -> None:
    """Write the file with another header, whose digest is right."""
    with open(path, "rb") as file:
        contents = container.read_contents(file)
        arrays = container.read_arrays(file, contents)
    text = json.loads(contents.text)
    change(text)
    with open(out, "w+b") as file:
        container.write(file, json.dumps(text), arrays)


def parts(value: object) -> list[dict]:
    """Return all transformers in a header."""
    inner = list(value.values()) if isinstance(value, dict) else value
    found = [part for one in inner for part in parts(one)] if isinstance(inner, list) else []
    here = isinstance(value, dict) and isinstance(value.get("transformer"), dict)
    return [*([value["transformer"]] if here else []), *found]


@pytest.mark.parametrize(
    "change",
    [
        {"class": "FunctionTransformer"},
        {"class": "os.system"},
        {"class": ["PCA"]},
        {"n_features_in_": 10**12},
        {"n_features_in_": -1},
        {"n_features_in_": 2.0},
        {"state": {"dict": []}},
        {"parameters": {"dict": [["degree", 10**9]]}},
        {"parameters": {"dict": [["nonsense", 1]]}},
        {"output": "os"},
        {"steps": []},
        {"steps": [["a", None]]},
        {"transformers": [["a", "passthrough", {"dict": []}]]},
        {"transformers": [["words", "skip", ["tree"]]]},
        {"feature_names_in_": ["a"]},
    ],
    ids=str,
)
def test_a_transformer_that_is_not_sound_is_refused(good, change, tmp_path):
    kinds = 0
    with open(good, "rb") as file:
        count = len(parts(json.loads(container.read_contents(file).text)))
    for number in range(count):

        def mutate(text: dict, number: int = number) -> None:
            nonlocal kinds
            part = parts(text)[number]
            if change.keys() <= part.keys() and any(part[k] != v for k, v in change.items()):
                part.update(change)
                kinds += 1
            else:
                text["version"] = 0

        altered(good, tmp_path / "m", mutate)
        with pytest.raises(ModelFileError):
            bochner.load(tmp_path / "m")
    assert kinds > 0


def test_mutants_of_pipelines_load_or_are_refused(good, tmp_path):
    random = Random(0)
    values = [None, -1, 0, 1, 10**18, 1.5, "x", [], {}, ["a"], True, {"array": "x"}]

    def leaves(value: object) -> list[tuple]:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        inner = [(value, key) for key, _ in pairs]
        return inner + [
            x for _, k in inner if isinstance(value[k], dict | list) for x in leaves(value[k])
        ]

    def mutate(text: dict) -> None:
        holder, key = random.choice(leaves(text["model"]))
        holder[key] = random.choice(values)

    for _ in range(150):
        altered(good, tmp_path / "m", mutate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = bochner.load(tmp_path / "m")
            except ModelFileError:
                continue
        assert isinstance(model, BaseEstimator)


def test_a_file_reads_the_same_whatever_the_configuration_of_scikit_learn(good):
    set_config(transform_output="pandas")
    try:
        bochner.load(good)
    finally:
        set_config(transform_output="default")
    assert struct.calcsize("Q") == 8
    assert bochner.read_header(good).model == "Pipeline"
