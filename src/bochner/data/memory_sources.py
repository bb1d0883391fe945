"""Sources of rows in arrays and in iterables of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Batch, make_batch
from bochner.data.source import DataSource, RandomAccess, Stream


@dataclass(init=False, eq=False, repr=False)
class ArraySource(RandomAccess):
    """The rows of an array, in their order; the array is never copied as a whole.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns) or SciPy sparse matrix
        Numbers of any dtype, not converted; also `numpy.memmap`. Sparse formats other than CSR
        are converted once.
    y : array of n_rows targets (or rows of targets), optional
    weight : array of n_rows weights, optional

    Examples
    --------
    >>> source = ArraySource(np.arange(10.0).reshape(5, 2))
    >>> [batch.index.tolist() for batch in source.batches(3)]
    [[0, 1], [2, 3, 4]]
    """

    rows: Batch

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self.rows = make_batch(X, y, weight)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.rows.X.shape[1])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def take(self, places: slice | NDArray[np.int64]) -> Batch:
        """Return the rows at these positions; a slice of a dense array is a view."""
        return self.rows[places]


class IteratorSource(Stream):
    """Rows from blocks `X`, `(X, y)` or `(X, y, weight)` of any sizes, numbered in sequence.

    Batches do not depend on the block sizes, and only the blocks that a batch overlaps are held in
    memory. An iterator or generator (`iter(blocks) is blocks`) can be read `once`: each call of
    `batches` continues after the last row, ignores `start`, and yields nothing at the end. A list,
    or an object whose `__iter__` reopens the data, is read from the beginning in each pass;
    batches before `start` are read and discarded.

    Parameters
    ----------
    blocks : iterable of blocks
        All dense or all sparse, with the same columns. Each must be a new array, not a reused
        buffer. Rows get the dtype of the first block, float64 if that is not floating.

    Examples
    --------
    >>> blocks = ((np.full((3, 2), k), np.full(3, k)) for k in range(3))
    >>> [batch.y.tolist() for batch in IteratorSource(blocks).batches(4)]
    [[0, 0, 0, 1], [1, 1, 2, 2], [2]]
    """

    def __init__(self, blocks: Iterable[Any]) -> None:
        self.blocks = blocks
        self.once = iter(blocks) is blocks
        self._n_columns: int | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns of the first block."""
        if self._n_columns is None:
            self.sample(1)
        assert self._n_columns is not None
        return self._n_columns

    @property
    def n_rows(self) -> None:
        """None: unknown before the end."""
        return None

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the blocks as batches; all must have the format of the first."""
        first: _BlockFormat | None = None
        n_rows = 0
        for number, block in enumerate(self.blocks):
            piece = _block_batch(block, n_rows, number)
            first = first or _BlockFormat.of(piece)
            first.require(_BlockFormat.of(piece), number)
            self._n_columns = first.columns
            n_rows += len(piece)
            yield first.cast(piece)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return the first rows; of an iterator the next rows, which batches still contain."""
        batch = self._peek(size, seed)
        if batch is None:
            raise ValueError(
                "A sample needs at least one row, but the iterator of blocks has none left. "
                "Give a new iterator, or a list of blocks if it is to be read several times."
            )
        return batch


def _block_batch(block: Any, first_row: int, number: int) -> Batch:
    parts = block if isinstance(block, tuple) else (block,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"Block {number} must be X, (X, y) or (X, y, weight); got a tuple of {len(parts)}."
        )
    X, y, weight = (*parts, None, None)[:3]
    return make_batch(X, y, weight, first_row, where=f"block {number}")


@dataclass(frozen=True)
class _BlockFormat:
    """The properties that all blocks share."""

    rows: str
    columns: int
    y: str
    weight: str
    dtype: np.dtype[Any] = field(compare=False)

    @staticmethod
    def of(piece: Batch) -> _BlockFormat:
        return _BlockFormat(
            "sparse" if sp.issparse(piece.X) else "dense",
            piece.X.shape[1],
            "none" if piece.y is None else f"targets of shape {piece.y.shape[1:]} a row",
            "none" if piece.weight is None else "given",
            piece.X.dtype if piece.X.dtype.kind == "f" else np.dtype(np.float64),
        )

    def require(self, other: _BlockFormat, number: int) -> None:
        if self == other:
            return
        for name in ("rows", "columns", "y", "weight"):
            needed, given = getattr(self, name), getattr(other, name)
            if needed != given:
                raise ValueError(
                    f"All blocks must have one format, but block {number} has {name}: {given}, and "
                    f"the blocks before it have {name}: {needed}. Give blocks of one format."
                )

    def cast(self, piece: Batch) -> Batch:
        """Convert rows to the dtype of the first block, so that batches do not depend on blocks."""
        if piece.X.dtype == self.dtype:
            return piece
        return Batch(piece.X.astype(self.dtype), piece.y, piece.index, piece.weight)


@runtime_checkable
class _ArrayLike(Protocol):
    def __array__(self) -> Any: ...


def as_source(X: Any, y: Any = None, weight: Any = None) -> DataSource:
    """Return a source of the rows of an array, a sparse matrix, blocks, or another source.

    Parameters
    ----------
    X : DataSource, array, SciPy sparse matrix, or iterable of blocks
        A source is returned unchanged. An iterable yields blocks `X`, `(X, y)` or
        `(X, y, weight)`, see `IteratorSource`.
    y, weight : arrays, optional
        Only if X is an array or a sparse matrix: sources and blocks contain theirs.

    Examples
    --------
    >>> import numpy as np
    >>> as_source(np.eye(3)).n_rows
    3
    """
    if sp.issparse(X) or isinstance(X, _ArrayLike):
        return ArraySource(X, y, weight)
    if not isinstance(X, DataSource | Iterable):
        raise ValueError(
            "Data must be an array, a sparse matrix, a DataSource or an iterable of blocks; "
            f"got {type(X).__name__}."
        )
    if y is not None or weight is not None:
        raise ValueError(
            f"A {type(X).__name__} has its own targets and weights: leave y and weight out, "
            "and give blocks (X, y) or (X, y, weight)."
        )
    return X if isinstance(X, DataSource) else IteratorSource(X)
