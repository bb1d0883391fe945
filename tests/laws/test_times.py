"""Dates and times become the same numbers wherever they are written, at fit and at predict."""

from __future__ import annotations

import copy
import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bochner
from bochner import KernelRegressor
from bochner.cli.app import app
from bochner.data import Schema, open_source
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.transforms.times import CYCLES, PAIRS, all_parts, expanded
from bochner.estimators.inputs.tables import Table

ROWS = 40
HOUR, WEEKDAY, YEAR = PAIRS
ALL = ("time", *HOUR, *WEEKDAY, *YEAR)


@pytest.fixture(scope="module")
def moments() -> pd.Series:
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2023-03-01").value
    minutes = rng.integers(0, 500 * 24 * 60, ROWS) * 60_000_000_000
    return pd.Series(pd.to_datetime(start + minutes))


@pytest.fixture(scope="module")
def frame(moments) -> pd.DataFrame:
    y = moments.dt.hour + (moments - moments[0]).dt.days / 100
    return pd.DataFrame({"when": moments, "size": np.arange(ROWS) / 8, "y": y})


def reference(moments: pd.Series) -> np.ndarray:
    """Return the columns that a column of times becomes, by pandas."""
    days = (moments - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    hours = (moments - moments.dt.normalize()) / pd.Timedelta(days=1)
    length = np.where(moments.dt.is_leap_year, 366, 365)
    columns = [days / 365.2425]
    for phase in (hours, moments.dt.day_of_week / 7, (moments.dt.day_of_year - 1) / length):
        columns += [np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)]
    return np.column_stack(columns)


def plain(moments: pd.Series) -> list[datetime.datetime]:
    return [moment.to_pydatetime() for moment in moments]


def forms(moments: pd.Series) -> dict[str, pd.DataFrame]:
    """Return frames with the same times, which are read as the same numbers."""
    texts = moments.dt.strftime("%Y-%m-%d %H:%M").tolist()
    return {
        "datetime64[ns]": pd.DataFrame({"when": moments.astype("M8[ns]")}),
        "datetime64[s]": pd.DataFrame({"when": moments.astype("M8[s]")}),
        "datetime": pd.DataFrame({"when": pd.Series(plain(moments), dtype=object)}),
        "text": pd.DataFrame({"when": texts}),
        "text with T": pd.DataFrame({"when": [f"{t.replace(' ', 'T')}:00.000" for t in texts]}),
        "pyarrow": pd.DataFrame({"when": moments.astype("timestamp[us][pyarrow]")}),
    }


def zoned_forms(moments: pd.Series) -> dict[str, pd.DataFrame]:
    """Return frames with the same moments in several zones."""
    utc = moments.dt.tz_localize("UTC")
    offset = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    east = utc.dt.tz_convert(offset)
    return {
        "UTC": pd.DataFrame({"when": utc}),
        "elsewhere": pd.DataFrame({"when": east}),
        "objects": pd.DataFrame({"when": pd.Series(east.tolist(), dtype=object)}),
        "text": pd.DataFrame({"when": east.map(str).tolist()}),
        "Z": pd.DataFrame({"when": moments.dt.strftime("%Y-%m-%dT%H:%MZ").tolist()}),
    }


def test_times_are_days_and_cycles_of_the_calendar(moments):
    table = Table.learn(moments.to_frame("when"))
    assert table.parts == ALL
    assert table.names[0] == "when"
    assert table.names[1] == "when: sine of the hour"
    found = table.encode(moments.to_frame("when"))
    np.testing.assert_allclose(found, reference(moments), atol=1e-9)


