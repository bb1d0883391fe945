"""Every message of the package advises what the running command can do.

The messages are found in the source: no test needs to know them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import bochner
from bochner import KernelClassifier, KernelRegressor
from bochner.cli.app import app
from bochner.cli.command_words import CommandWords, options_of
from bochner.wording import AdvisedError

SOURCE = Path(bochner.__file__).parent
GROUP = get_command(app)
COMMANDS = {name: options_of(command) for name, command in GROUP.commands.items()}
LEARNING = ("fit", "compare")
ALL = ("fit", "compare", "predict", "evaluate", "convert", "inspect")

# What no command can reach, and why.
PYTHON_ONLY = {
    "estimators/two_samples/": "no command compares samples",
    "estimators/transformers/": "no command transforms",
    "kernels/composite/": "kernels are combined in Python",
    "kernels/given.py": "functions are given in Python",
    "report/report.py": "a command gives the runs",
    "data/synthetic.py": "the demo gives the rows",
    "data/memory_sources.py": "rows of commands come from files",
    "data/batch.py": "readers make the batches",
    "callbacks.py": "a command gives the callbacks",
    "spectra/": "a module of functions for Python",
    "kernels/rows.py": "readers make tables of two dimensions",
}
# Words of messages about what only Python has.
PYTHON_WORDS = (
    "partial_fit", "iterator", "blocks", "return_std", "return_cov", "precomputed", "classes=",
    "toarray", "Schema.to_dict", "open_source(path", "keep='no'", "kernel.resolved", "log_marginal",
    "(n_columns, size)", "dual_coef_", "RandomFourier", "`prepare_basis`",
)  # fmt: skip
SPOKEN_BY = {
    "cli/work/predictions.py": ("predict",),
    "cli/predict.py": ("predict",),
    "cli/work/evaluation.py": ("evaluate",),
    "cli/work/pages.py": ("evaluate",),
    "cli/work/fitting.py": ("fit",),
    "cli/work/comparison.py": ("compare",),
    "cli/work/conversion.py": ("convert",),
    "cli/convert.py": ("convert",),
    "cli/work/table_files.py": ("predict",),
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
ARGUMENT = re.compile(r"(?<![\w.'\"=/-])[a-z]\w*=(?!=)|\w\.on\(|bochner\.[a-z]|solvers\.")


class Message(NamedTuple):
    """A text in the source, with "hole" for each value that is filled in."""

    path: str
    line: int
    text: str


def text_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else ("'hole'" if part.conversion == ord("r") else "hole")
            for part in node.values
        )
    return None


def messages() -> Iterator[Message]:
    """Yield the sentences of the package, without docstrings and what is advised in Python only."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree, skipped = ast.parse(path.read_text()), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):  # a docstring
                skipped.add(id(node.value))
            elif isinstance(node, ast.JoinedStr):
                skipped |= set(map(id, node.values))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "AdvisedError":
                skipped |= {id(part) for part in ast.walk(node.args[1])} if node.args[2:] else set()
        for node in ast.walk(tree):
            text = None if id(node) in skipped else text_of(node)
            if text and re.search(r"[a-z]+ [a-z]+", text) and "\n" not in text:
                yield Message(path.relative_to(SOURCE).as_posix(), node.lineno, text)


def reaches_a_command(message: Message) -> bool:
    return not (
        message.path.startswith(tuple(PYTHON_ONLY))
        or any(word in message.text for word in PYTHON_WORDS)
    )


LIBRARY = [m for m in messages() if not m.path.startswith("cli/") and reaches_a_command(m)]
WORK = [m for m in messages() if re.match(r"cli/(work/|screen)", m.path)]


def spoken(message: Message, command: str) -> str:
    return CommandWords(COMMANDS[command], COMMANDS["fit"]).translate(message.text)


def wrong_options(text: str, command: str) -> set[str]:
    """Return the options in a text that do not exist: those of `bochner fit` are between ticks."""
    parts = re.split(r"(`bochner fit [^`]*`|`fit [^`]*`)", text)
    named = {command: " ".join(parts[::2]), "fit": " ".join(parts[1::2])}
    return {o for name, part in named.items() for o in OPTION.findall(part)} - (
        set(OPTION.findall(named[command])) & COMMANDS[command]
        | set(OPTION.findall(named["fit"])) & COMMANDS["fit"]
    )


def test_there_are_messages_to_judge():
    assert len(LIBRARY) > 400
    assert sum(spoken(message, "fit") != message.text for message in LIBRARY) > 60
    assert len(WORK) > 30


@pytest.mark.parametrize("command", ALL)
def test_no_message_speaks_of_arguments_that_a_command_does_not_take(command):
    texts = {message: spoken(message, command) for message in LIBRARY}
    left = {m: text for m, text in texts.items() if ARGUMENT.search(without_settings(text))}
    assert not left
    wrong = {m: text for m, text in texts.items() if wrong_options(text, command)}
    assert not wrong


def without_settings(text: str) -> str:
    return re.sub(r"--set '?[\w=.,+-]+'?", "--set", text)


