"""open_source: rows of files as a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bochner.compute.memory import memory_budget, release_freed
from bochner.data.files.file_source import FileRows, FileSource, FileStream
from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.arrow import ColumnarTable
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.paths import (
    STANDARD_INPUT,
    Format,
    Paths,
    Stamp,
    find_files,
    format_of,
)
from bochner.data.files.formats.svmlight import find_index_base
from bochner.data.files.formats.tables import DecimalMark, Header, TableOptions, open_table
from bochner.data.files.formats.value_table import ValueTable
from bochner.data.files.parsing import SparseParsing, TableParsing
from bochner.data.files.schema.first_pass import Progress, read_sparse, read_table
from bochner.data.files.schema.layout import (
    ColumnKey,
    ColumnSelection,
    Layout,
    layout_from_schema,
    require_kinds,
)
from bochner.data.files.schema.schema import MISSING, Missing, Schema
from bochner.data.files.split import Split
from bochner.data.files.stored_rows import ArrayFileRows, StoredRows, StoredSparse, StoredTable
from bochner.validation import require_one_of

SMALL = 4  # rows up to a fourth of the budget are stored in memory
Keep = Literal["auto", "memory", "disk", "no"]
OnError = Literal["raise", "skip"]
MissingTarget = Literal["refuse", "skip"]


@dataclass(frozen=True)
class ReadOptions:
    """How files are read, apart from the choice of columns."""

    missing: Missing
    missing_target: MissingTarget
    on_error: OnError
    keep: Keep
    split: Split | None
    schema: Schema | None
    dtype: str | None
    memory: int
    progress: Progress | None
    carried: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("missing", MISSING),
            ("missing_target", get_args(MissingTarget)),
            ("on_error", get_args(OnError)),
            ("keep", get_args(Keep)),
            ("dtype", (None, "float32", "float64")),
        ):
            require_one_of(name, getattr(self, name), known)

    @property
    def skipping(self) -> tuple[bool, bool]:
        """Whether malformed rows, and rows without a target, are left out."""
        return self.on_error == "skip", self.missing_target == "skip"

    @property
    def in_memory(self) -> int:
        """The number of bytes of rows that may be stored in memory."""
        return {"memory": 2**63, "disk": -1}.get(self.keep, self.memory // SMALL)

    @property
    def skips_first_pass(self) -> bool:
        """Whether there is nothing to learn and nothing to store."""
        return self.keep == "no" and self.schema is not None


def open_source(
    paths: Paths,
    target: ColumnKey | Sequence[ColumnKey] | None = None,
    weight: ColumnKey | None = None,
    *,
    columns: Sequence[ColumnKey] | None = None,
    drop: Sequence[ColumnKey] = (),
    categorical: Sequence[ColumnKey] = (),
    missing: Missing | None = None,
    missing_target: MissingTarget = "refuse",
    on_error: OnError = "raise",
    format: Format | None = None,
    header: Header = "auto",
    delimiter: str = "auto",
    decimal: DecimalMark = "auto",
    encoding: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    keep: Keep = "auto",
    split: Split | None = None,
    schema: Schema | None = None,
    dtype: Literal["float32", "float64"] | None = None,
    memory: int | str | None = None,
    carried: Sequence[str] = (),
    progress: Progress | None = None,
) -> FileSource:
    """Return the rows of files, which may be larger than the memory.

    One pass over the files learns which columns hold numbers and which text, the categories of
    text, and which values are missing. The same pass stores the rows, so that they can be shuffled
    uniformly.

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
        The features in this order, or the columns to leave out. By default all columns that
        are neither target nor weight are features.
    categorical : sequence of columns
        Columns of numbers that are categories. Columns of text always are.
    missing : "own", "mean", "median" or "refuse"
        What replaces missing numbers: "own", the default, a number far from all others, as in a
        fit to arrays; "mean" and "median" are the column's; "refuse" raises an error. Missing text
        is a category of its own unless refused. None: as in the schema, or "own".
    missing_target : "refuse" or "skip"
        Whether a row without a target is an error, as in a fit to arrays, or is left out and
        counted (`missing_targets`).
    on_error : "raise" or "skip"
        Whether a malformed row is an error or is left out and counted (`skipped`).
    format : "csv", "parquet", "svmlight", "npy", "npz", "arrow", "jsonl" or "xlsx"
        Needed only if neither names nor first bytes of the files identify it.
    header : bool or "auto"
        Whether CSV files begin with names; "auto" decides by the first line.
    delimiter : str
        Between the fields of CSV files: one character, or "auto" for a comma, a semicolon, a tab
        or ``|``, whichever fits.
    decimal : "auto", "." or ","
        What begins the fraction of a number in CSV files; "auto": a point.
    encoding : str, optional
        The encoding of text files, such as "cp1252"; by default UTF-8, or UTF-16 where the first
        bytes show it.
    zero_based : bool or "auto"
        Whether the first column of svmlight files is 0 instead of 1; "auto": if an index of the
        whole table is 0, or as in the schema.
    keep : "auto", "memory", "disk" or "no"
        Where rows are stored: "auto" in memory up to a fourth of the budget and in a temporary
        file beyond, "memory" or "disk" always there, "no" nowhere, so that every pass parses the
        files. Array files are read in place.
    split : Split
        Read only the train or the test part of the rows.
    schema : Schema
        The schema of the training data, to predict new rows: `model.schema_`. It also remembers
        header, delimiter, decimal, encoding and zero_based, for those that are not given.
    dtype : "float32" or "float64"
        By default float32 if all columns of numbers have this type in the files.
    memory : int or str
        The memory budget, such as "1GB"; by default half of the free memory.
    carried : sequence of str
        Columns whose cells the parts of a `FileStream` hold beside the rows (`CarryingBatch`);
        for a `schema` and keep="no".
    progress : callable
        Called during the first pass with a `ReadingProgress`.

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
    options = ReadOptions(
        missing or ("own" if schema is None else schema.missing), missing_target, on_error,
        keep, split, schema, dtype if schema is None else schema.dtype,
        memory_budget(memory), progress, tuple(carried),
    )  # fmt: skip
    selection = ColumnSelection(target, weight, columns, drop, categorical)
    files = find_files(paths)
    require_one_of("format", format, (None, *get_args(Format)))
    format = format or format_of(files)
    require_one_of("decimal", decimal, get_args(DecimalMark))
    how = TableOptions(
        _texts(selection, schema, options.carried),
        schema.header if schema is not None and header == "auto" else header,
        delimiter,
        "." if decimal == "auto" else decimal,
        encoding,
        _known_index_base(zero_based, schema),
    )
    if schema is not None:
        how = replace(how, **_remembered(schema, delimiter, decimal, encoding))
    stamps = tuple(Stamp.of(path) for path in files if path != STANDARD_INPUT)
    tables = tuple(open_table(path, format, how) for path in files)
    if options.keep == "no" and schema is None and any(table.once for table in tables):
        raise ValueError(
            "Standard input can be read once, but learning takes several passes: keep='no' is for "
            "files. Leave keep='auto'."
        )
    opened = _sparse if format == "svmlight" else _table
    return opened(tables, stamps, options, selection, how)