@pytest.mark.parametrize("several", [forms, zoned_forms])
def test_all_forms_of_times_give_the_same_numbers(moments, several, tmp_path):
    frames = several(moments)
    tables = {name: Table.learn(form) for name, form in frames.items()}
    first, expected = next(iter(tables.values())), reference(moments)
    for name, form in frames.items():
        assert tables[name] == first, name
        np.testing.assert_allclose(first.encode(form), expected, atol=1e-9, err_msg=name)
        np.testing.assert_array_equal(first.encode(form), tables[name].encode(form))
        form.to_csv(tmp_path / "rows.csv", index=False)
        form.to_parquet(tmp_path / "rows.parquet")
        for file in ("rows.csv", "rows.parquet"):
            source = open_source(tmp_path / file)
            assert (source.schema.names, source.schema.parts) == (first.names, first.parts)
            np.testing.assert_array_equal(source.take(slice(0, ROWS)).X, first.encode(form))


def test_polars_times_are_those_of_pandas(moments):
    polars = pytest.importorskip("polars")
    local = polars.Series(plain(moments))
    frames = {
        "time": polars.DataFrame({"when": local}),
        "time in UTC": polars.DataFrame({"when": local.dt.replace_time_zone("UTC")}),
        "date": polars.DataFrame({"when": local.dt.date()}),
    }
    for kind, form in frames.items():
        table = Table.learn(form)
        assert table.parts[0] == ("time" if kind == "date" else kind)
        like = moments if kind != "date" else moments.dt.normalize()
        columns = [ALL.index(part.removesuffix(" in UTC")) for part in table.parts]
        expected = reference(like)[:, columns]
        np.testing.assert_allclose(table.encode(form), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("times", "cycles"),
    [
        (["2024-01-31", "2024-02-01"], WEEKDAY + YEAR),
        (["2024-01-31", "2024-02-07"], YEAR),
        (["2024-01-31 10:00", "2024-01-31 12:00"], HOUR),
        (["2024-01-31", "2024-01-31"], ()),
        (["2024-01-01 12:34:56", "2020-06-01 12:34:56"], YEAR),
    ],
)
def test_cycles_that_do_not_vary_are_left_out(times, cycles, tmp_path):
    frame = pd.DataFrame({"when": times * 3})
    table = Table.learn(frame)
    assert table.parts == ("time", *cycles)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert open_source(tmp_path / "rows.csv").schema.parts == table.parts
    for keep in ("no", "disk"):
        source = open_source(tmp_path / "rows.csv", keep=keep)
        (batch,) = source.batches(100)
        np.testing.assert_array_equal(batch.X[batch.index.argsort()], table.encode(frame))


def test_midnight_is_near_midnight():
    days = np.array([[0.9999], [1.0001]])
    hours = expanded(days, all_parts(["time"]))[:, 1:3]
    assert np.abs(hours[0] - hours[1]).max() < 0.002
    assert len(CYCLES) == 3


def test_missing_times_are_far_from_all_others(moments):
    gaps = moments.copy()
    gaps[::9] = pd.NaT
    texts = gaps.dt.strftime("%Y-%m-%d %H:%M").astype(object).where(gaps.notna(), None)
    table = Table.learn(gaps.to_frame("when"))
    assert table == Table.learn(texts.to_frame("when"))
    found = table.encode(texts.to_frame("when"))
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), gaps.isna())
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), gaps.isna())
    X, y = gaps.to_frame("when"), np.where(gaps.isna(), 5.0, 0.0)
    model = KernelRegressor(solver="direct", scales=None, random_state=0).fit(X, y)
    assert model.predict(X[gaps.isna()]).min() > 2.5 > model.predict(X[gaps.notna()]).max()


