"""How a command's options say that data and model files are to be read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bochner import load, read_header
from bochner.cli.quantities import listed
from bochner.cli.screen import Screen
from bochner.estimators.inputs.schemas import schema_of
from bochner.wording import amount

if TYPE_CHECKING:
    from bochner.data import FileSource, ReadingProgress, Schema, Split
    from bochner.data.files.formats.paths import Format
    from bochner.data.files.open_source import Keep, OnError
    from bochner.data.files.schema.schema import Missing
    from bochner.persist import Header

MOST_TOLD = 3  # malformed rows


@dataclass(frozen=True)
class Reading:
    """Columns, and what becomes of missing numbers and malformed rows."""

    target: tuple[str, ...] = ()
    weight: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: Missing = "refuse"
    on_error: OnError = "raise"
    format: Format | None = None
    header: bool | Literal["auto"] = "auto"

    def open(
        self, data: list[str], screen: Screen, *, split: Split | None = None, memory: Any = None
    ) -> FileSource:
        """Read the files once to learn what they hold, with a bar."""
        from bochner.data import open_source

        with ReadingBar(screen) as bar:
            source = open_source(
                data if len(data) > 1 else data[0],
                _one_or_several(self.target),
                self.weight,
                columns=self.columns or None,
                drop=self.drop,
                categorical=self.categorical,
                missing=self.missing,
                on_error=self.on_error,
                format=self.format,
                header=self.header,
                split=split,
                memory=memory,
                progress=bar,
            )
        tell_skipped(source, screen)
        tell_unnamed(source, screen)
        return source

    @staticmethod
    def asked(
        target: list[str] | None,
        weight: str | None,
        columns: list[str] | None,
        drop: list[str] | None,
        categorical: list[str] | None,
        *,
        missing: Any,
        on_error: Any,
        format: Any,
        header: Any,
    ) -> Reading:
        """Return the reading that options ask for."""
        names = (listed(target), weight, listed(columns), listed(drop), listed(categorical))
        kind = None if format is None else format.value
        return Reading(*names, missing.value, on_error.value, kind, header.literal)

    def settings(self) -> dict[str, Any]:
        """Return what a second run must share with the first to go on with it."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


def opened_like(
    data: list[str],
    schema: Schema,
    screen: Screen,
    *,
    keep: Keep,
    on_error: OnError = "raise",
    format: Format | None = None,
    split: Split | None = None,
) -> FileSource:
    """Open new files that hold what a model was fitted to."""
    from bochner.data import open_source

    with ReadingBar(screen) as bar:
        return open_source(
            data if len(data) > 1 else data[0],
            schema=schema,
            keep=keep,
            on_error=on_error,
            format=format,
            split=split,
            progress=bar,
        )


def require_files(data: list[str], purpose: str) -> None:
    """Refuse standard input where rows are read twice: to learn from some, to judge by others."""
    if "-" in data:
        raise ValueError(
            f"Standard input can be read only once, but {purpose} reads rows to learn from, then "
            "rows to judge by. Put the rows into a file and give its name."
        )


def tell_skipped(source: FileSource, screen: Screen) -> None:
    """Say how many malformed rows were left out, and which were the first."""
    skipped = source.skipped
    if skipped.count > 0:
        screen.note(f"Skipped {skipped.count:,} malformed row(s):")
        for sentence in skipped.first[:MOST_TOLD]:
            screen.note(f"  {sentence}")


def tell_unnamed(source: FileSource, screen: Screen) -> None:
    """Say that a column without a name, which may be an index, is learned from as well."""
    from bochner.data.files.formats.dialect import UNNAMED

    for name in source.schema.names:
        if name.startswith(UNNAMED):
            screen.note(
                f"A column without a name is called {name!r}; --drop '{name}' leaves it out."
            )


def _one_or_several(target: tuple[str, ...]) -> Any:
    if not target:
        return None
    return target[0] if len(target) == 1 else list(target)


class ReadingBar:
    """A bar for the first pass over the files, with the time that is left."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._bar: Any = None

    def __enter__(self) -> ReadingBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: ReadingProgress) -> None:
        """Draw the bar."""
        if self.screen.quiet:
            return
        if self._bar is None:
            self._bar = self._opened()
            self._task = self._bar.add_task("read", total=progress.bytes_total, note="")
        note = f"{amount(progress.bytes_read)}  {progress.rows:,} rows"
        self._bar.update(self._task, completed=progress.bytes_read, note=note)

    def _opened(self) -> Any:
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column

        parts = (TextColumn("{task.description}"), BarColumn(bar_width=20))
        note = TextColumn("{task.fields[note]}")
        times = (TimeElapsedColumn, TimeRemainingColumn)
        columns = (time(table_column=Column(min_width=7)) for time in times)
        bar = Progress(*parts, *columns, note, console=self.screen.console, transient=True)
        bar.start()
        return bar


@dataclass(frozen=True)
class Trained:
    """A fitted estimator, the header of its file, and what rows it takes."""

    model: Any
    header: Header
    schema: Schema

    def named(self, target: tuple[str, ...]) -> Schema:
        """Return the schema with the column that holds the target, where the model knows none."""
        if not target:
            return self.schema
        labels = self.header.labels
        text = labels is not None and all(isinstance(label, str) for label in labels)
        kind = tuple(labels) if text and labels is not None else None
        return replace(self.schema, targets=target, labels=kind, flat=len(target) == 1)

    def split(self, part: Literal["all", "train", "test"]) -> Split | None:
        """Return the rows of a file that were left out of the fit, or those that were not."""
        from bochner.data import Split

        if part == "all":
            return None
        test = self.header.summary.get("test")
        if not test:
            raise ValueError(
                f"--part {part} needs a model that was fitted with --test SHARE; this one was "
                "fitted to all rows of its files."
            )
        return Split(part, float(test["share"]), int(test["seed"]))


def trained(path: Path) -> Trained:
    """Load a model that can predict."""
    header = read_header(path)
    model = load(path)
    if not hasattr(model, "predict") or not header.columns:
        raise ValueError(
            f"{path} holds a {header.model}, which predicts nothing; the command line takes models "
            "that `bochner fit` writes."
        )
    return Trained(model, header, schema_of(model))
