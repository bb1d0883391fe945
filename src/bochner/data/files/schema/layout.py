"""Layout: which columns of a file are features, targets and weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.chunk import FileTable, quoted
from bochner.data.files.schema.schema import Schema
from bochner.data.transforms.times import LOCAL, ZONED
from bochner.wording import did_you_mean

ColumnKey = str | int
FOUND = {LOCAL: "times without a zone", ZONED: "times with a zone"}
READ = ("number", "text", LOCAL, ZONED)


@dataclass(frozen=True)
class Layout:
    """The columns that are read from every file, and their roles."""

    names: tuple[str, ...]
    categorical: frozenset[str]
    targets: tuple[str, ...]
    label: bool
    flat: bool
    weight: str | None
    carried: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()  # what the user calls categories
    times: dict[str, str] = field(default_factory=dict)  # LOCAL or ZONED

    @property
    def firsts(self) -> tuple[str | None, ...]:
        """For each column whether it holds times, of which kind; see `all_parts`."""
        return tuple(map(self.times.get, self.names))

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns that must be parsed."""
        return (*self._used, *self.carried_only)

    @property
    def texts(self) -> frozenset[str]:
        """The columns that hold text, or are carried along as text; not those of times."""
        labels = self.targets if self.label else ()
        return self.categorical | frozenset((*labels, *self.carried_only))

    @property
    def carried_only(self) -> tuple[str, ...]:
        """The columns that are carried along and have no other role."""
        return tuple(name for name in self.carried if name not in self._used)

    @property
    def _used(self) -> tuple[str, ...]:
        return (*self.names, *self.targets, *(() if self.weight is None else (self.weight,)))

    def with_carried(self, carried: Sequence[str], table: FileTable) -> Layout:
        """Return the layout with columns whose cells are carried along unchanged."""
        names = _ColumnNames(table)
        return replace(self, carried=tuple(dict.fromkeys(names[name] for name in carried)))


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
        _require_roles(targets, weight)
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
        declared = frozenset(names[one] for one in self.categorical)
        named = declared & set(features)
        times = {n: kind for n, kind in kinds.items() if kind in (LOCAL, ZONED)}
        times |= {name: kind for name, kind in table.time_texts.items() if name not in declared}
        _require_no_times(targets, times, table)
        texts = frozenset(name for name in features if kinds[name] == "text") - times.keys()
        label = any(kinds[name] == "text" for name in targets)
        if label and len(targets) > 1:
            raise ValueError(
                f"Several targets must all be numbers; got text in one of {quoted(targets)}. Give "
                "one target of text, or targets of numbers."
            )
        times = {name: kind for name, kind in times.items() if name in features}
        return Layout(
            features, named | texts, targets, label, not several, weight,
            times=times, declared=declared,
        )  # fmt: skip


def layout_from_schema(schema: Schema, table: FileTable) -> Layout:
    """Return the layout of new data for a schema; targets and weights may be absent."""
    names, known = tuple(schema.given_names), frozenset(table.names)
    absent = [name for name in names if name not in known]
    if absent:
        raise ValueError(
            f"{table.name} must have the columns that the model was fitted with; missing: "
            f"{quoted(absent)}. It has {quoted(table.names)}. Rename or add them.{_dialect(schema)}"
        )
    has_targets = schema.targets and all(name in table.names for name in schema.targets)
    return Layout(
        names,
        frozenset(schema.names[place] for place in schema.categorical),
        schema.targets if has_targets else (),
        bool(has_targets) and schema.labels is not None,
        schema.flat,
        schema.weight if schema.weight in table.names else None,
        times=schema.times,
    )


def _dialect(schema: Schema) -> str:
    """Say how text is read as that of the fit, since a file in another dialect lacks columns."""
    given = {"delimiter": schema.delimiter, "decimal": schema.decimal, "encoding": schema.encoding}
    usual = {"delimiter": "auto", "decimal": ".", "encoding": None}
    told = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    if not told:
        return ""
    return f" Text is read as that of the fit, with {', '.join(told)}; say so if this file differs."


def require_kinds(layout: Layout, table: FileTable) -> None:
    """Refuse a table that lacks columns, or whose columns have the wrong type."""
    kinds = dict(zip(table.names, table.kinds, strict=True))
    for name in layout.wanted:
        if name not in kinds:
            raise ValueError(
                f"All files must have the same columns, but {table.name} has no {name!r}; it has "
                f"{quoted(table.names)}. Read files with other columns by themselves."
            )
        allowed = _allowed_kinds(layout, name)
        if kinds[name] not in allowed:
            wanted = {"number": "numbers", "text": "text"}.get(allowed[-1], "times")
            remedy = f"Turn it into {wanted}, or leave it out by drop=[{name!r}]"
            if kinds[name] in READ:
                remedy += f", or give categorical=[{name!r}] if it holds categories"
            raise ValueError(
                f"{table.name}, column {name!r}: expected {wanted}, found "
                f"{FOUND.get(kinds[name], kinds[name])}. {remedy}."
            )


def _allowed_kinds(layout: Layout, name: str) -> tuple[str, ...]:
    if name in layout.times:
        return "text", layout.times[name]  # texts are read as times
    return ("number", "text") if name in layout.texts else ("number",)


def _require_no_times(targets: tuple[str, ...], times: dict[str, str], table: FileTable) -> None:
    for name in targets:
        if name in times:
            raise ValueError(
                f"A target must be numbers or labels, but {table.name}, column {name!r}, holds "
                f"dates or times. Turn them into numbers, or give categorical=[{name!r}] if they "
                "are written as text and are labels."
            )


class _ColumnNames:
    """Names of columns, by name or, if they have no names, by position."""

    def __init__(self, table: FileTable) -> None:
        self.table = table
        double = [name for name, count in Counter(table.names).items() if count > 1]
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
                f"of these.{did_you_mean(column, table.names)}"
            )
        return str(column)


def _require_roles(targets: tuple[str, ...], weight: str | None) -> None:
    """Refuse a column that is two targets, or the target and the weight."""
    if len(set(targets)) < len(targets):
        raise ValueError(f"Targets must be different columns; got {quoted(targets)}.")
    if weight in targets:
        raise ValueError(
            f"The column {weight!r} cannot be both target and weight. Give another weight, or none."
        )


def _require_distinct(features: tuple[str, ...], taken: set[Any]) -> None:
    both = [name for name in features if name in taken]
    if both or len(set(features)) < len(features):
        raise ValueError(
            "columns= must name each column to learn from once, and neither a target, the weight "
            f"nor a dropped one; got {quoted(both or features)}."
        )
