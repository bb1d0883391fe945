"""Schema: the columns of a table, learned from one file and used to read others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from operator import eq
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.svmlight import LARGEST_COLUMN
from bochner.data.files.formats.chunk import Coded
from bochner.data.transforms.times import Parts, are_parts, given_columns
from bochner.records import Validated, require_sound

Missing = Literal["refuse", "own", "mean", "median"]
MISSING: tuple[Missing, ...] = ("refuse", "own", "mean", "median")
MOST_CATEGORIES = 100_000  # more different texts are names, not categories
MISSING_TEXT = "missing"  # the category of missing text


@dataclass(frozen=True, eq=False)
class NumberedNames(Validated, Sequence[str]):
    """The names "0", "1" and so on, made when they are asked for: sparse rows may have millions.

    Parameters
    ----------
    columns : int
        The number of columns.

    Examples
    --------
    >>> NumberedNames(16_000_000)[-1], NumberedNames(2) == ("0", "1")
    ('15999999', True)
    """

    columns: int

    def validate(self) -> None:
        """Refuse numbers that no file has."""
        require_sound(0 <= self.columns <= LARGEST_COLUMN + 1, "its number of columns is wrong")

    def __len__(self) -> int:
        return self.columns

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        found = range(self.columns)[place]
        return str(found) if isinstance(found, int) else tuple(map(str, found))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return self.columns == other.columns
        same = isinstance(other, tuple) and len(other) == self.columns
        return same and all(map(eq, self, other))  # type: ignore[call-overload]

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True)
class Schema:
    """Columns, targets and weights of a table, in plain types.

    Parameters
    ----------
    names : sequence of str
        The columns of X, in their order.
    categories : tuple
        For each column its sorted categories, or None if it holds numbers.
    targets : tuple of str
        The columns of y; none if there is no y.
    labels : tuple of str or None
        The sorted labels if the target is text, None if targets are numbers.
    flat : bool
        Whether y is 1-d.
    weight : str or None
        The column of weights.
    missing : "refuse", "own", "mean" or "median"
        How missing numbers are replaced.
    filling : tuple of float
        The value that replaces missing numbers of each column.
    dtype : "float64" or "float32"
    named : bool
        Whether the columns have names; otherwise they are called "0", "1" and so on.
    sparse : bool
        Whether rows are sparse.
    whole : bool
        Whether all targets are whole numbers.
    zero_based : bool or None
        Whether the first column of sparse files is 0 instead of 1; None: detect it.
    delimiter, decimal : str
        Between the fields of text files ("auto": detect it), and before the fraction of a number.
    encoding : str or None
        The encoding of text files; None: detect it.
    parts : tuple of str or None
        For each column None, or which part it is of a column of times, as in
        `bochner.data.transforms.times`; empty if there are none.

    Examples
    --------
    >>> schema = Schema(("tree", "height"), (("ash", "oak"), None), targets=("age",))
    >>> schema.categorical, schema.target_kind
    ((0,), 'number')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    names: tuple[str, ...] | NumberedNames
    categories: tuple[tuple[str, ...] | None, ...]
    targets: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    flat: bool = True
    weight: str | None = None
    missing: Missing = "refuse"
    filling: tuple[float, ...] = ()
    dtype: str = "float64"
    named: bool = True
    sparse: bool = False
    whole: bool = False
    zero_based: bool | None = None
    delimiter: str = "auto"
    decimal: str = "."
    encoding: str | None = None
    parts: Parts = ()

    @property
    def given_names(self) -> Sequence[str]:
        """The columns of the files of which X is made."""
        return given_columns(self.names, self.parts) if self.parts else self.names

    @property
    def times(self) -> dict[str, str]:
        """The columns of times, and whether their times have zones."""
        firsts = given_columns(self.parts, self.parts)
        return {n: p for n, p in zip(self.given_names, firsts, strict=False) if p is not None}

    @property
    def n_columns(self) -> int:
        """The number of columns of X."""
        return len(self.names)

    @property
    def categorical(self) -> tuple[int, ...]:
        """The positions of the categorical columns."""
        return tuple(j for j, known in enumerate(self.categories) if known is not None)

    @property
    def header(self) -> bool | Literal["auto"]:
        """Whether CSV files begin with names; "auto" if all columns are unnamed numbers."""
        return self.named or (False if self.categorical else "auto")

    @property
    def target_kind(self) -> Literal["none", "number", "label"]:
        """The kind of the targets."""
        if not self.targets:
            return "none"
        return "number" if self.labels is None else "label"

    def without_target(self) -> Schema:
        """Return the schema of rows without targets and weights."""
        return replace(self, targets=(), labels=None, weight=None, whole=False)

    def to_dict(self) -> dict[str, Any]:
        """Return lists and plain values, for JSON."""
        plain = asdict(replace(self, names=tuple(self.names)))
        return {name: _as_lists(value) for name, value in plain.items()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Schema:
        """Return the schema of a record made by `to_dict`; refuse invalid ones."""
        known = {field.name for field in fields(cls)}
        schema = cls(**{name: _as_tuples(value) for name, value in given.items() if name in known})
        _validate(schema)
        return schema


def _as_lists(value: Any) -> Any:
    return [_as_lists(one) for one in value] if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _validate(schema: Schema) -> None:
    columns = len(schema.names) if _are_texts(schema.names) else -1
    checks = {
        "names": columns >= 0,
        "categories": isinstance(schema.categories, tuple)
        and len(schema.categories) == columns
        and all(known is None or _are_texts(known) for known in schema.categories),
        "targets": _are_texts(schema.targets),
        "labels": schema.labels is None or _are_texts(schema.labels),
        "flat": isinstance(schema.flat, bool),
        "weight": schema.weight is None or isinstance(schema.weight, str),
        "missing": schema.missing in MISSING,
        "filling": isinstance(schema.filling, tuple)
        and len(schema.filling) in (0, columns)
        and all(isinstance(value, int | float) for value in schema.filling),
        "dtype": schema.dtype in ("float32", "float64"),
        "named": isinstance(schema.named, bool),
        "sparse": isinstance(schema.sparse, bool),
        "whole": isinstance(schema.whole, bool),
        "zero_based": isinstance(schema.zero_based, bool | None),
        "delimiter": isinstance(schema.delimiter, str),
        "decimal": schema.decimal in (".", ","),
        "encoding": isinstance(schema.encoding, str | None),
        "parts": are_parts(schema.parts, columns),
    }
    for name, fine in checks.items():
        if not fine:
            raise ValueError(
                f"A schema cannot have {name}={getattr(schema, name)!r}. Give a record that "
                "Schema.to_dict has made."
            )


class Vocabulary:
    """The texts of a column and their codes; a missing text has the name "missing".

    Parameters
    ----------
    column : str
        The name of the column, for errors.
    known : sequence of str or None
        The known categories; other texts get the code len(known). None: each new text gets the
        next code.
    """

    def __init__(self, column: str, known: Sequence[str] | None = None) -> None:
        self.column, self.open = column, known is None
        self.places = {text: place for place, text in enumerate(known or ())}
        self._beyond = len(self.places)
        self._numeric = known is not None and all(_as_number(text) == text for text in known)

    def codes(self, coded: Coded) -> NDArray[np.int64]:
        """Return the codes of a column that a file has encoded by its own vocabulary."""
        number = np.empty(len(coded.vocabulary) + 1, np.int64)
        occurring = np.flatnonzero(np.bincount(coded.codes + 1, minlength=len(number)))
        for place in occurring.tolist():  # 0 means missing
            number[place] = self._place(coded.vocabulary[place - 1] if place else MISSING_TEXT)
        return number[coded.codes + 1]

    def _place(self, text: str) -> int:
        if not self.open:
            canonical = (_as_number(text) if self._numeric else None) or text
            return self.places.get(canonical, self._beyond)
        place = self.places.setdefault(text, len(self.places))
        if place >= MOST_CATEGORIES:
            raise ValueError(
                f"Column {self.column!r} has more than {MOST_CATEGORIES} different texts: these "
                f"are names of rows, not categories. Leave it out by drop=[{self.column!r}]."
            )
        return place

    def sorted(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the sorted categories, and the position of each code among them.

        If all texts are numbers, 1, 1.0 and 01 are one category, as in a data frame.
        """
        texts = [text for text in self.places if text != MISSING_TEXT]
        numeric = all(_as_number(text) is not None for text in texts)
        canonical = [str(_as_number(t) or t) if numeric else t for t in self.places]
        categories = tuple(sorted(set(canonical)))
        place = {text: number for number, text in enumerate(categories)}
        return categories, np.array([place[text] for text in canonical], np.int64)


def _as_number(text: str) -> str | None:
    """Return the name of a number as a category, None if the text is not a number."""
    if text == MISSING_TEXT:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return str(int(number)) if number.is_integer() else str(number)
