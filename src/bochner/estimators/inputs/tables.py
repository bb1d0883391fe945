"""Tables: data frames with text become arrays of numbers, in the same way at fit and predict."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import compress, islice, repeat
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_X_y, validate_data

from bochner.data.files.formats.notation import other_numbers
from bochner.data.transforms.times import (
    LOCAL,
    SNIFFED_CELLS,
    ZONED,
    Parts,
    all_parts,
    days_of_array,
    days_of_moment,
    days_of_text,
    expanded,
    expected_time,
    given_columns,
    kind_of_texts,
    names_of,
    of_parts,
    other_date,
    ranges,
    varying,
)
from bochner.estimators.inputs.ranges import in_double_precision, whole_numbers_in_range

NUMBERS = (Real, Decimal, np.bool_)
NUMBERS_AND_TEXT = (*NUMBERS, str)
FLOATS = (float, np.floating)
MISSING_TEXT = "missing"
MISSING = ("NoneType", "NAType", "NaTType")  # by name: pandas need not be installed
CATEGORICAL = ("category", "Categorical", "Enum")  # how names of such dtypes begin
MOST_LISTED = 5


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, of polars or of another library: named columns of a dtype each."""

    columns: Any
    dtypes: Any

    def __getitem__(self, name: Any) -> Any: ...


def has_categories(X: Any) -> bool:
    """Whether X is a data frame with a column of text or times, or of anything else but numbers.

    >>> import pandas as pd
    >>> has_categories(pd.DataFrame({"tree": ["oak", "ash"]})), has_categories([[1.0], [2.0]])
    (True, False)
    """
    return isinstance(X, Frame) and any(not column.is_number for column in _columns(X))


