"""Feather, Arrow, JSON lines and Excel hold the same table as CSV, or are refused by a sentence."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow
import pytest
from typer.testing import CliRunner

from bochner import KernelRegressor
from bochner.cli.app import app
from bochner.data import open_source
from bochner.data.files.formats import parquet
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.json_lines import JsonLines

ROWS = 30


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.choice(["ash", "oak ü", None], ROWS)
    size = rng.normal(size=ROWS).round(4)
    size[3] = np.nan
    when = pd.date_range("2024-01-31 12:30", periods=ROWS, freq="31h")
    return pd.DataFrame(
        {"kind": kind, "size": size, "when": when, "old": size > 0, "y": np.arange(ROWS) / 4}
    )


def write_stream(frame: pd.DataFrame, path: Path) -> None:
    table = arrow.Table.from_pandas(frame)
    with arrow.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def write_excel(frame: pd.DataFrame, path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame.to_excel(path, index=False)


WRITERS = {
    "rows.feather": lambda frame, path: frame.to_feather(path),
    "plain.feather": lambda frame, path: frame.to_feather(path, compression="uncompressed"),
    "rows.arrow": write_stream,
    "rows.parquet": lambda frame, path: frame.to_parquet(path),
    "rows.jsonl": lambda frame, path: frame.to_json(
        path, orient="records", lines=True, date_format="iso", force_ascii=False
    ),
    "rows.ndjson.gz": lambda frame, path: frame.to_json(
        path, orient="records", lines=True, date_format="iso"
    ),
    "rows.xlsx": write_excel,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_same_table(name, frame, tmp_path):
    frame.assign(old=frame["old"].astype(int)).to_csv(tmp_path / "rows.csv", index=False)
    expected = open_source(tmp_path / "rows.csv", "y")
    WRITERS[name](frame, tmp_path / name)
    source = open_source(tmp_path / name, "y")
    assert source.schema.names == expected.schema.names
    assert source.schema.categories == expected.schema.categories
    assert source.missing_cells == expected.missing_cells
    rows, others = (one.take(slice(0, ROWS)) for one in (source, expected))
    np.testing.assert_array_equal(rows.X, others.X)
    np.testing.assert_array_equal(rows.y, others.y)
    bare = tmp_path / "bare"
    (tmp_path / name).rename(bare)
    assert open_source(bare, "y").schema == source.schema


@pytest.mark.parametrize("name", ["rows.feather", "rows.jsonl", "rows.xlsx"])
def test_the_commands_read_every_format(name, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WRITERS[name](frame, tmp_path / name)
    frame.to_csv("rows.csv", index=False)
    run = CliRunner().invoke
    task = ["-t", "y", "--task", "regression", "--drop", "old", "-o", "m.bochner"]
    for command in (
        ["fit", name, *task],
        ["predict", "m.bochner", name, "--keep", "when,kind", "-o", "p.csv"],
        ["predict", "m.bochner", "rows.csv", "--keep", "when,kind", "-o", "q.csv"],
        ["evaluate", "m.bochner", name],
        ["convert", name, "back.csv"],
    ):
        result = run(app, command)
        assert result.exit_code == 0, result.output
    one, other = pd.read_csv("p.csv"), pd.read_csv("q.csv")
    np.testing.assert_allclose(one["y"], other["y"], rtol=1e-6)
    assert one["kind"].fillna("-").tolist() == other["kind"].fillna("-").tolist()
    assert (pd.to_datetime(one["when"]) == frame["when"]).all()
    back = pd.read_csv("back.csv")
    assert (pd.to_datetime(back["when"]).dt.tz_localize(None) == frame["when"]).all()
    np.testing.assert_array_equal(back["size"], frame["size"])


def lines(*records: object) -> bytes:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in records]
    return "".join(f"{text}\n" for text in texts).encode()


GOOD = [{"x": k / 2, "kind": "oak"} for k in range(30)]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("[1, 2]", "expected a JSON object, .* found .\\[1, 2\\]"),
        ("{'x': 1}", "expected a JSON object"),
        ('{"x": 1', "expected a JSON object"),
        ('{"x": 1, "x": 2}', "found a name twice in it"),
        ({"x": 1, "new": 2}, "expected only the names of the first rows, found 'new'"),
        ({"x": "soon"}, 'column "x": expected a finite number, found "soon"'),
        ({"x": [1, 2]}, 'column "x": expected a finite number, found .\\[1, 2\\]'),
        ('{"x": Infinity}', 'column "x": expected a finite number'),
        ('{"x": 1e999}', 'column "x": expected a finite number'),
        ('{"x": ' + "9" * 5000 + "}", "expected"),
        ({"kind": {"a": 1}}, 'column "kind": expected text'),
        ("[" * 100_000, "expected a JSON object"),
    ],
)
def test_a_malformed_line_is_a_bad_row(tmp_path, record, words):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(*(GOOD * 40), record, *GOOD))
    with pytest.raises(ValueError, match=f"line 1201.*{words}"):
        open_source(path)
    source = open_source(path, on_error="skip")
    assert (source.n_rows, source.skipped.count) == (1230, 1)


def test_members_may_be_missing_and_come_in_any_order():
    text = lines({"a": 1, "b": "x"}, {"b": None, "a": 2}, {"a": None}, {"c": True})
    (chunk,) = JsonLines(io.BytesIO(text), name="t").chunks(["c", "a", "b"])
    np.testing.assert_array_equal(
        chunk.numbers, [[np.nan, 1], [np.nan, 2], [np.nan, np.nan], [1, np.nan]]
    )
    assert chunk.texts[0].words().tolist() == ["x", None, None, None]
    assert chunk.lines.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("rows.feather", b"FEA1" + b"\0" * 40, "Feather file of version 1, which is not read"),
        ("rows.feather", b"ARROW1\0\0" + b"\0" * 40, "is damaged, or of another format"),
        ("rows.arrow", b"\xff\xff\xff\xff" + b"\x7f" * 40, "is damaged, or of another format"),
        ("rows.xlsx", b"PK\x03\x04" + b"\0" * 40, "is damaged, or no Excel workbook"),
        ("rows.xlsx", b"a,b\n1,2\n", "is damaged, or no Excel workbook"),
        ("rows.jsonl", b"a,b\n1,2\n", "expected a JSON object"),
        ("rows.jsonl", b"", "empty"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, words):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        open_source(tmp_path / name)


def test_damaged_arrow_files_end_with_a_sentence(frame, tmp_path):
    frame.to_feather(tmp_path / "rows.feather")
    content = (tmp_path / "rows.feather").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(8, len(content), 60):
        mutant = bytearray(content)
        mutant[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "mutant.feather").write_bytes(mutant)
        with suppress(ValueError):
            open_source(tmp_path / "mutant.feather", on_error="skip")


def test_only_text_is_read_compressed(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet.gz"
    path.write_bytes(gzip.compress((tmp_path / "rows.parquet").read_bytes()))
    with pytest.raises(UnreadableFile, match=r"is a compressed parquet file, .* Decompress it"):
        open_source(path)


def test_standard_input_may_be_of_every_format(frame, tmp_path, monkeypatch):
    for name in ("rows.feather", "rows.jsonl"):
        WRITERS[name](frame, tmp_path / name)
        expected = open_source(tmp_path / name, "y").take(slice(0, ROWS)).X
        for format in ({"feather": "arrow", "jsonl": "jsonl"}[name[5:]], None):
            with (tmp_path / name).open("rb") as file:
                monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
                source = open_source("-", "y", format=format)
            np.testing.assert_array_equal(source.take(slice(0, ROWS)).X, expected)


def test_a_workbook_of_two_sheets_is_refused(frame, tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "rows.xlsx"
    with pd.ExcelWriter(path) as writer:
        for sheet in ("north", "south"):
            frame.to_excel(writer, sheet_name=sheet, index=False)
    with pytest.raises(UnreadableFile, match="one sheet with cells; got 'north', 'south'"):
        open_source(path)


def test_a_workbook_needs_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    with pytest.raises(ImportError, match=r"pip install 'bochner\[excel\]', or save the sheet"):
        open_source(tmp_path / "rows.xlsx")


def test_a_workbook_that_unpacks_to_much_more_is_refused(frame, tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "rows.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros", b"\0" * 10_000_000)
    monkeypatch.setattr("bochner.data.files.formats.excel.SHORT", 1_000_000)
    with pytest.raises(UnreadableFile, match=r"holds 1\d MB in a file of .*fill the memory"):
        open_source(tmp_path / "rows.xlsx")


def test_a_parquet_file_that_repeats_one_value_for_ever_is_refused(tmp_path, monkeypatch):
    table = arrow.table({"x": np.zeros(2_000_000), "y": np.zeros(2_000_000)})
    arrow.parquet.write_table(table, tmp_path / "rows.parquet")
    monkeypatch.setattr(parquet, "SHORT", 1_000_000)
    with pytest.raises(
        UnreadableFile, match=r"claims 2,000,000 rows of 2 columns, .*fill the disk"
    ):
        open_source(tmp_path / "rows.parquet", "y")
    small = pd.DataFrame({"x": np.arange(200_000.0), "y": np.arange(200_000.0)})
    small.to_parquet(tmp_path / "rows.parquet")
    assert open_source(tmp_path / "rows.parquet", "y").n_rows == 200_000


def test_a_model_of_one_format_predicts_another(frame, tmp_path):
    frame.to_feather(tmp_path / "rows.feather")
    model = KernelRegressor(random_state=0).fit(open_source(tmp_path / "rows.feather", "y"))
    X = frame.drop(columns="y")
    found = model.predict(X)
    schema = model.schema_.without_target()
    for name in ("rows.jsonl", "rows.parquet"):
        WRITERS[name](X, tmp_path / name)
        source = open_source(tmp_path / name, schema=schema, keep="no")
        np.testing.assert_allclose(model.predict(source), found, rtol=1e-6)
