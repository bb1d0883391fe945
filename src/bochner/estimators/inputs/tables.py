"""Tables: data frames with text become arrays of numbers, in the same way at fit and predict."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

NUMBERS = (Real, Decimal, np.bool_)
NUMBERS_AND_TEXT = (*NUMBERS, str)
FLOATS = (float, np.floating)
MISSING_TEXT = "missing"
MISSING = ("NoneType", "NAType", "NaTType")  # by name: pandas need not be installed
MOST_LISTED = 5


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, of polars or of another library: named columns of a dtype each."""

    columns: Any
    dtypes: Any

    def __getitem__(self, name: Any) -> Any: ...


def has_categories(X: Any) -> bool:
    """Whether X is a data frame with a column of text, or of anything else but numbers.

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

    Parameters
    ----------
    names : tuple
        The names of the columns, in their order.
    categories : tuple
        For each column its sorted categories as text, or None if it holds numbers.

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

    @classmethod
    def learn(cls, frame: Any) -> Table:
        """Return the table of a data frame's columns; `encode` validates its numbers."""
        _require_frame(frame)
        names = tuple(frame.columns)
        _refuse_duplicates(names)
        return cls(names, tuple(column.categories() for column in _columns(frame)))

    @property
    def categorical(self) -> tuple[int, ...]:
        """The indices of the columns of categories."""
        return tuple(j for j, known in enumerate(self.categories) if known is not None)

    def encode(self, frame: Any) -> NDArray[np.floating[Any]]:
        """Return the rows as numbers, in float32 if all columns of numbers are, else in float64."""
        _require_frame(frame)
        self._require_names(tuple(frame.columns))
        columns = list(map(_encoded, _columns(frame), self._codes))
        numbers = {column.dtype for column in columns if column.dtype.kind == "f"}
        dtype = np.float32 if numbers == {np.dtype(np.float32)} else np.float64
        return np.stack(columns, axis=1, dtype=dtype)

    @cached_property
    def _codes(self) -> tuple[dict[str, int] | None, ...]:
        return tuple(
            None if known is None else {text: code for code, text in enumerate(known)}
            for known in self.categories
        )

    def _require_names(self, names: tuple[Hashable, ...]) -> None:
        if names == self.names:
            return
        _refuse_duplicates(names)
        missing = [name for name in self.names if name not in names]
        unexpected = [name for name in names if name not in self.names]
        parts = [f"Missing: {_listed(missing)}."] if missing else []
        parts += [f"Unexpected: {_listed(unexpected)}."] if unexpected else []
        parts = parts or [f"They are in another order, which was: {_listed(self.names)}."]
        raise ValueError(
            f"The columns must be the {len(self.names)} columns of the fit, in the same order. "
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

    def _learn_table(self, X: Any) -> None:
        self._table = Table.learn(X) if has_categories(X) else None

    def _validated_arrays(
        self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any
    ) -> Any:
        """Do what scikit-learn's `validate_data` does, also for a data frame with categories.

        Rows may be sparse, in float64 or float32.
        """
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]} | checks
        if self._table is None:
            return validate_data(self, X, y, reset=reset, **checks)
        X = self._table.encode(X)
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(self._table.names, dtype=object)
        return check_array(X, **checks) if isinstance(y, str) else check_X_y(X, y, **checks)


@dataclass(frozen=True)
class FrameColumn:
    """A column of a data frame: its name, its cells, and whether its dtype is categorical."""

    name: Hashable
    cells: NDArray[Any]
    declared: bool

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

    def categories(self) -> tuple[str, ...] | None:
        """Return the texts that occur, sorted; None for a column of numbers."""
        return None if self.is_number else tuple(sorted(set(self.texts())))

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
            "numbers or text. Turn the column into numbers (a date into days since a fixed day), "
            "or into text by astype(str).",
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
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        yield FrameColumn(name, np.asarray(frame[name]), str(dtype) == "category")


def _encoded(column: FrameColumn, codes: dict[str, int] | None) -> NDArray[Any]:
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