@dataclass(frozen=True)
class Table:
    """The mapping of a data frame to an array, in which categories are whole numbers.

    A category becomes its index 0, 1, ... among the sorted categories of its column; a category
    that the table has not learned becomes the number of categories. Categories are compared as
    text, in which whole numbers have no fraction: 1, 1.0 and "1" are one category.

    A column of dates or times, also as text like 2024-01-31 12:30, becomes years since 1970 and the
    cycles of the calendar that vary (`bochner.data.transforms.times`).

    Parameters
    ----------
    names : tuple
        The names of the columns of the array, in their order.
    categories : tuple
        For each of them its sorted categories as text, or None if it holds numbers.
    parts : tuple
        For each of them None, or which part it is of a column of times; empty if there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> trees = pd.DataFrame({"tree": ["oak", "ash", "oak"], "height": [21.5, 18.0, 30.0]})
    >>> table = Table.learn(trees)
    >>> table.categorical, table.categories
    ((0,), (('ash', 'oak'), None))
    >>> table.encode(trees)
    array([[ 1. , 21.5],
           [ 0. , 18. ],
           [ 1. , 30. ]])
    """

    names: tuple[Hashable, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    parts: Parts = ()

    @classmethod
    def learn(cls, frame: Any) -> Table:
        """Return the table of a data frame's columns; `encode` validates its numbers."""
        _require_frame(frame)
        given, columns = tuple(frame.columns), list(_columns(frame))
        parts = tuple(part for column in columns for part in column.parts())
        names = names_of(given, parts)
        _refuse_duplicates(names)
        known = dict(zip(given, (column.categories() for column in columns), strict=True))
        return cls(names, tuple(map(known.get, names)), parts if any(parts) else ())

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The names of the columns of the data frame."""
        return given_columns(self.names, self.parts)

    @property
    def categorical(self) -> tuple[int, ...]:
        """The indices of the columns of categories."""
        return tuple(j for j, known in enumerate(self.categories) if known is not None)

    def encode(self, frame: Any) -> NDArray[np.floating[Any]]:
        """Return the rows as numbers, in float32 if all columns of numbers are, else in float64."""
        _require_frame(frame)
        self._require_names(tuple(frame.columns))
        columns = list(map(_encoded, _columns(frame), self._codes, self._firsts))
        numbers = {column.dtype for column in columns if column.dtype.kind == "f"}
        dtype = np.float32 if numbers == {np.dtype(np.float32)} else np.float64
        X: NDArray[np.floating[Any]] = np.stack(columns, axis=1, dtype=dtype)
        return expanded(X, self.parts)  # type: ignore[no-any-return]

    @cached_property
    def _codes(self) -> tuple[dict[str, int] | None, ...]:
        return tuple(
            None if known is None else {text: code for code, text in enumerate(known)}
            for known in given_columns(self.categories, self.parts)
        )

    @property
    def _firsts(self) -> tuple[str | None, ...]:
        return given_columns(self.parts, self.parts) or (None,) * len(self.given)

    def _require_names(self, names: tuple[Hashable, ...]) -> None:
        given = self.given
        if names == given:
            return
        _refuse_duplicates(names)
        missing = [name for name in given if name not in names]
        unexpected = [name for name in names if name not in given]
        parts = [f"Missing: {_listed(missing)}."] if missing else []
        parts += [f"Unexpected: {_listed(unexpected)}."] if unexpected else []
        parts = parts or [f"They are in another order, which was: {_listed(given)}."]
        raise ValueError(
            f"The columns must be the {len(given)} columns of the fit, in the same order. "
            f"{' '.join(parts)} Choose them by their names, frame[list of names]."
        )


class TableInput(BaseEstimator):  # type: ignore[misc]
    """An estimator whose rows may be data frames with categories.

    `_table` maps the data frame to numbers, None for other rows.
    """

    _table: Table | None = None

    @property
    def _names(self) -> NDArray[Any] | None:
        """The names of the columns, if they have any."""
        return self.__dict__.get("feature_names_in_")

    @property
    def time_parts_(self) -> dict[Hashable, tuple[str, ...]]:
        """The columns of dates and times, and what they became, by their names."""
        return {} if self._table is None else of_parts(self._table.names, self._table.parts)

    def _learn_table(self, X: Any, counted: NDArray[np.bool_] | None = None) -> None:
        """Learn the categories of the rows, or of the `counted` ones."""
        self._table = None
        if has_categories(X):
            self._table = Table.learn(X if counted is None else _safe_indexing(X, counted))

    def _validated_arrays(
        self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any
    ) -> Any:
        """Do what scikit-learn's `validate_data` does, also for a data frame with categories.

        Rows may be sparse, in float64 or float32.
        """
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]} | checks
        if self._table is None:
            with whole_numbers_in_range():
                found = validate_data(self, X, y, reset=reset, **checks)
            in_double_precision(found[0] if isinstance(found, tuple) else found)
            return found
        X = self._table.encode(X)
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(self._table.names, dtype=object)
        in_double_precision(X)
        return check_array(X, **checks) if isinstance(y, str) else check_X_y(X, y, **checks)


def numeric_rows(estimator: BaseEstimator, X: Any, *, reset: bool, **checks: Any) -> Any:
    """Do what scikit-learn's `validate_data` does for an estimator that takes numbers only."""
    require_numbers(X, type(estimator).__name__)
    with whole_numbers_in_range():
        X = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], **checks)
    return in_double_precision(X)


def require_numbers(X: Any, owner: str) -> None:
    """Refuse a data frame with a column of anything but numbers."""
    if not isinstance(X, Frame):
        return
    others = [column.name for column in _columns(X) if not column.is_number]
    if others:
        raise ValueError(
            f"{owner} takes columns of numbers only; got {_listed(others)}. Leave them out, or "
            "encode them, for instance by sklearn.preprocessing.OneHotEncoder."
        )