def test_a_model_predicts_files_and_frames_alike(frame, tmp_path):
    columns = ["when", "size"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = KernelRegressor(solver="direct", random_state=0).fit(frame[columns], frame["y"])
    assert model.time_parts_ == {"when": ALL}
    assert model.n_features_in_ == len(model.feature_names_in_) == len(ALL) + 1
    bochner.save(model, tmp_path / "m.bochner")
    model = bochner.load(tmp_path / "m.bochner")
    of_file = KernelRegressor(solver="direct", random_state=0)
    of_file.fit(open_source(tmp_path / "rows.csv", "y"))
    assert of_file.time_parts_ == model.time_parts_
    assert Schema.from_dict(json.loads(json.dumps(of_file.schema_.to_dict()))) == of_file.schema_
    expected = model.predict(frame[columns])
    np.testing.assert_allclose(of_file.predict(frame[columns]), expected, rtol=1e-5)
    for file in ("rows.csv", "rows.parquet"):
        schema = of_file.schema_.without_target()
        for keep in ("no", "memory"):
            source = open_source(tmp_path / file, schema=schema, keep=keep)
            np.testing.assert_allclose(of_file.predict(source), expected, rtol=1e-5)
    few = frame[columns].head(1).assign(when=pd.NaT)  # none were missing at the fit
    assert np.isfinite(model.predict(few)).all()


def test_the_command_says_what_dates_become(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("rows.csv", index=False)
    run = CliRunner().invoke
    fit = run(app, ["fit", "rows.csv", "-t", "y", "--task", "regression", "-o", "m.bochner"])
    assert fit.exit_code == 0, fit.output
    assert "Dates in 'when' become years since 1970, with sine of the hour" in fit.output
    inspect = run(app, ["inspect", "m.bochner"])
    assert f"when ({', '.join(ALL)})" in inspect.output
    predict = run(app, ["predict", "m.bochner", "rows.csv", "--keep", "when", "-o", "p.csv"])
    assert predict.exit_code == 0, predict.output
    assert pd.read_csv("p.csv")["when"].tolist() == pd.read_csv("rows.csv")["when"].tolist()
    frame.to_parquet("rows.parquet")
    run(app, ["predict", "m.bochner", "rows.parquet", "--keep", "when", "-o", "q.csv"])
    np.testing.assert_allclose(pd.read_csv("q.csv")["y"], pd.read_csv("p.csv")["y"])
    assert (pd.to_datetime(pd.read_csv("q.csv")["when"]) == frame["when"]).all()


@pytest.mark.parametrize("cell", ["soon", "2024-02-30", "2024-01-31T12:30Z"])
def test_a_cell_that_is_no_time_is_a_malformed_row(tmp_path, cell):
    days = ["2024-01-31", "2024-02-01"] * 10
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["when,y", *(f"{day},1" for day in days), f"{cell},2"]))
    words = f'line 22, column "when": expected a date or time like .*, found "{cell}"'
    with pytest.raises(ValueError, match=words):
        open_source(path, "y")
    source = open_source(path, "y", on_error="skip")
    assert (source.n_rows, source.skipped.count) == (20, 1)
    with pytest.raises(ValueError, match=rf"row 20 .* has '{cell}', which is not a date"):
        Table.learn(pd.DataFrame({"when": [*days, cell]}))
    assert open_source(path, "y", categorical=["when"]).schema.parts == ()
    declared = pd.DataFrame({"when": pd.Categorical([*days, cell])})
    assert len(Table.learn(declared).categories[0]) == 3


def test_times_with_and_without_zones_are_not_mixed():
    zoned = pd.DataFrame({"when": ["2024-01-31T12:30Z"] * 30 + ["2024-01-31T12:30"]})
    with pytest.raises(ValueError, match=r"row 30 .* is not a time with its zone"):
        Table.learn(zoned)
    local = Table.learn(zoned.tail(1))
    with pytest.raises(ValueError, match="is not a date or time like"):
        local.encode(zoned.head(1).assign(when=pd.Timestamp("2024-01-31", tz="UTC")))


@pytest.mark.parametrize(
    "date", ["31.12.2024", "12/31/2024", "12/31/24", "2024/12/31", "31 Dec 2024", "Dec 31, 2024"]
)
def test_dates_in_other_notations_are_named(tmp_path, date):
    path = tmp_path / "rows.csv"
    path.write_text("when;y\n" + f"{date};1\n" * 20)
    with pytest.raises(UnreadableFile, match=f'dates .* not written like 2024-01-31, but "{date}"'):
        open_source(path, "y")
    assert open_source(path, "y", categorical=["when"]).n_rows == 20
    with pytest.raises(ValueError, match=f"not written like 2024-01-31, but '{date}'"):
        Table.learn(pd.DataFrame({"when": [date] * 20}))


