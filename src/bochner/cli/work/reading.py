"""Read data and model files as the options of a command say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bochner import load, read_header
from bochner.cli.quantities import split_names
from bochner.cli.screen import Screen
from bochner.data import FileSource, ReadingProgress, Schema, Split, open_source
from bochner.data.files.formats.dialect import UNNAMED
from bochner.data.files.formats.paths import Format
from bochner.data.files.formats.tables import DecimalMark, TableOptions
from bochner.data.files.open_source import Keep, MissingTarget, OnError
from bochner.data.files.schema.schema import Missing
from bochner.data.transforms.times import ZONED, of_parts
from bochner.estimators.inputs.schemas import schema_of
from bochner.persist import Header
from bochner.wording import amount, counted

MOST_SHOWN = 3  # malformed rows
MOST_NAMED = 5  # columns
UTC = " in Coordinated Universal Time"


@dataclass(frozen=True)
class ReadingOptions:
    """The options about the text of files, which all commands have."""

    on_error: OnError = "raise"
    format: Format | None = None
    header: bool | Literal["auto"] = "auto"
    delimiter: str = "auto"
    decimal: DecimalMark = "auto"
    encoding: str | None = None
    zero_based: bool | Literal["auto"] = "auto"

    @staticmethod
    def of(
        on_error: Any, format: Any, header: Any, delimiter: str, decimal: Any,
        encoding: str | None, zero_based: Any,
    ) -> ReadingOptions:  # fmt: skip
        """Return the record of options as the command line gives them."""
        return ReadingOptions(
            on_error.literal,
            None if format is None else format.literal,
            header.literal,
            delimiter,
            decimal.literal,
            encoding,
            zero_based.literal,
        )

    def for_tables(self) -> TableOptions:
        """Return the options for tables that are read without a schema."""
        base = None if self.zero_based == "auto" else self.zero_based
        decimal = "." if self.decimal == "auto" else self.decimal
        return TableOptions((), self.header, self.delimiter, decimal, self.encoding, base)


@dataclass(frozen=True)
class DataOptions:
    """The options about data: columns, missing cells, and how files are read."""

    target: tuple[str, ...] = ()
    weight: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: Missing = "own"
    missing_target: MissingTarget = "refuse"
    reading: ReadingOptions = ReadingOptions()

    def open(
        self,
        data: list[str],
        screen: Screen,
        *,
        split: Split | None = None,
        memory: Any = None,
        schema: Schema | None = None,
    ) -> FileSource:
        """Open files; one pass with a progress bar finds their schema, unless it is given.

        Test rows are read by the schema of the training rows, whose categories they may lack.
        """
        with ReadingBar(screen) as bar:
            source = open_source(
                data, _one_or_several(self.target), self.weight,
                columns=self.columns or None, drop=self.drop, categorical=self.categorical,
                missing=self.missing, missing_target=self.missing_target, split=split,
                memory=memory, schema=schema, progress=bar, **vars(self.reading),
            )  # fmt: skip
        report_missing(source, screen, "" if schema is None else " of the test rows")
        if schema is None:  # what follows is about all rows of the files
            report_skipped(source, screen)
            report_unnamed(source, screen)
            report_times(source.schema, screen)
        return source

    @staticmethod
    def of(
        target: list[str] | None,
        weight: str | None,
        columns: list[str] | None,
        drop: list[str] | None,
        categorical: list[str] | None,
        missing: Any,
        missing_target: Any,
        *,
        reading: ReadingOptions,
    ) -> DataOptions:
        """Return the record of options as the command line gives them."""
        return DataOptions(
            split_names(target),
            weight,
            split_names(columns),
            split_names(drop),
            split_names(categorical),
            missing.literal,
            missing_target.literal,
            reading,
        )

    def settings(self) -> dict[str, Any]:
        """Return the options that a resumed run must share with the first."""
        given = asdict(self)
        flat = given | given.pop("reading")
        return {name: list(v) if isinstance(v, tuple) else v for name, v in flat.items()}


def open_with_schema(
    data: list[str],
    schema: Schema,
    screen: Screen,
    reading: ReadingOptions,
    *,
    keep: Keep,
    missing_target: MissingTarget = "refuse",
    split: Split | None = None,
    carried: tuple[str, ...] = (),
) -> FileSource:
    """Open new files with the schema of a model."""
    with ReadingBar(screen) as bar:
        return open_source(
            data, schema=schema, keep=keep, missing_target=missing_target, split=split,
            carried=carried, progress=bar, **vars(reading),
        )  # fmt: skip


def require_files(data: list[str], purpose: str) -> None:
    """Raise for standard input where training and test rows are read in two passes."""
    if "-" in data:
        raise ValueError(
            f"Standard input can be read only once, but {purpose} reads training rows, then test "
            "rows. Put the rows into a file and give its name."
        )


def report_skipped(source: FileSource, screen: Screen) -> None:
    """Print the numbers of malformed rows, with the first of them, and of rows without a target."""
    skipped = source.skipped
    if skipped.count > 0:
        screen.note(f"Skipped {counted(skipped.count, 'malformed row')}:")
        for sentence in skipped.first[:MOST_SHOWN]:
            screen.note(f"  {sentence}")
    if source.missing_targets > 0:
        screen.note(f"Skipped {counted(source.missing_targets, 'row')} without a target.")


def report_missing(source: FileSource, screen: Screen, rows: str = "") -> None:
    """Print which columns have missing cells, and what replaces them.

    `rows` says which rows of the files these are, such as " of the test rows".
    """
    counts = [f"{name} ({count:,})" for name, count in source.missing_cells.items()]
    if counts:
        others = counted(len(counts) - MOST_NAMED, "more column")
        more = f" and {others}" if len(counts) > MOST_NAMED else ""
        screen.note(
            f"Missing cells{rows} in {', '.join(counts[:MOST_NAMED])}{more}; what replaces them: "
            f"--missing {source.schema.missing}."
        )


def report_unnamed(source: FileSource, screen: Screen) -> None:
    """Print a note about each column without a name, which may be an index."""
    for name in source.schema.names:
        if name.startswith(UNNAMED):
            screen.note(
                f"A column without a name is called {name!r}; --drop '{name}' leaves it out."
            )


def report_times(schema: Schema, screen: Screen) -> None:
    """Print what each column of dates or times becomes."""
    for name, parts in of_parts(schema.names, schema.parts).items():
        first, *cycles = parts
        also = f", with {', '.join(cycles)}" if cycles else ""
        screen.note(
            f"Dates in {name!r} become years since 1970{UTC if first == ZONED else ''}{also}; "
            f"--categorical '{name}' makes them categories."
        )


def _one_or_several(target: tuple[str, ...]) -> Any:
    if not target:
        return None
    return target[0] if len(target) == 1 else list(target)


class ReadingBar:
    """A progress bar for the first pass over the files."""

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
            self._bar = self._start()
            self._task = self._bar.add_task("read", total=progress.bytes_total, note="")
        note = f"{amount(progress.bytes_read)}  {progress.rows:,} rows"
        self._bar.update(self._task, completed=progress.bytes_read, note=note)

    def _start(self) -> Any:
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
class LoadedModel:
    """A fitted estimator, the header of its file, and the schema of its rows."""

    model: Any
    header: Header
    schema: Schema

    def schema_with_target(self, target: tuple[str, ...]) -> Schema:
        """Return the schema with other target columns, or the model's own if none are given."""
        if not target:
            return self.schema
        learned = [name for name in target if name in self.schema.names]
        if learned:
            raise ValueError(
                f"The model predicts from the column {learned[0]!r}, so it cannot be compared with "
                "its predictions. Give another --target."
            )
        labels = self.header.labels
        text = labels is not None and all(isinstance(label, str) for label in labels)
        kind = tuple(labels) if text and labels is not None else None
        return replace(self.schema, targets=target, labels=kind, flat=len(target) == 1)

    def split(self, part: Literal["all", "train", "test"]) -> Split | None:
        """Return the split of `fit --test`: its test rows, its training rows, or None for all."""
        if part == "all":
            return None
        test = self.header.summary.get("test")
        if not test:
            raise ValueError(
                f"--part {part} needs a model that was fitted with --test SHARE; this one was "
                "fitted to all rows of its files."
            )
        return Split(part, float(test["share"]), int(test["seed"]))


def load_model(path: Path) -> LoadedModel:
    """Load a model; raise if it has no predictions."""
    header = read_header(path)
    model = load(path)
    if not hasattr(model, "predict") or not header.columns:
        raise ValueError(
            f"{path} holds a {header.model}; the command line takes estimators with predictions, "
            "as `bochner fit` writes them."
        )
    return LoadedModel(model, header, schema_of(model))
