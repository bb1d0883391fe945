"""What a table promises of the frames that it turns into numbers."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bochner import KernelGaussianProcess, KernelRegressor, RandomBinning, RandomFourier
from bochner.estimators.inputs.tables import Table, has_categories

TEXT = ["oak", "ash", "oak", "elm"]

COLUMNS_OF_TEXT = {
    "object": pd.Series(TEXT, dtype=object),
    "str": pd.Series(TEXT),
    "string": pd.Series(TEXT, dtype="string"),
    "category": pd.Series(TEXT, dtype="category"),
    "ordered": pd.Series(pd.Categorical(TEXT, ["oak", "elm", "ash"], ordered=True)),
    "unused": pd.Series(pd.Categorical(TEXT, ["yew", "oak", "elm", "ash", "box"])),
}
COLUMNS_OF_NUMBERS = {
    "int": pd.Series([3, 1, 2, 0]),
    "small": pd.Series([3, 1, 2, 0], dtype="uint8"),
    "float": pd.Series([0.5, 1.0, -2.0, 1e300]),
    "single": pd.Series([0.5, 1.0, -2.0, 3.0], dtype="float32"),
    "bool": pd.Series([True, False, True, True]),
    "Int64": pd.Series([3, 1, 2, 0], dtype="Int64"),
    "Float32": pd.Series([0.5, 1.0, -2.0, 3.0], dtype="Float32"),
    "boolean": pd.Series([True, False, True, True], dtype="boolean"),
    "object": pd.Series([3, 1.5, True, np.float32(2)], dtype=object),
    "decimal": pd.Series([Decimal("0.5"), Decimal(1), Decimal(2), Decimal(3)], dtype=object),
}
OTHER_COLUMNS = {
    "timedelta64": pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="D")),
    "Period": pd.Series(pd.period_range("2020-01", periods=4, freq="M")),
    "time": pd.Series([datetime.time(12, 30)] * 4, dtype=object),
    "list": pd.Series([[1], [2], [], [3]], dtype=object),
    "bytes": pd.Series([b"oak"] * 4, dtype=object),
    "complex128": pd.Series([1j, 2.0, 3.0, 4.0]),
}
MISSING = {
    "None": pd.Series(["oak", None, "ash", "elm"], dtype=object),
    "NaN": pd.Series(["oak", np.nan, "ash", "elm"], dtype=object),
    "NA": pd.Series(["oak", pd.NA, "ash", "elm"], dtype=object),
    "NaT": pd.Series(["oak", pd.NaT, "ash", "elm"], dtype=object),
    "str": pd.Series(["oak", None, "ash", "elm"]),
    "string": pd.Series(["oak", None, "ash", "elm"], dtype="string"),
    "category": pd.Series(["oak", None, "ash", "elm"], dtype="category"),
    "category of numbers": pd.Series([1, None, 2, 3], dtype="category"),
    "float": pd.Series([1.0, np.nan, 2.0, 3.0]),
    "Int64": pd.Series([1, None, 2, 3], dtype="Int64"),
    "Float64": pd.Series([1, None, 2, 3], dtype="Float64"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "object of numbers": pd.Series([1, None, 2, 3], dtype=object),
    "mostly None": pd.Series([1, None, None, 3], dtype=object),
}


def over(columns):
    return pytest.mark.parametrize("column", columns.values(), ids=columns)


def encoded(**columns):
    frame = pd.DataFrame(columns)
    return Table.learn(frame).encode(frame)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"tree": TEXT, "height": [3.0, 1.0, 2.0, 0.5], "soil": list("abca")})


@over(COLUMNS_OF_TEXT)
def test_text_of_every_dtype_becomes_its_place_among_the_sorted_categories(column):
    frame = pd.DataFrame({"tree": column})
    table = Table.learn(frame)
    assert table.categories == (("ash", "elm", "oak"),)
    assert table.encode(frame)[:, 0].tolist() == [2, 0, 2, 1]


@over(COLUMNS_OF_NUMBERS)
def test_numbers_of_every_dtype_stay_what_they_are(column):
    frame = pd.DataFrame({"tree": TEXT, "number": column})
    table = Table.learn(frame)
    assert table.categorical == (0,)
    assert table.encode(frame)[:, 1].tolist() == [float(number) for number in column]


def test_codes_give_the_text_back(frame):
    table = Table.learn(frame)
    codes = table.encode(frame)
    for j in table.categorical:
        known = np.array(table.categories[j])
        assert known[codes[:, j].astype(int)].tolist() == frame.iloc[:, j].tolist()


def test_a_table_tells_names_and_places_of_its_columns(frame):
    table = Table.learn(frame)
    assert table.names == ("tree", "height", "soil")
    assert table.categorical == (0, 2)
    assert table.categories == (("ash", "elm", "oak"), None, ("a", "b", "c"))


def test_a_table_cannot_be_changed_and_survives_pickling(frame):
    table = Table.learn(frame)
    codes = table.encode(frame)
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    np.testing.assert_array_equal(copy.encode(frame), codes)
    with pytest.raises(FrozenInstanceError):
        table.names = ()


def test_rows_are_encoded_one_by_one(frame):
    table = Table.learn(frame)
    parts = [table.encode(frame.iloc[[i]]) for i in range(len(frame))]
    np.testing.assert_array_equal(np.concatenate(parts), table.encode(frame))


def test_the_index_and_the_order_of_rows_do_not_matter(frame):
    table = Table.learn(frame)
    turned = frame.iloc[::-1]
    assert Table.learn(turned) == table
    np.testing.assert_array_equal(table.encode(turned), table.encode(frame)[::-1])


def test_categories_of_another_dtype_are_the_same_categories():
    table = Table.learn(pd.DataFrame({"tree": COLUMNS_OF_TEXT["object"]}))
    for column in COLUMNS_OF_TEXT.values():
        assert table.encode(pd.DataFrame({"tree": column}))[:, 0].tolist() == [2, 0, 2, 1]


def test_unseen_categories_are_unlike_all_seen_ones(frame):
    table = Table.learn(frame)
    new = frame.assign(tree=["oak", "yew", "", "Oak"])
    assert table.encode(new)[:, 0].tolist() == [2, 3, 3, 3]


def test_mixed_cells_are_compared_by_their_text():
    mixed = pd.Series([1, "1", 1.0, "b", 2.5, "2.5", True, np.float32(1), np.int8(1)], dtype=object)
    table = Table.learn(pd.DataFrame({"mixed": mixed}))
    assert table.categories == (("1", "2.5", "True", "b"),)
    assert encoded(mixed=mixed)[:, 0].tolist() == [0, 0, 0, 3, 1, 1, 2, 0, 0]


def test_numbers_find_their_categories_when_no_text_is_among_them():
    table = Table.learn(pd.DataFrame({"mixed": pd.Series([1, "b", 2], dtype=object)}))
    for dtype in ("int64", "float64", "Int64", "category", "str", object):
        column = pd.Series([2, 1, 7]).astype(dtype)
        assert table.encode(pd.DataFrame({"mixed": column}))[:, 0].tolist() == [1, 0, 3]


def test_a_category_dtype_of_numbers_holds_categories():
    column = pd.Series([30, 10, 30, 20], dtype="category")
    assert has_categories(pd.DataFrame({"number": column}))
    assert Table.learn(pd.DataFrame({"number": column})).categories == (("10", "20", "30"),)
    assert encoded(number=column)[:, 0].tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        (["single"], "float32"),
        (["single", "Float32"], "float32"),
        (["float"], "float64"),
        (["single", "float"], "float64"),
        (["single", "bool"], "float64"),
        ([], "float64"),
    ],
)
def test_single_precision_stays_where_all_numbers_have_it(numbers, dtype):
    columns = {name: COLUMNS_OF_NUMBERS[name] for name in numbers}
    assert encoded(tree=TEXT, **columns).dtype == dtype


def test_rows_lie_one_after_the_other(frame):
    assert Table.learn(frame).encode(frame).flags.c_contiguous


def test_names_may_be_numbers():
    frame = pd.DataFrame([["oak", 1.0], ["ash", 2.0]])
    table = Table.learn(frame)
    assert table.names == (0, 1)
    assert table.encode(frame).tolist() == [[1, 1], [0, 2]]


@over(COLUMNS_OF_TEXT | OTHER_COLUMNS)
def test_a_column_that_is_not_numbers_asks_for_a_table(column):
    assert has_categories(pd.DataFrame({"number": [1, 2, 3, 4], "other": column}))


@over(COLUMNS_OF_NUMBERS)
def test_a_frame_of_numbers_needs_no_table(column):
    assert not has_categories(pd.DataFrame({"number": column}))


@pytest.mark.parametrize(
    "rows",
    [np.eye(2), np.array([["a", "b"]]), [["a"], ["b"]], sp.eye_array(3).tocsr(), None, "text"],
)
def test_what_is_no_frame_needs_no_table(rows):
    assert not has_categories(rows)


@over(MISSING)
def test_missing_values_are_a_category_or_no_number(column):
    frame = pd.DataFrame({"tree": TEXT, "odd": column})
    table = Table.learn(frame)
    code, known = table.encode(frame)[1, 1], table.categories[1]
    assert np.isnan(code) if known is None else known[int(code)] == "missing"


@over(MISSING)
def test_missing_text_that_was_not_missing_at_fit_is_an_unknown_category(column):
    whole = column.iloc[[0, 0, 0, 3]].reset_index(drop=True)
    table = Table.learn(pd.DataFrame({"tree": TEXT, "odd": whole}))
    code = table.encode(pd.DataFrame({"tree": TEXT, "odd": column}))[1, 1]
    known = table.categories[1]
    assert np.isnan(code) if known is None else code == len(known)


@pytest.mark.parametrize("values", [[1.0, np.inf], [1, -np.inf], ["a", np.inf], [1, 10**400]])
def test_infinities_are_refused_by_the_name_of_their_column(values):
    with pytest.raises(ValueError, match=r"'odd' has 1 infinite .* row 1 .*drop"):
        encoded(tree=["oak", "ash"], odd=pd.Series(values, dtype=object))


@pytest.mark.parametrize("kind", OTHER_COLUMNS)
def test_other_types_are_refused_by_their_name(kind):
    with pytest.raises(ValueError, match=f"'odd' holds {kind}, but must hold numbers or text"):
        encoded(tree=TEXT, odd=OTHER_COLUMNS[kind])


def test_text_in_place_of_numbers_is_refused(frame):
    table = Table.learn(frame)
    with pytest.raises(ValueError, match="'height' holds str, but must hold numbers, as at fit"):
        table.encode(frame.assign(height=["3", "1", "2", "high"]))


def test_other_columns_are_refused_by_their_names(frame):
    table = Table.learn(frame)
    with pytest.raises(ValueError, match=r"Missing: 'soil'\. Choose"):
        table.encode(frame[["tree", "height"]])
    with pytest.raises(ValueError, match=r"Unexpected: 'age'\. Choose"):
        table.encode(frame.assign(age=1))
    with pytest.raises(ValueError, match=r"Missing: 'soil'\. Unexpected: 'earth'\."):
        table.encode(frame.rename(columns={"soil": "earth"}))
    with pytest.raises(ValueError, match="another order, which was: 'tree', 'height', 'soil'"):
        table.encode(frame[["soil", "height", "tree"]])


def test_many_names_are_not_all_listed():
    wide = pd.DataFrame([["a"] * 20], columns=[f"c{j}" for j in range(20)])
    with pytest.raises(ValueError, match="'c1', 'c2', 'c3', 'c4', 'c5' and 14 more"):
        Table.learn(wide).encode(wide[["c0"]])


def test_columns_of_the_same_name_are_refused(frame):
    double = pd.concat([frame, frame[["tree"]]], axis=1)
    for learn in (has_categories, Table.learn, KernelRegressor().fit):
        with pytest.raises(ValueError, match="more than one 'tree'"):
            learn(double)
    with pytest.raises(ValueError, match="more than one 'tree'"):
        Table.learn(frame).encode(double)


def test_columns_of_numbers_of_the_same_name_are_refused():
    double = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    for model in (KernelRegressor(), RandomFourier()):
        with pytest.raises(ValueError, match=r"more than one 'a'\. Rename or drop them"):
            model.fit(double, np.arange(4.0))


def test_an_array_in_place_of_a_frame_is_refused(frame):
    with pytest.raises(ValueError, match=r"must be a data frame.*got ndarray"):
        Table.learn(frame).encode(frame.to_numpy())


class BareFrame:
    """The least that a frame offers: names, dtypes, and columns that become arrays."""

    def __init__(self, **columns):
        self.data = columns
        self.columns = list(columns)
        self.dtypes = [np.asarray(column).dtype for column in columns.values()]

    def __getitem__(self, name):
        return self.data[name]


def test_a_frame_of_no_known_library_will_do():
    frame = BareFrame(tree=["oak", "ash"], height=[1.0, 2.0])
    assert has_categories(frame)
    assert Table.learn(frame).encode(frame).tolist() == [[1, 1], [0, 2]]


def test_polars_and_pandas_give_the_same_table(frame):
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({name: frame[name].tolist() for name in frame.columns})
    other = other.with_columns(polars.col("soil").cast(polars.Categorical))
    assert has_categories(other)
    assert not has_categories(other.select("height"))
    assert Table.learn(other) == Table.learn(frame)
    np.testing.assert_array_equal(Table.learn(frame).encode(other), encoded(**frame))


def test_gaps_of_polars_frames_are_those_of_pandas():
    polars = pytest.importorskip("polars")
    for column in (["oak", None], [1, None], [1.0, None], [True, None]):
        gaps = {"tree": ["oak", "ash"], "odd": column}
        table = Table.learn(polars.DataFrame(gaps))
        assert table == Table.learn(pd.DataFrame(gaps))
        found = table.encode(polars.DataFrame(gaps))
        np.testing.assert_array_equal(found, table.encode(pd.DataFrame(gaps)))


def test_categorical_columns_of_polars_stay_categories():
    polars = pytest.importorskip("polars")
    dates = ["2024-01-31", "2024-02-29"]
    for kind in (polars.Categorical, polars.Enum(dates)):
        frame = polars.DataFrame({"day": polars.Series(dates, dtype=kind)})
        assert Table.learn(frame).categories == (tuple(dates),)


@pytest.mark.parametrize("kind", [KernelRegressor, KernelGaussianProcess, RandomBinning])
def test_columns_of_one_name_are_refused_with_the_name(kind):
    rows = pd.DataFrame(np.eye(12)[:, :3], columns=["a", "b", "a"])
    for frame in (rows, rows.assign(text="oak")):
        with pytest.raises(ValueError, match=r"must be unique; got more than one 'a'\. Rename"):
            kind().fit(frame, np.arange(12.0))
