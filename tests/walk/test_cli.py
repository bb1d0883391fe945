"""From the command line to a picture."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

import bochner
from bochner import KernelRegressor
from bochner.callbacks import Progress
from bochner.cli.app import app
from bochner.report import axes

ROWS = "4096"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def test_version_is_that_of_the_package():
    assert call("--version").output == f"bochner {bochner.__version__}\n"


def test_help_names_the_commands_and_loads_no_numerical_library():
    heavy = "print(sorted({'numpy', 'sklearn', 'scipy', 'numba', 'matplotlib'} & {*sys.modules}))"
    code = "import sys; from bochner.cli.app import app; app(['--help'], standalone_mode=False)"
    said = python("-c", f"{code}; {heavy}").stdout
    assert "demo" in said
    assert said.splitlines()[-1] == "[]"


def test_every_public_name_is_there_when_asked_for():
    for name in bochner.__all__:
        assert getattr(bochner, name).__name__.split(".")[-1] == name
        assert name in dir(bochner)
    with pytest.raises(AttributeError, match="no attribute 'KernelForest'"):
        bochner.KernelForest  # noqa: B018


def test_warmup_prints_how_long_it_took_and_what_the_library_logs(monkeypatch):
    def compile_all():
        logging.getLogger("bochner").info("Compiling loops for this computer.")
        return 2.0

    monkeypatch.setattr(bochner, "warmup", compile_all)
    result = call("warmup")
    assert result.stdout == "Compiled or read in 2.0 s.\n"
    assert result.stderr == "Compiling loops for this computer.\n"
    logger = logging.getLogger("bochner")
    assert not logger.handlers
    assert logger.level == logging.NOTSET


def test_demo_learns_tells_and_draws(folder):
    result = call("demo", "--rows", ROWS)
    assert result.exit_code == 0, result.output
    for word in (
        "4,096",
        "rows a second",
        "features",
        "error",
        "bochner-demo.png",
        "bochner-demo.html",
    ):
        assert word in result.output
    assert imread(folder / "bochner-demo.png").shape[:2] == (420, 1200)
    assert sorted(path.name for path in folder.iterdir()) == [
        "bochner-demo.html",
        "bochner-demo.png",
    ]
    page = (folder / "bochner-demo.html").read_text()
    for word in ("A wave in the plane", "4,096", "RMSE", "Residuals", "bochner demo --rows 4096"):
        assert word in page


def test_demo_overwrites_its_picture_and_can_be_silent(folder):
    picture = folder / "wave.png"
    picture.write_text("an old one")
    result = call("demo", "--rows", ROWS, "--out", str(picture), "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert imread(picture).shape[:2] == (420, 1200)
    assert sorted(path.name for path in folder.iterdir()) == ["wave.html", "wave.png"]


def test_the_seed_determines_the_picture(folder):
    for name, seed in (("a.png", "1"), ("b.png", "1"), ("c.png", "2")):
        assert call("demo", "--rows", ROWS, "--seed", seed, "--out", name, "-q").exit_code == 0
    first, again, other = ((folder / name).read_bytes() for name in ("a.png", "b.png", "c.png"))
    assert first == again != other


def test_an_interrupted_demo_tells_what_it_has_learned_and_draws_nothing(folder, monkeypatch):
    partial_fit = KernelRegressor.partial_fit

    def interrupt(progress: Progress) -> None:
        if progress.reason is None:
            os.kill(os.getpid(), signal.SIGINT)

    def interrupted(self: KernelRegressor, X: object) -> KernelRegressor:
        self.callbacks = (*self.callbacks, interrupt)
        return partial_fit(self, X)

    monkeypatch.setattr(KernelRegressor, "partial_fit", interrupted)
    result = call("demo", "--rows", "20000")
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert "10,000" in result.output
    assert list(folder.iterdir()) == []


def test_a_demo_interrupted_before_its_first_batch_says_so(folder, monkeypatch):
    def interrupted(self: KernelRegressor, X: object) -> KernelRegressor:
        raise KeyboardInterrupt

    monkeypatch.setattr(KernelRegressor, "partial_fit", interrupted)
    result = call("demo", "--rows", ROWS)
    assert result.exit_code == 130
    assert "before anything was learned" in result.output


def test_without_matplotlib_the_demo_names_the_extra_before_it_begins(folder, monkeypatch):
    monkeypatch.setattr(axes, "find_spec", lambda name: None)
    result = call("demo", "--rows", ROWS)
    assert result.exit_code == 1
    assert "bochner[report]" in result.output
    assert list(folder.iterdir()) == []


def test_a_picture_that_fails_leaves_the_old_one_and_nothing_half_written(folder, monkeypatch):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def fail(self: object, file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    (folder / "bochner-demo.png").write_text("an old one")
    monkeypatch.setattr(FigureCanvasAgg, "print_png", fail)
    result = call("demo", "--rows", ROWS, "-q")
    assert result.exit_code == 1
    assert "The disk is full" in result.output
    assert [path.read_text() for path in folder.iterdir()] == ["an old one"]


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--rows", "1", "--rows"),
        ("--rows", "many", "--rows"),
        ("--seed", "-1", "--seed"),
        ("--out", "wave.jpg", "end in .png"),
        ("--out", "nowhere/wave.png", "no directory"),
        ("--report", "wave.pdf", "end in .html"),
    ],
)
def test_a_bad_value_is_refused_with_a_sentence(folder, option, value, sentence):
    result = call("demo", option, value)
    assert result.exit_code == 2
    assert sentence in result.stderr