def test_a_target_of_dates_is_refused(frame, tmp_path):
    for name, write in (("rows.csv", frame.to_csv), ("rows.parquet", frame.to_parquet)):
        write(tmp_path / name, index=False)
        with pytest.raises(ValueError, match=r"column 'when', holds dates or times"):
            open_source(tmp_path / name, "when")


def test_dates_that_a_model_learned_as_categories_stay_categories(tmp_path):
    days = ["2024-01-31", "2024-02-01"]
    frame = pd.DataFrame({"when": days})
    assert Table(("when",), (tuple(days),)).encode(frame).tolist() == [[0], [1]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    schema = Schema(("when",), (tuple(days),))
    for file in ("rows.csv", "rows.parquet"):
        assert open_source(tmp_path / file, schema=schema).take(slice(0, 2)).X.tolist() == [
            [0],
            [1],
        ]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("ending", ["parquet", "feather", "jsonl"])
def test_times_that_are_declared_categories_are_categories(ending, zone, tmp_path):
    when = pd.to_datetime(["2024-01-31", "2024-02-01"] * 20).tz_localize(zone)
    frame = pd.DataFrame({"when": when, "y": np.arange(40.0) % 2})
    path = tmp_path / f"rows.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    else:
        getattr(frame, f"to_{ending}")(path)
    source = open_source(path, "y", categorical=["when"])
    assert source.schema.names == ("when",)
    assert [text[:10] for text in source.schema.categories[0]] == ["2024-01-31", "2024-02-01"]
    model = KernelRegressor(random_state=0).fit(source)
    again = open_source(path, schema=model.schema_.without_target(), keep="no")
    np.testing.assert_allclose(model.predict(again), frame["y"], atol=0.05)


def test_a_column_that_cannot_be_read_is_not_advised_as_categories(tmp_path):
    spans = pd.DataFrame({"span": pd.to_timedelta(range(5), "h"), "y": range(5)})
    spans.to_parquet(tmp_path / "rows.parquet")
    for declared in ([], ["span"]):
        with pytest.raises(ValueError, match=r"leave it out by drop=\['span'\]\.$"):
            open_source(tmp_path / "rows.parquet", "y", categorical=declared)


def test_numbers_in_place_of_times_are_refused(frame, tmp_path):
    table = Table.learn(frame[["when"]])
    with pytest.raises(ValueError, match="'when' holds times, but row 0"):
        table.encode(frame[["when"]].assign(when=1.0))
    frame.to_parquet(tmp_path / "rows.parquet")
    schema = open_source(tmp_path / "rows.parquet", "y").schema
    frame.assign(when=1.0).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="'when': expected times, found number"):
        open_source(tmp_path / "rows.parquet", schema=schema)


def test_a_model_file_with_other_parts_is_refused(frame, tmp_path):
    model = KernelRegressor(solver="direct", random_state=0).fit(frame[["when"]], frame["y"])
    for parts in (ALL[1:], (*ALL, "time"), ("soon", *ALL[1:])):
        damaged = copy.deepcopy(model)
        damaged._table = replace(model._table, parts=parts)
        with pytest.raises(ValueError, match="parts of times"):
            bochner.save(damaged, tmp_path / "m.bochner")


@pytest.mark.parametrize("parts", [("soon",), ("sine of the hour",), ("time", "time"), (1,)])
def test_a_schema_with_other_parts_is_refused(parts):
    record = Schema(("when",), (None,)).to_dict()
    with pytest.raises(ValueError, match="A schema cannot have parts"):
        Schema.from_dict(record | {"parts": list(parts)})
