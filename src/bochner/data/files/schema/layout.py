"""Layout: which columns of a file are features, targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.chunk import FileTable, quoted
from bochner.data.files.schema.schema import Schema

ColumnKey = str | int


@dataclass(frozen=True)
class Layout:
    """The columns that are read from every file, and their roles."""

    names: tuple[str, ...]
    categorical: frozenset[str]
    targets: tuple[str, ...]
    label: bool
    flat: bool
    weight: str | None

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns that must be parsed."""
        return (*self.names, *self.targets, *(() if self.weight is None else (self.weight,)))

    @property
    def texts(self) -> frozenset[str]:
        """The columns that hold text."""
        return self.categorical | frozenset(self.targets if self.label else ())


@dataclass(frozen=True)
class ColumnSelection:
    """The user's choice of columns; see `open_source`."""

    target: ColumnKey | Sequence[ColumnKey] | None = None
    weight: ColumnKey | None = None
    columns: Sequence[ColumnKey] | None = None
    drop: Sequence[ColumnKey] = ()
    categorical: Sequence[ColumnKey] = ()

    def with_array_roles(self, table: ArrayTable) -> ColumnSelection:
        """Return the selection with targets `y` and weights `weight` if there are such arrays."""
        targets = tuple(name for name in table.names if name == "y" or name.startswith("y."))
        others = frozenset(table.names) - frozenset(table.features)
        selection = self
        if selection.target is None and targets:
            selection = replace(selection, target="y" if targets == ("y",) else targets)
        if selection.weight is None and "weight" in others:
            selection = replace(selection, weight="weight")
        if selection.columns is None:
            selection = replace(selection, drop=(*selection.drop, *others))
        return selection

    def layout(self, table: FileTable) -> Layout:
        """Return the layout of a table."""
        names = _ColumnNames(table)
        several = isinstance(self.target, Sequence) and not isinstance(self.target, str)
        given: Any = self.target if several else [self.target]
        targets = tuple(names[one] for one in given) if self.target is not None else ()
        weight = None if self.weight is None else names[self.weight]
        taken = {*targets, weight, *(names[one] for one in self.drop)}
        if self.columns is None:
            features = tuple(name for name in table.names if name not in taken)
        else:
            features = tuple(names[one] for one in self.columns)
            _require_distinct(features, taken)
        if not features:
            raise ValueError(
                f"{table.name} has no column left to learn from, beside target, weight and those "
                "dropped. Give a file with more columns, or drop fewer."
            )
        kinds = dict(zip(table.names, table.kinds, strict=True))
        named = frozenset(names[one] for one in self.categorical) & set(features)
        texts = frozenset(name for name in features if kinds[name] == "text")
        label = any(kinds[name] == "text" for name in targets)
        if label and len(targets) > 1:
            raise ValueError(
                f"Several targets must all be numbers; got text in one of {quoted(targets)}. Give "
                "one target of text, or targets of numbers."
            )
        return Layout(features, named | texts, targets, label, not several, weight)


def layout_from_schema(schema: Schema, table: FileTable) -> Layout:
    """Return the layout of new data for a schema; targets and weights may be absent."""
    absent = [name for name in schema.names if name not in table.names]
    if absent:
        raise ValueError(
            f"{table.name} must have the columns that the model was fitted with; missing: "
            f"{quoted(absent)}. It has {quoted(table.names)}. Rename or add them."
        )
    has_targets = schema.targets and all(name in table.names for name in schema.targets)
    return Layout(
        schema.names,
        frozenset(schema.names[place] for place in schema.categorical),
        schema.targets if has_targets else (),
        bool(has_targets) and schema.labels is not None,
        schema.flat,
        schema.weight if schema.weight in table.names else None,
    )


def require_kinds(layout: Layout, table: FileTable) -> None:
    """Refuse a table that lacks columns, or whose columns have the wrong type."""
    kinds = dict(zip(table.names, table.kinds, strict=True))
    for name in layout.wanted:
        if name not in kinds:
            raise ValueError(
                f"All files must have the same columns, but {table.name} has no {name!r}; it has "
                f"{quoted(table.names)}. Read files with other columns by themselves."
            )
        text = name in layout.texts
        if kinds[name] not in (("number", "text") if text else ("number",)):
            raise ValueError(
                f"{table.name}, column {name!r}: expected {'text' if text else 'numbers'}, found "
                f"{kinds[name]}. Turn it into numbers (a date into days since a fixed day), leave "
                f"it out by drop=[{name!r}], or give categorical=[{name!r}] if it holds categories."
            )


class _ColumnNames:
    """Names of columns, by name or, if they have no names, by position."""

    def __init__(self, table: FileTable) -> None:
        self.table = table
        double = [name for name in dict.fromkeys(table.names) if table.names.count(name) > 1]
        if double:
            raise ValueError(
                f"Columns must have different names, but {table.name} has more than one "
                f"{quoted(double)}. Rename them in the file."
            )

    def __getitem__(self, column: ColumnKey) -> str:
        table = self.table
        if isinstance(column, int) and not table.named:
            if not -len(table.names) <= column < len(table.names):
                raise ValueError(
                    f"{table.name} has {len(table.names)} columns, numbered from 0; there is no "
                    f"column {column}."
                )
            return str(table.names[column])
        if column not in table.names:
            raise ValueError(
                f"{table.name} has no column {column!r}. It has {quoted(table.names)}. Give one "
                "of these."
            )
        return str(column)


def _require_distinct(features: tuple[str, ...], taken: set[Any]) -> None:
    both = [name for name in features if name in taken]
    if both or len(set(features)) < len(features):
        raise ValueError(
            "columns= must name each column to learn from once, and neither a target, the weight "
            f"nor a dropped one; got {quoted(both or features)}."
        )