@pytest.mark.parametrize("message", WORK, ids=lambda m: f"{m.path}:{m.line}")
def test_the_commands_advise_options_that_they_have(message):
    for command in SPOKEN_BY.get(message.path, LEARNING if "--set" in message.text else ("fit",)):
        assert not wrong_options(spoken(message, command), command), message.text


def test_every_reason_for_python_only_is_needed():
    paths = {message.path for message in messages()}
    assert all(any(path.startswith(prefix) for path in paths) for prefix in PYTHON_ONLY)


@pytest.mark.parametrize(
    ("text", "command", "words"),
    [
        (
            "Give missing='own', or drop=['a, b'].",
            "fit",
            "Give --missing own, or --drop '\"a, b\"'.",
        ),
        ("Give zero_based=True.", "predict", "Give --zero-based yes."),
        ("Give drop=['a b'].", "predict", "Give `bochner fit --drop 'a b'`."),
        ("Raise max_passes or max_seconds.", "fit", "Raise --set max_passes or --time."),
        ("Give a larger memory_budget.", "compare", "Give a larger --memory."),
        ("Use solver='cg' for X.", "compare", "Use --methods cg for X."),
        (
            "Give features=Fourier(4096).",
            "fit",
            "Give --features fourier --set features__size=4096.",
        ),
        (
            'Give Laplacian("auto").',
            "fit",
            "Give --kernel laplacian --set kernel__bandwidth=auto.",
        ),
        ("Give drawing='plain'.", "fit", "Give --set features__drawing=plain."),
        ("Fit with scales=None.", "predict", "Fit with `bochner fit --set scales=None`."),
        (
            "Bins need scale=None; got Gaussian(bandwidth=2.0, scales=[1.0]).",
            "fit",
            "Bins need --scale none; got Gaussian(bandwidth=2.0, scales=[1.0]).",
        ),
        ("no column 'drop=x' in max_a_b", "fit", "no column 'drop=x' in max_a_b"),
    ],
)
def test_arguments_become_options_of_the_command(text, command, words):
    assert spoken(Message("", 0, text), command) == words


def test_an_error_names_columns_where_the_estimator_knows_them():
    frame = pd.DataFrame({"height": [1.0, 2, 3, 4], "tree": list("abab")})
    with pytest.raises(AdvisedError, match="Column 'tree': text") as error:
        KernelRegressor(features="fourier").fit(frame, [1.0, 2, 3, 4])
    assert "features='binning'" in error.value.in_command
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, -2, 3, 4]})
    with pytest.raises(ValueError, match=r"Column 'b': -2 in row 1"):
        KernelClassifier(kernel="chi_squared").fit(frame, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"Column 1: -2 in row 1"):
        KernelClassifier(kernel="chi_squared").fit(frame.to_numpy(), [0, 1, 0, 1])


def test_the_command_says_it_in_its_own_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": range(40), "tree": list("abcd") * 10, "y": range(40)}).to_csv("rows.csv")
    task = ["-t", "y", "--task", "regression", "-o", "m.bochner"]
    result = CliRunner().invoke(app, ["fit", "rows.csv", *task, "--features", "fourier"])
    assert "Column 'tree': text or categories. Give --features binning" in result.stderr
    assert "leave them out: --drop tree." in result.stderr
    result = CliRunner().invoke(app, ["fit", "rows.csv", *task, "--kernel", "gaussian"])
    assert "Column 'tree': text. Leave them out by --drop tree, or give --kernel" in result.stderr
    limits = ["--drop", "tree", "--solver", "dsg", "--set", "max_passes=1"]
    fit = CliRunner().invoke(app, ["fit", "rows.csv", *task, *limits])
    assert fit.exit_code == 0
    assert "Raise --set max_passes or --time" in fit.stderr


@pytest.mark.parametrize("name", ["zero_based=True", "alpa=1", "kernle__bandwidth=2"])
def test_settings_that_no_estimator_has_are_refused_before_a_file_is_read(name, tmp_path):
    data = str(tmp_path / "rows.csv")  # there is no such file
    for command, out in (("fit", "--out"), ("compare", "--report")):
        result = CliRunner().invoke(app, [command, data, out, f"{tmp_path}/m.html", "--set", name])
        assert result.exit_code == 1
        assert "no estimator has this parameter" in result.stderr


def test_convert_leaves_columns_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": [1, 2], "tree": ["a", "b"], "y": [3, 4]}).to_csv("rows.csv", index=False)
    refused = CliRunner().invoke(app, ["convert", "rows.csv", "rows.svm", "-t", "y"])
    assert "Leave it out: --drop tree." in refused.stderr
    for options in (["--drop", "tree"], ["--columns", "y,x"]):
        done = CliRunner().invoke(app, ["convert", "rows.csv", "rows.svm", "-t", "y", *options])
        assert done.exit_code == 0, done.output
        assert Path("rows.svm").read_text() == "3.0 1:1.0\n4.0 1:2.0\n"


def test_convert_keeps_digits_as_text_where_they_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("id,x\n00123,1\n00456,2\n")
    done = CliRunner().invoke(app, ["convert", "rows.csv", "rows.parquet", "--categorical", "id"])
    assert done.exit_code == 0, done.output
    assert pd.read_parquet("rows.parquet")["id"].tolist() == ["00123", "00456"]
