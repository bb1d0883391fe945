"""Names in data are text in every page: they cannot add or change an element of it."""

from __future__ import annotations

import os
import stat
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bochner.cli.app import app

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style></svg></title><b>",
    "--><!-- ]]> &lt;i&gt; &#60;u&#62;",
    r"$\frac{1}{\hbox{ {{ 7*7 }} {% raw %}",
    "javascript:alert(1)\x1b[31m\u202e\u2028",
)


class Elements(HTMLParser):
    """Counts the elements of a page with the names of their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        # glyphs and lines of pictures depend on the length of names
        if tag not in ("path", "use", "g", "defs", "text", "tspan"):
            self.found[tag, tuple(sorted(name for name, _ in attributes))] += 1
        else:
            assert not [name for name, _ in attributes if name.startswith("on")]
            assert all(value.startswith("#") for name, value in attributes if name.endswith("href"))

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def names_of(kind: str) -> list[str]:
    return list(HOSTILE) if kind == "hostile" else [f"name {k}" for k in range(len(HOSTILE))]


def table(kind: str) -> tuple[pd.DataFrame, list[str]]:
    """Return rows whose columns, categories and labels have these names."""
    names, rng = names_of(kind), np.random.default_rng(0)
    columns = {name: rng.normal(size=80) for name in names[:4]}
    columns[names[4]] = np.array(names)[rng.integers(0, 3, 80)]
    number = columns[names[0]] + rng.normal(size=80) / 4
    columns[names[5]] = np.where(number > 0, names[0], names[1])
    return pd.DataFrame(columns).assign(**{f"{names[2]} 2": number}), names


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def page_of(kind: str, task: str) -> str:
    """Write a page about a table, whose name is one of the names too; return its text."""
    rows, names = table(kind)
    data = f"rows {names[3]}.csv".replace("/", "|")
    rows.to_csv(data, index=False)
    label, number = quoted(names[5]), quoted(f"{names[2]} 2")
    target, other = (label, number) if task == "classification" else (number, label)
    learn = ["-t", target, "--drop", other, "--task", task, "--set", "max_passes=2"]
    out = f"{kind}.html"
    if task == "compare":
        learn[5] = "classification"
        learn[1], learn[3] = label, number
        arguments = [["compare", data, *learn, "--methods", "direct", "--report", out]]
    else:
        fit = ["fit", data, *learn, "-o", f"{kind}.bochner"]
        arguments = [fit, ["evaluate", f"{kind}.bochner", data, "--report", out]]
    for given in arguments:
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
    return Path(out).read_text()


@pytest.mark.parametrize("task", ["classification", "regression", "compare"])
def test_names_change_no_element_of_a_page(folder, task):
    plain, hostile = (Elements(page_of(kind, task)).found for kind in ("plain", "hostile"))
    assert hostile == plain
    assert sum(plain.values()) > 50


def test_files_have_the_permissions_that_the_user_chose(folder):
    rows, names = table("plain")
    rows.to_csv("rows.csv", index=False)
    old = os.umask(0o027)
    try:
        learn = ["-t", names[5], "--set", "max_passes=1"]
        for arguments in (
            ["fit", "rows.csv", *learn, "-o", "m.bochner"],
            ["predict", "m.bochner", "rows.csv", "-o", "p.csv"],
            ["predict", "m.bochner", "rows.csv", "-o", "p.parquet"],
            ["convert", "rows.csv", "c.parquet"],
            ["evaluate", "m.bochner", "rows.csv", "--report", "e.html"],
        ):
            assert CliRunner().invoke(app, arguments).exit_code == 0
    finally:
        os.umask(old)
    written = [path for path in folder.iterdir() if path.name != "rows.csv"]
    assert len(written) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o640}


def test_a_file_that_is_replaced_keeps_its_permissions(folder):
    rows, names = table("plain")
    rows.to_csv("rows.csv", index=False)
    Path("m.bochner").touch(0o600)
    learn = ["-t", names[5], "--set", "max_passes=1", "-o", "m.bochner"]
    assert CliRunner().invoke(app, ["fit", "rows.csv", *learn]).exit_code == 0
    assert stat.S_IMODE(Path("m.bochner").stat().st_mode) == 0o600


def test_files_on_their_way_are_private(folder, monkeypatch):
    rows, names = table("plain")
    rows.to_csv("rows.csv", index=False)
    modes, chmod = [], os.chmod

    def recorded(path, mode):
        modes.append(stat.S_IMODE(os.stat(path).st_mode))
        chmod(path, mode)

    monkeypatch.setattr("os.chmod", recorded)
    learn = ["-t", names[5], "--set", "max_passes=1", "-o", "m.bochner"]
    assert CliRunner().invoke(app, ["fit", "rows.csv", *learn]).exit_code == 0
    assert set(modes) == {0o600}  # until the file is complete and gets those of the user