@dataclass(frozen=True)
class FrameColumn:
    """A column of a data frame: its name and cells.

    `declared` says whether its dtype is categorical, `zoned` whether it is of times with a zone.
    """

    name: Hashable
    cells: NDArray[Any]
    declared: bool = False
    zoned: bool = False

    @cached_property
    def types(self) -> frozenset[type]:
        """The types of the cells."""
        if self.cells.dtype != object:
            return frozenset({self.cells.dtype.type})
        return frozenset(map(type, self.cells))

    @property
    def is_number(self) -> bool:
        """Whether there are only numbers and missing values, in any dtype."""
        return not self.declared and not self._others(NUMBERS)

    @cached_property
    def time(self) -> str | None:
        """LOCAL or ZONED for a column of times, None for others."""
        if self.cells.dtype.kind == "M":
            return ZONED if self.zoned else LOCAL
        known = [t for t in self.types if t.__name__ not in MISSING and not issubclass(t, FLOATS)]
        if self.declared or not known or self.cells.dtype.kind not in "OU":
            return None
        if all(issubclass(t, date) for t in known):
            zoned = (getattr(cell, "tzinfo", None) is not None for cell in self.cells)
            return ZONED if any(zoned) else LOCAL
        return self._time_of_texts() if all(issubclass(t, str) for t in known) else None

    def _time_of_texts(self) -> str | None:
        words = list(islice((c for c in self.cells if isinstance(c, str)), SNIFFED_CELLS))
        found = other_date(words)
        if found is not None:
            raise ValueError(
                f"Column {self.name!r} seems to hold dates that are not written like 2024-01-31, "
                f"but {found!r}, which can be read in two ways. Turn them into times "
                "(pandas.to_datetime), or into categories by astype('category')."
            )
        return kind_of_texts(words)

    def parts(self) -> Parts:
        """Return the parts of a column of times that vary, (None,) for other columns."""
        if self.time is None:
            return (None,)
        parts = all_parts([self.time])
        X = expanded(self.days(self.time)[:, None], parts)
        return tuple(compress(parts, varying(parts, *ranges(X))))

    def days(self, kind: str) -> NDArray[np.float64]:
        """Return times as days since 1970, NaN where one is missing."""
        if self.cells.dtype.kind == "M":
            if (kind == ZONED) != self.zoned:
                self._refuse_time(0, kind)
            return days_of_array(self.cells)
        days = np.fromiter((_days(cell, kind) for cell in self.cells), float, len(self.cells))
        bad = np.isinf(days)
        if bad.any():
            self._refuse_time(int(bad.argmax()), kind)
        return days

    def _refuse_time(self, row: int, kind: str) -> None:
        raise ValueError(
            f"Column {self.name!r} holds times, but row {row} (counted from 0) has "
            f"{str(self.cells[row])!r}, which is not {expected_time(kind)}. Correct it, or make "
            "the column categorical before the fit, by astype('category')."
        )

    def categories(self) -> tuple[str, ...] | None:
        """Return the texts that occur, sorted; None for a column of numbers or times."""
        if self.is_number or self.time is not None:
            return None
        found = tuple(sorted(set(self.texts())))
        others = other_numbers([text for text in found if text != MISSING_TEXT])
        if others and not self.declared:
            raise ValueError(
                f"Column {self.name!r} seems to hold numbers that are not written like 1234.5, but "
                f"{others[0]!r}. Turn them into numbers, or give the column the dtype 'category' "
                "if they are categories, or leave it out."
            )
        return found

    def numbers(self) -> NDArray[np.floating[Any]]:
        """Return the cells of a column of numbers as float32 or float64."""
        self._require(NUMBERS, "numbers, as at fit. Turn the column into numbers.")
        numbers = self._floats()
        self._refuse_infinity(numbers)
        return numbers

    def texts(self) -> list[str]:
        """Return the cells as text, "missing" where there is none."""
        self._require(
            NUMBERS_AND_TEXT,
            "numbers or text, as at fit. Turn the column into numbers, or into text by "
            "astype(str).",
        )
        if all(issubclass(t, str) for t in self.types):
            return self.cells.tolist()  # type: ignore[no-any-return]
        self._refuse_infinity(self._floats())
        if self.cells.dtype == object:
            return list(map(_text, self.cells))
        distinct, places = np.unique(self.cells, return_inverse=True)
        return np.array(list(map(_text, distinct)), object)[places].tolist()  # type: ignore[no-any-return]

    def _floats(self) -> NDArray[np.floating[Any]]:
        """Return the cells as numbers: NaN where one is missing, 0 for text."""
        if self.cells.dtype == object:
            return np.fromiter(map(_float, self.cells), np.float64, len(self.cells))
        single = self.cells.dtype == np.float32
        return self.cells.astype(np.float32 if single else np.float64, copy=False)

    def _others(self, allowed: tuple[type, ...]) -> list[str]:
        """Return the names of types that are not allowed; missing values are not among them."""
        return sorted(t.__name__ for t in self.types if not _fits(t, allowed))

    def _require(self, allowed: tuple[type, ...], wanted: str) -> None:
        others = self._others(allowed)
        if others:
            raise ValueError(
                f"Column {self.name!r} holds {', '.join(others)}, but must hold {wanted}"
            )

    def _refuse_infinity(self, numbers: NDArray[np.floating[Any]]) -> None:
        bad = np.isinf(numbers)
        if bad.any():
            where = f"the first in row {bad.argmax()} (counted from 0)"
            message = f"Column {self.name!r} has {bad.sum()} infinite value(s), {where}."
            raise ValueError(f"{message} Fill in others, or drop those rows.")