def _texts(
    selection: ColumnSelection, schema: Schema | None, carried: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns that are text even if they look like numbers."""
    if schema is None:
        return tuple(str(name) for name in selection.categorical)
    labels = () if schema.labels is None else schema.targets
    others = (name for name in carried if name not in (*schema.names, *schema.targets))
    texts = (schema.names[place] for place in schema.categorical)
    return (*texts, *labels, *schema.times, *others)


def _remembered(
    schema: Schema, delimiter: str, decimal: str, encoding: str | None
) -> dict[str, Any]:
    """Return how the text of the fit was written, as far as the user does not say it anew."""
    return {
        "delimiter": schema.delimiter if delimiter == "auto" else delimiter,
        "decimal": schema.decimal if decimal == "auto" else decimal,
        "encoding": schema.encoding if encoding is None else encoding,
    }


def _known_index_base(given: bool | Literal["auto"], schema: Schema | None) -> bool | None:
    require_one_of("zero_based", given, (True, False, "auto"))
    if given != "auto":
        return bool(given)
    return None if schema is None else schema.zero_based


def _table(
    tables: tuple[Any, ...],
    stamps: tuple[Stamp, ...],
    options: ReadOptions,
    selection: ColumnSelection,
    how: TableOptions,
) -> FileSource:
    first, schema = tables[0], options.schema
    if isinstance(first, ArrayTable):
        selection = selection.with_array_roles(first)
    layout = selection.layout(first) if schema is None else layout_from_schema(schema, first)
    if options.carried:
        layout = layout.with_carried(options.carried, first)
    tables = tuple(_with_texts(table, layout) for table in tables)
    for table in tables:
        require_kinds(layout, table)
    # Single precision would keep only minutes of times.
    dtype = np.dtype("float64" if layout.times else options.dtype or _dtype(layout, tables))
    parsing = TableParsing(tables, stamps, options.split, *options.skipping, how, layout, dtype)
    if options.skips_first_pass:
        assert schema is not None
        return FileStream(parsing, replace(schema, missing=options.missing), None)
    store: StoredRows | None = None
    plain = options.keep == "auto" and not any(options.skipping) and not layout.texts
    one_array = isinstance(first, ArrayTable) and len(tables) == len(stamps) == 1
    if plain and one_array and set(layout.names) <= set(first.features):
        store = ArrayFileRows(first, stamps[0], layout, dtype, options.split)
    elif options.keep != "no":
        store = StoredTable(layout, dtype, options.in_memory)
    first_pass = read_table(parsing, store, schema, options.missing, options.progress)
    release_freed()
    if store is None:
        return FileStream(parsing, first_pass.schema, first_pass)
    return FileRows(parsing, first_pass, store)


def _with_texts(table: Any, layout: Layout) -> Any:
    """Return the table with the layout's texts, which some formats would read as numbers."""
    if isinstance(table, CsvFile):
        return table.with_texts(layout.texts)
    typed = isinstance(table, ColumnarTable | ValueTable)
    return table.with_texts(layout.carried_only) if typed else table


def _dtype(layout: Layout, tables: tuple[Any, ...]) -> str:
    numbers = set(layout.names) - layout.categorical
    single = bool(numbers) and all(numbers <= table.singles for table in tables)
    return "float32" if single else "float64"


def _sparse(
    tables: tuple[Any, ...],
    stamps: tuple[Stamp, ...],
    options: ReadOptions,
    selection: ColumnSelection,
    how: TableOptions,
) -> FileSource:
    if selection != ColumnSelection() or options.carried:
        raise ValueError(
            "The columns of svmlight files have no names to choose by, and the label that each "
            "line begins with is the target. Leave target, weight, columns, drop and categorical "
            "out."
        )
    schema = options.schema
    if schema is not None:
        find_index_base(tables)
    dtype = np.dtype(options.dtype or "float64")
    width = None if schema is None else schema.n_columns
    parsing = SparseParsing(tables, stamps, options.split, *options.skipping, how, width, dtype)
    if options.skips_first_pass:
        assert schema is not None
        return FileStream(parsing, schema, None)
    store = None if options.keep == "no" else StoredSparse(dtype, options.in_memory)
    first_pass = read_sparse(parsing, store, schema, options.progress)
    release_freed()
    if store is None:
        parsing = replace(parsing, n_columns=first_pass.schema.n_columns)
        return FileStream(parsing, first_pass.schema, first_pass)
    return FileRows(parsing, first_pass, store)
