"""What is written in this library, with each call to the system failing in turn.

After each failure: the old file is there or the whole new one, nothing else is, and the estimator
is as it was.
"""

from __future__ import annotations

import tempfile
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import bochner
from bochner.cli.work.table_files import table_writer
from bochner.data import open_source
from bochner.features import Binning
from bochner.report import DataSummary, Report, Run
from fault_injection import Calls, failing

ROWS = 300
REMEDIES = ("hoose", "Make room", "Set the environment variable TMPDIR")


@dataclass
class Sweep:
    """What came of a scenario: calls that failed by kind, ends of it, and what was lost."""

    name: str
    failed: int = 0
    made: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)


class Scenario(ABC):
    """Something that writes files."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.path, self.temporary = folder / "target" / self.file, folder / "temporary"
        self.path.parent.mkdir()
        self.temporary.mkdir()
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(ROWS, 3))
        self.y = np.sin(2 * self.X[:, 0]) + self.X[:, 1]
        self.prepare()

    file = "file"

    @abstractmethod
    def prepare(self) -> None:
        """Make what is needed."""

    def before(self) -> None:
        """Put the old file there. Puts a text there by default."""
        self.path.write_text("old")

    @abstractmethod
    def run(self) -> None:
        """Write; called with calls that fail."""

    def whole(self) -> bool:
        """Whether the file is the old one or the new one; compares bytes by default."""
        return self.path.read_bytes() in (b"old", self.new)

    def unchanged(self) -> bool:
        """Whether the estimator is as it was. True by default."""
        return True

    def learn(self) -> None:
        """Remember what a run without failures writes."""
        self.before()
        self.run()
        self.new = self.path.read_bytes() if self.path.exists() else b""

    def leftovers(self) -> list[str]:
        """Return the names of files that should not be there."""
        here = [*self.path.parent.iterdir(), *self.temporary.iterdir()]
        return [file.name for file in here if file != self.path]


class Save(Scenario):
    """A model that replaces another file."""

    name = "save"

    def prepare(self) -> None:
        """Fit the model."""
        self.model = bochner.KernelRegressor(features=Binning(8), random_state=0, max_passes=1)
        self.model.fit(self.X, self.y)
        self.values = self.model.predict(self.X)

    def run(self) -> None:
        """Save it."""
        bochner.save(self.model, self.path)

    def unchanged(self) -> bool:
        """Whether it predicts the same."""
        return np.array_equal(self.model.predict(self.X), self.values)


class Onnx(Save):
    """A model that is exported."""

    name, file = "export to ONNX", "model.onnx"

    def prepare(self) -> None:
        """Fit the model."""
        self.model = bochner.KernelRegressor("gaussian", solver="direct", random_state=0)
        self.model.fit(self.X, self.y)
        self.values = self.model.predict(self.X)

    def run(self) -> None:
        """Export it."""
        bochner.to_onnx(self.model, self.path)


class Predictions(Scenario):
    """A table of predictions."""

    name, file = "predictions, CSV", "table.csv"

    def prepare(self) -> None:
        """Do nothing."""

    def run(self) -> None:
        """Write the table in several batches."""
        with table_writer(str(self.path)) as table:
            for start in range(0, ROWS, 100):
                rows = self.X[start : start + 100]
                table.write({"x": rows[:, 0], "prediction": rows[:, 1]})


class ParquetPredictions(Predictions):
    """A table of predictions in Parquet."""

    name, file = "predictions, Parquet", "table.parquet"


class ArrayPredictions(Predictions):
    """A table of predictions as an array."""

    name, file = "predictions, .npy", "table.npy"


class Page(Scenario):
    """A report."""

    name, file = "report", "page.html"

    def prepare(self) -> None:
        """Make the page once: pictures take time."""
        model = bochner.KernelRegressor(random_state=0).fit(self.X, self.y)
        data = DataSummary.of(self.X, self.y, target="y")
        self.report = Report("Rows", data, [Run.of(model, self.X, self.y, seconds=None)])
        html = self.report.html()
        object.__setattr__(self.report, "html", lambda: html)

    def run(self) -> None:
        """Write it."""
        self.report.write(self.path)


class Fit(Scenario):
    """A fit; afterwards the estimator has the earlier fit or the whole new one."""

    def prepare(self) -> None:
        """Fit to other rows, and find out what the fit gives."""
        self.model = self.machine().fit(self.X, -self.y)
        self.old = self.model.predict(self.X)
        self.new_values = self.fitted(self.machine()).predict(self.X)

    def before(self) -> None:
        """Begin without a file and with the earlier fit."""
        self.path.unlink(missing_ok=True)
        self.model = self.machine().fit(self.X, -self.y)

    def whole(self) -> bool:
        """Whether nothing was left."""
        return True

    @abstractmethod
    def machine(self) -> Any:
        """Return the machine, not fitted."""

    @abstractmethod
    def fitted(self, model: Any) -> Any:
        """Fit it."""

    def run(self) -> None:
        """Fit it again."""
        self.fitted(self.model)

    def unchanged(self) -> bool:
        """Whether the estimator has one of the two fits."""
        values = self.model.predict(self.X)
        return any(np.array_equal(values, known) for known in (self.old, self.new_values))


class CheckpointOfFit(Fit):
    """A fit that writes a checkpoint after each batch."""

    name, file = "checkpoint", "checkpoint"

    def machine(self) -> Any:
        """Return a machine of few batches."""
        return bochner.KernelRegressor(
            "gaussian", solver="cg", features=Binning(8), max_passes=3, tol=0.0, random_state=0,
            early_stopping=False,
        ).set_params(kernel="laplacian")  # fmt: skip

    def fitted(self, model: Any) -> Any:
        """Fit it with checkpoints."""
        model.set_params(callbacks=[bochner.Checkpoint(self.path, 0)])
        return model.fit(self.X, self.y)

    def whole(self) -> bool:
        """Whether there is no file, or one that resumes to the same bits."""
        if not self.path.exists():
            return True
        model = bochner.load(self.path).fit(self.X, self.y)
        return np.array_equal(model.predict(self.X), self.new_values)


class CodesOnDisk(Fit):
    """A fit that keeps codes in a temporary file, since memory is short."""

    name = "codes on disk"

    def machine(self) -> Any:
        """Return a machine that makes several passes."""
        return bochner.KernelRegressor(
            "laplacian", solver="cg", features=Binning(16), max_passes=2, random_state=0,
            memory_budget="1kB", early_stopping=False,
        )  # fmt: skip

    def fitted(self, model: Any) -> Any:
        """Fit it."""
        return model.fit(self.X, self.y)


class RowsOnDisk(CodesOnDisk):
    """A fit to a file of text whose rows go to a temporary file, since memory is short."""

    name = "rows on disk"

    def prepare(self) -> None:
        """Write the rows as text."""
        self.table = self.path.parent.parent / "rows.csv"
        np.savetxt(self.table, np.column_stack([self.X, self.y]), delimiter=",", fmt="%.17g")
        super().prepare()

    def fitted(self, model: Any) -> Any:
        """Fit it to the file."""
        return model.fit(open_source(self.table, target=-1, header=False, memory=1000, keep="disk"))


SCENARIOS: tuple[type[Scenario], ...] = (
    Save, CheckpointOfFit, RowsOnDisk, CodesOnDisk, Page, Predictions, ParquetPredictions,
    ArrayPredictions, Onnx,
)  # fmt: skip


@contextmanager
def temporary_folder(folder: Path) -> Any:
    """Let temporary files go to a folder."""
    with patch.object(tempfile, "tempdir", str(folder)), warnings.catch_warnings(action="ignore"):
        yield


def sweep(kind: type[Scenario], *, lasting: bool = False, every: int = 1) -> Sweep:
    """Let each call fail in turn, until a run makes fewer calls than that."""
    found = Sweep(kind.name + (", lasting" if lasting else ""))
    with tempfile.TemporaryDirectory() as name:
        with warnings.catch_warnings(action="ignore"):
            scenario = kind(Path(name))
        with temporary_folder(scenario.temporary):
            scenario.learn()
            at = 1
            while one_failure(scenario, at, lasting, found):
                at += every
    return found


def one_failure(scenario: Scenario, at: int, lasting: bool, found: Sweep) -> bool:
    """Let one call fail; return False if there were fewer."""
    scenario.before()
    calls, end = Calls([scenario.path.parent, scenario.temporary], at, lasting), "went on"
    try:
        with failing(calls):
            scenario.run()
    except OSError as error:
        told = any(word in str(error) for word in REMEDIES)
        end = "an error with a remedy" if told else f"a bare error: {error}"
    except Exception as error:
        end = f"{type(error).__name__}: {error}"
    if calls.failed == 0:
        found.made = calls.made
        return False
    found.failed += 1
    found.ends[end] += 1
    faults = {
        "half a file": not scenario.whole(),
        f"left {scenario.leftovers()}": bool(scenario.leftovers()),
        "the estimator changed": not scenario.unchanged(),
        end: not end.startswith(("an error with", "went on")),
    }
    found.lost += [f"call {at}: {fault} ({end})" for fault, true in faults.items() if true]
    return True