def _columns(frame: Any) -> Iterator[FrameColumn]:
    _refuse_duplicates(tuple(frame.columns))
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        zoned = _has_zone(dtype)
        cells = np.asarray(frame[name], "M8[us]" if zoned else None)
        yield FrameColumn(name, cells, str(dtype).startswith(CATEGORICAL), zoned)


def _has_zone(dtype: Any) -> bool:
    """Whether a dtype of pandas, of pyarrow in pandas or of polars is of times with a zone."""
    arrow = getattr(dtype, "pyarrow_dtype", dtype)
    return any(getattr(arrow, name, None) is not None for name in ("tz", "time_zone"))


def _days(cell: Any, kind: str) -> float:
    """Return a cell of a column of times as days since 1970, infinity if it is no such time."""
    if type(cell).__name__ in MISSING or cell != cell:
        return math.nan
    if isinstance(cell, str):
        return days_of_text(cell, kind)
    if not isinstance(cell, date) or (getattr(cell, "tzinfo", None) is None) == (kind == ZONED):
        return math.inf
    return days_of_moment(cell)


def _encoded(column: FrameColumn, codes: dict[str, int] | None, first: str | None) -> NDArray[Any]:
    if first is not None:
        return column.days(first)
    if codes is None:
        return column.numbers()
    # Hashing the texts is several times as fast as np.unique, which sorts all rows.
    found = map(codes.get, column.texts(), repeat(len(codes)))
    return np.fromiter(found, np.int64, len(column.cells))


def _fits(kind: type, allowed: tuple[type, ...]) -> bool:
    # NumPy makes timedelta64 a subclass of its integers.
    is_allowed = issubclass(kind, allowed) and not issubclass(kind, np.timedelta64)
    return is_allowed or kind.__name__ in MISSING


def _float(cell: Any) -> float:
    if isinstance(cell, str):
        return 0.0
    if type(cell).__name__ in MISSING:
        return math.nan
    try:
        return float(cell)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _text(cell: Any) -> str:
    if type(cell).__name__ in MISSING or cell != cell:
        return MISSING_TEXT
    whole = isinstance(cell, FLOATS) and cell.is_integer()
    return str(int(cell) if whole else cell)


def _require_frame(frame: Any) -> None:
    if not isinstance(frame, Frame):
        raise ValueError(
            "Rows must be a data frame, since the model was fitted to columns of text; got "
            f"{type(frame).__name__}. Give a data frame with the columns of the fit."
        )


def _refuse_duplicates(names: tuple[Hashable, ...]) -> None:
    if len(set(names)) < len(names):
        double = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(
            f"Column names must be unique; got more than one {_listed(double)}. Rename or drop "
            "them."
        )


def _listed(names: Iterable[Hashable]) -> str:
    texts = [repr(name) for name in names]
    more = f" and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return ", ".join(texts[:MOST_LISTED]) + more
