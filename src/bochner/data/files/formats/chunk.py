"""Tables, which are files by their columns, and chunks of their rows as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.transforms.times import LOCAL, ZONED

BAD_SHOWN = 100  # bad rows that a chunk describes: their number must not exhaust the memory
CHUNK_ROWS = 65_536
CHUNK_BYTES = 1 << 24
MOST_QUOTED = 8
MOST_COLUMNS = 1 << 20  # each has a name and statistics, and more of them hide a missing line end


class UnreadableFile(ValueError):
    """A file that cannot be read, or only in part; skipping a row does not help."""


@dataclass(frozen=True)
class BadRow:
    """A malformed row.

    Parameters
    ----------
    path : str
        The name of the file.
    line : int
        The line where the row begins, from 1.
    column : str or None
        The name of the column, None for the whole row.
    expected, found : str
        What is expected, and what was found.

    Examples
    --------
    >>> str(BadRow("trees.csv", 17, "height", "a number", 'the text "12a"'))
    'trees.csv, line 17, column "height": expected a number, found the text "12a".'
    """

    path: str
    line: int
    column: str | None
    expected: str
    found: str

    def __str__(self) -> str:
        column = "" if self.column is None else f', column "{self.column}"'
        where = f"{self.path}, line {self.line}{column}"
        return f"{where}: expected {self.expected}, found {self.found}."


@dataclass(frozen=True)
class Coded:
    """A column of text: row i holds vocabulary[codes[i]]; the code -1 means missing.

    Parameters
    ----------
    codes : array of int64, (rows,)
    vocabulary : tuple of str
        The texts of this chunk, in the order of their first appearance.

    Examples
    --------
    >>> coded = Coded(np.array([0, 1, -1, 0]), ("oak", "ash"))
    >>> [coded.vocabulary[code] if code >= 0 else None for code in coded.codes]
    ['oak', 'ash', None, 'oak']
    """

    codes: NDArray[np.int64]
    vocabulary: tuple[str, ...]

    def words(self) -> NDArray[Any]:
        """Return the text of each row, None where it is missing."""
        return np.array([*self.vocabulary, None], object)[self.codes]


@dataclass(frozen=True)
class Chunk:
    """Rows of a table; malformed rows are left out.

    Parameters
    ----------
    numbers : array of float64, (rows, columns of numbers)
        NaN where a number is missing.
    texts : tuple of Coded
        One for each column of text.
    lines : array of int64, (rows,)
        The line where each row begins, from 1.
    bad : tuple of BadRow
        The first bad rows, at most `BAD_SHOWN`.
    n_bad : int
        How many bad rows there were.
    number_names, text_names : tuple of str
        The names of the columns.

    Examples
    --------
    >>> chunk = Chunk(np.array([[1.5], [2.5]]), (), np.array([2, 3]), number_names=("height",))
    >>> len(chunk), chunk.n_bad
    (2, 0)
    """

    numbers: NDArray[np.float64]
    texts: tuple[Coded, ...]
    lines: NDArray[np.int64]
    bad: tuple[BadRow, ...] = ()
    n_bad: int = 0
    number_names: tuple[str, ...] = ()
    text_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def number_places(self) -> dict[str, int]:
        """The positions of the columns of numbers."""
        return {name: place for place, name in enumerate(self.number_names)}

    @cached_property
    def text_places(self) -> dict[str, int]:
        """The positions of the columns of text."""
        return {name: place for place, name in enumerate(self.text_names)}


class FileTable(Protocol):
    """A file by its columns: a `CsvFile`, a `ParquetTable` or an `ArrayTable`.

    A kind is "number", "text", "time" or "time in UTC" (read as numbers, days since 1970), or the
    name of a type that cannot be read. Columns without names (`named` is False) are called "0", "1"
    and so on. `singles` are the columns of single precision, `time_texts` the columns of text that
    seem to hold times, of either kind.
    """

    name: str
    once: bool
    named: bool
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    singles: frozenset[str]
    time_texts: dict[str, str]
    bytes_read: int

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows with these columns, by default all."""


def split_by_kind(
    table: FileTable, columns: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of numbers or times and those of text, by default of all columns."""
    kinds = dict(zip(table.names, table.kinds, strict=True))
    names = table.names if columns is None else columns
    numbers = tuple(name for name in names if kinds[name] in ("number", LOCAL, ZONED))
    return numbers, tuple(name for name in names if kinds[name] == "text")


def chunk_rows(columns: int) -> int:
    """Return the number of rows of a chunk, fewer for more columns."""
    return max(1_024, min(CHUNK_ROWS, CHUNK_BYTES // (8 * max(columns, 1))))


@dataclass(frozen=True)
class SparseChunk:
    """Rows of a sparse file: row i has data[k] at column indices[k], indptr[i] <= k < indptr[i+1].

    Parameters
    ----------
    labels : array of float64, (rows,)
    data : array of float64, (entries,)
    indices : array of int32, (entries,)
        Columns from 0, increasing within a row.
    indptr : array of int64, (rows + 1,)
    lines : array of int64, (rows,)
        The line of each row, from 1.
    bad : tuple of BadRow
        The first bad rows, at most `BAD_SHOWN`.
    n_bad : int
        How many bad rows there were.

    Examples
    --------
    >>> entries = np.array([2.0, 3.0]), np.array([0, 2], np.int32), np.array([0, 1, 2])
    >>> chunk = SparseChunk(np.array([1.0, -1.0]), *entries, np.array([1, 2]))
    >>> chunk.matrix(chunk.n_columns).toarray()
    array([[2., 0., 0.],
           [0., 0., 3.]])
    """

    labels: NDArray[np.float64]
    data: NDArray[np.float64]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    lines: NDArray[np.int64]
    bad: tuple[BadRow, ...] = ()
    n_bad: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """The number of columns that these rows need: the largest index plus one."""
        return int(self.indices.max()) + 1 if len(self.indices) else 0

    @property
    def least_index(self) -> int:
        """The least index, a large number without entries."""
        return int(self.indices.min(initial=np.iinfo(np.int32).max))

    def matrix(self, n_columns: int) -> Any:
        """Return the rows as a SciPy CSR matrix of this width."""
        return sp.csr_matrix((self.data, self.indices, self.indptr), (len(self), n_columns))


def require_few_columns(count: int, name: str) -> None:
    """Refuse a file of more columns than a table can sensibly have."""
    if count > MOST_COLUMNS:
        raise UnreadableFile(
            f"{name} has {count:,} columns, and at most {MOST_COLUMNS:,} are read. Is it written "
            "sideways, or without line ends? Rows that are nearly all 0 can be svmlight files."
        )


def quoted(names: Iterable[Any]) -> str:
    """Return names for an error message, shortened if there are many."""
    texts = [repr(name) for name in names]
    more = f" and {len(texts) - MOST_QUOTED} more" if len(texts) > MOST_QUOTED else ""
    return ", ".join(texts[:MOST_QUOTED]) + more


def quoted_cell(cell: bytes) -> str:
    """Return a cell for an error message: quoted, shortened and printable."""
    text = cell[:40].decode("utf-8", "backslashreplace") + ("..." if len(cell) > 40 else "")
    plain = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return f'"{plain}"' if cell else "nothing"


def expected_number(cell: bytes) -> str:
    """Return what is expected in place of a cell that is not a finite number."""
    try:
        return "a finite number" if math.isinf(float(cell)) else "a number"
    except ValueError:
        return "a number"
