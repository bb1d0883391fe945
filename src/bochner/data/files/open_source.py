"""open_source: rows of files as a source to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bochner.compute.memory import memory_budget, release_freed
from bochner.data.files.file_source import FileRows, FileSource, FileStream
from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.paths import (
    NAMES,
    STANDARD_INPUT,
    Format,
    Paths,
    Stamp,
    format_of,
    found_files,
)
from bochner.data.files.formats.tables import (
    CsvTable,
    Header,
    count_alike,
    format_of_standard_input,
    opened,
)
from bochner.data.files.parsing import SparseParsing, TableParsing
from bochner.data.files.schema.first_pass import Progress, learn_sparse, learn_table
from bochner.data.files.schema.layout import Column, Wishes, layout_of, require_kinds
from bochner.data.files.schema.schema import MISSING, Missing, Schema
from bochner.data.files.split import Split
from bochner.data.files.stored_rows import StoredArray, StoredRows, StoredSparse, StoredTable

SMALL = 4  # rows of up to a fourth of the budget are kept in memory


Keep = Literal["auto", "memory", "disk", "no"]


OnError = Literal["raise", "skip"]


@dataclass(frozen=True)
class Reading:
    """How files are read, apart from which columns are wanted."""

    missing: Missing
    on_error: OnError
    keep: Keep
    split: Split | None
    schema: Schema | None
    dtype: str | None
    memory: int
    progress: Progress | None

    def __post_init__(self) -> None:
        for name, known in (
            ("missing", MISSING),
            ("on_error", get_args(OnError)),
            ("keep", get_args(Keep)),
            ("dtype", (None, "float32", "float64")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}; got "
                    f"{getattr(self, name)!r}."
                )

    @property
    def in_memory(self) -> int:
        """How many bytes of rows may be kept in memory."""
        return {"memory": 2**63, "disk": -1}.get(self.keep, self.memory // SMALL)

    @property
    def unlearned(self) -> bool:
        """Whether there is neither anything to learn nor to keep, so that no pass is needed."""
        return self.keep == "no" and self.schema is not None


def open_source(
    paths: Paths,
    target: Column | Sequence[Column] | None = None,
    weight: Column | None = None,
    *,
    columns: Sequence[Column] | None = None,
    drop: Sequence[Column] = (),
    categorical: Sequence[Column] = (),
    missing: Missing = "refuse",
    on_error: OnError = "raise",
    format: Format | None = None,
    header: Header = "auto",
    keep: Keep = "auto",
    split: Split | None = None,
    schema: Schema | None = None,
    dtype: Literal["float32", "float64"] | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> FileSource:
    """Return the rows of files, which may be larger than the memory.

    One pass over the files learns which columns hold numbers and which text, the categories of
    text, and what is missing; the same pass keeps the rows, so that they can be shuffled truly.

    Parameters
    ----------
    paths : str, path or several of them
        Files, folders or patterns such as "part-*.csv", all of one format and with the same
        columns; "-" is standard input.
    target, weight : str or int
        The columns of y and of sample weights, by name or, where a file has no names, by number;
        several targets as a list. Targets of text are labels. A .svm file has its labels as
        targets, a .npz file its array y.
    columns, drop : sequences of columns
        Those to learn from, in this order, or those not to. Without: all that are left.
    categorical : sequence of columns
        Columns of numbers that are categories. Text is in any case.
    missing : "refuse", "own", "mean" or "median"
        What stands for missing numbers: nothing, so that they are an error; a number that is
        unlike all others; the column's mean or median. Missing text is a category unless refused.
    on_error : "raise" or "skip"
        Whether a malformed row is an error or is left out and counted (`skipped`).
    format : "csv", "parquet", "svmlight", "npy" or "npz"
        If neither the names nor the first bytes of the files tell.
    header : bool or "auto"
        Whether CSV files begin with names; "auto" looks at the first line.
    keep : "auto", "memory", "disk" or "no"
        Where rows are kept: in memory up to a fourth of the budget and in a temporary file
        beyond, always in memory, always in a file, or nowhere, so that every pass parses the files.
        Array files are used where they are.
    split : Split
        Only the train or the test part of the rows.
    schema : Schema
        Read as these columns were read before, to predict: `model.schema_`.
    dtype : "float32" or "float64"
        Without: float32 if all columns of numbers are that in the files.
    memory : int or str
        The budget, such as "1GB"; without, half of what is free.
    progress : callable
        Told of the first pass, see `ReadingProgress`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/trees.csv", "w") as file:
    ...         _ = file.write("tree,height,age\\noak,21.5,80\\nash,18,40\\noak,30,120\\n")
    ...     source = open_source(f"{folder}/trees.csv", target="age")
    >>> source.schema.names, source.schema.categories
    (('tree', 'height'), (('ash', 'oak'), None))
    >>> source.take(slice(0, 2)).X
    array([[ 1. , 21.5],
           [ 0. , 18. ]])
    """
    reading = Reading(
        schema.missing if schema is not None and missing == "refuse" else missing,
        on_error, keep, split, schema, dtype if schema is None else schema.dtype,
        memory_budget(memory), progress,
    )  # fmt: skip
    wishes = Wishes(target, weight, columns, drop, categorical)
    files = found_files(paths)
    if format is not None and format not in NAMES:
        raise ValueError(f"format must be one of {', '.join(NAMES)}; got {format!r}.")
    if format is None:
        standard = files[0] == STANDARD_INPUT
        format = format_of_standard_input() if standard else format_of(files)
    header = header if schema is None else schema.header
    stamps = tuple(Stamp.of(path) for path in files if path != STANDARD_INPUT)
    tables = tuple(opened(path, format, _texts(wishes, schema), header) for path in files)
    if reading.keep == "no" and schema is None and any(table.once for table in tables):
        raise ValueError(
            "Standard input can be read once, but learning takes several passes: keep='no' is for "
            "files. Leave keep='auto'."
        )
    if format == "svmlight":
        return _sparse(SparseParsing(tables, stamps, split, on_error == "skip"), reading, wishes)
    return _table(tables, stamps, reading, wishes)


def _texts(wishes: Wishes, schema: Schema | None) -> tuple[str, ...]:
    """Return the columns that are text whatever they look like."""
    if schema is None:
        return tuple(str(name) for name in wishes.categorical)
    labels = () if schema.labels is None else schema.targets
    return (*(schema.names[place] for place in schema.categorical), *labels)


def _table(
    tables: tuple[Any, ...], stamps: tuple[Stamp, ...], reading: Reading, wishes: Wishes
) -> FileSource:
    first, schema = tables[0], reading.schema
    if isinstance(first, ArrayTable):
        wishes = first.meant(wishes)
    layout = wishes.layout(first) if schema is None else layout_of(schema, first)
    tables = tuple(
        table.with_texts(layout.texts) if isinstance(table, CsvTable) else table for table in tables
    )
    for table in tables:
        require_kinds(layout, table)
    dtype = np.dtype(reading.dtype or _dtype(layout, tables))
    parsing = TableParsing(tables, stamps, reading.split, reading.on_error == "skip", layout, dtype)
    if reading.unlearned:
        assert schema is not None
        return FileStream(parsing, replace(schema, missing=reading.missing), None)
    kept: StoredRows | None = None
    in_place = isinstance(first, ArrayTable) and len(tables) == 1 and reading.keep == "auto"
    in_place = in_place and set(layout.names) <= set(first.features)
    if in_place and stamps and reading.on_error == "raise" and not layout.texts:
        kept = StoredArray(first, stamps[0], layout, dtype, reading.split)
    elif reading.keep != "no":
        kept = StoredTable(layout, dtype, reading.in_memory)
    learned = learn_table(parsing, kept, schema, reading.missing, reading.progress)
    release_freed()
    if kept is None:
        return FileStream(parsing, learned.schema, learned)
    return FileRows(parsing, learned, kept)


def _dtype(layout: Any, tables: tuple[Any, ...]) -> str:
    numbers = set(layout.names) - layout.categorical
    single = bool(numbers) and all(numbers <= table.singles for table in tables)
    return "float32" if single else "float64"


def _sparse(parsing: SparseParsing, reading: Reading, wishes: Wishes) -> FileSource:
    if wishes != Wishes():
        raise ValueError(
            "The columns of svmlight files have no names to choose by, and the label that each "
            "line begins with is the target. Leave target, weight, columns, drop and categorical "
            "out."
        )
    schema = reading.schema
    count_alike(parsing.tables, None if schema is None else schema.zero_based)
    dtype = np.dtype(reading.dtype or "float64")
    width = None if schema is None else len(schema.names)
    parsing = replace(parsing, dtype=dtype, n_columns=width)
    if reading.unlearned:
        assert schema is not None
        return FileStream(parsing, schema, None)
    kept = None if reading.keep == "no" else StoredSparse(dtype, reading.in_memory)
    learned = learn_sparse(parsing, kept, schema, reading.progress)
    release_freed()
    if kept is None:
        return FileStream(
            replace(parsing, n_columns=learned.schema.n_columns), learned.schema, learned
        )
    return FileRows(parsing, learned, kept)
