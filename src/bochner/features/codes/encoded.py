"""The rows of a source in the form that a basis works with, made once where possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.source import DataSource
from bochner.data.storage import ArrayStore, RowBuffer, drop_pages, packed, unpacked
from bochner.features.basis import Basis

AHEAD = 4  # groups that a solver may look at together
READ_ROWS = 16_384  # at a time
ORDER = 0x6E0D  # keeps the order of groups apart from other draws of the same seed


class Encoded(DataSource):
    """Batches whose X is the code of their rows; the basis grows with the rows it meets.

    One pass over the source makes the codes. They are kept within `memory` bytes, beyond that in
    a temporary file that is mapped into memory, and where the disk is full they are made again in
    each pass: the bits are the same. Batches are those of the first pass, in the source's order.

    Parameters
    ----------
    source : DataSource
        Rows with their targets as the loss takes them; it must be readable more than once.
    basis : Basis
    rows : int
        Rows of a batch.
    memory : int or None
        Bytes that codes may take in memory; None means half of what is free.
    left_out : array of row numbers
        Rows of weight 0: their functions are in the basis, but they have no say.
    """

    def __init__(
        self,
        source: DataSource,
        basis: Basis,
        rows: int,
        memory: int | None = None,
        left_out: NDArray[np.int64] | None = None,
    ) -> None:
        self.source, self.basis, self.rows = source, basis, rows
        self.left_out = np.empty(0, np.int64) if left_out is None else left_out
        self._store = ArrayStore(memory_budget(memory))
        self._batches: list[Batch] = []
        self._codes: list[Any | None] = []
        for pieces in self._read():
            parts: list[Batch] = []
            block = RowBuffer(self._room())
            for batch in pieces:
                self.basis, code = self.basis.extended(batch.X)
                block.append(code)
                parts.append(self._without_rows(batch))
            self._keep(block.joined(), Batch.join(parts))
        self.basis.settle()

    @property
    def n_columns(self) -> int:
        """The number of columns of the source."""
        return self.source.n_columns

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in self._batches)

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Walk through the encoded rows; every pass is the same."""
        if size != self.rows:
            raise ValueError(f"These rows were encoded {self.rows} at a time; got size {size}.")
        if all(code is not None for code in self._codes):
            for batch, code in zip(self._batches[start:], self._codes[start:], strict=True):
                yield replace(batch, X=code, index=unpacked(batch.index))
                drop_pages(code)
            return
        for number, pieces in enumerate(self._read(start), start):
            code = self._codes[number]
            if code is None:
                block = RowBuffer(len(self._batches[number]))
                for piece in pieces:
                    block.append(self.basis.encode(piece.X))
                code = block.joined()
            yield replace(rows := self._batches[number], X=code, index=unpacked(rows.index))
            drop_pages(code)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a sample of the source, not encoded, without the rows that are left out."""
        sample = self.source.sample(size, seed)
        return sample[~np.isin(sample.index, self.left_out)] if len(self.left_out) else sample

    def groups(self) -> Groups:
        """Return the same rows, one column of their codes at a time."""
        if any(code is None for code in self._codes):
            raise ValueError(
                "Coordinate descent walks through the rows grid by grid, so their bins have to be "
                "kept, but neither the memory budget nor the disk has room for them. Give a larger "
                "memory_budget, fewer grids, or a solver that walks through rows ('cg', 'newton')."
            )
        numbers = [batch.index for batch in self._batches]
        ends = np.cumsum([0, *map(len, self._batches)]).tolist()
        ys, weights = ([getattr(b, name) for b in self._batches] for name in ("y", "weight"))
        self._batches = []  # parts are let go as soon as they are joined: there may be many rows
        weight = np.ones(ends[-1]) if weights[0] is None else joined(weights)
        y, weight = alike(None if ys[0] is None else joined(ys), weight)
        nobody = np.broadcast_to(np.int64(-1), ends[-1])  # asks for the numbers of rows in groups
        rows = Batch(np.empty((ends[-1], 0)), y, nobody, weight)
        parts = (rows[a:b] for a, b in pairwise(ends))  # of the same memory
        self._batches = [replace(p, index=n) for p, n in zip(parts, numbers, strict=True)]
        return Groups(self._codes, rows)

    def _read(self, start: int = 0) -> Iterator[Iterator[Batch]]:
        """Read the rows a few at a time, and yield as many of these as make up a batch."""
        size = min(self.rows, READ_ROWS)
        many = self.rows // size
        pieces = self.source.batches(size, start=start * many)
        for first in pieces:
            block = chain([first], islice(pieces, many - 1))
            yield block
            for _ in block:  # what the caller did not want
                pass

    def _room(self) -> int:
        """Return how many rows the next batch has at most."""
        rows = self.source.n_rows
        return self.rows if rows is None else min(self.rows, rows - self.n_rows)

    def _keep(self, code: Any, rows: Batch) -> None:
        kept = self._store.put(code)
        if kept is None and self.source.once:
            raise ValueError(
                "These rows can be read only once, but neither the memory budget nor the disk has "
                "room for what every pass needs. Give a larger memory_budget, rows that can be "
                "read again, or a solver for streams ('dsg', 'averaged')."
            )
        self._codes.append(kept)
        self._batches.append(replace(rows, index=packed(rows.index)))

    def _without_rows(self, batch: Batch) -> Batch:
        out, weight = np.isin(batch.index, self.left_out), batch.weight
        if out.any():
            weight = np.where(out, 0.0, 1.0 if weight is None else weight)
        elif len(self.left_out) > 0 and weight is None:
            weight = np.ones(len(batch))
        nothing = np.empty((len(batch), 0))
        return replace(batch, X=nothing, y=short(batch.y), weight=weight)


@dataclass(frozen=True)
class Group:
    """A column of a code: for each row, which of the group's functions it has, -1 for none.

    `ahead` are some that come next.
    """

    number: int
    pieces: tuple[NDArray[np.int32], ...]
    ahead: tuple[Group, ...] = ()

    @property
    def code(self) -> NDArray[np.int32]:
        """The whole column, put together."""
        return np.concatenate(self.pieces)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and 1."""
        return sum(map(len, self.pieces)), 1


@dataclass(frozen=True)
class GroupBlock:
    """Several columns of a code in their order, and the pieces of all columns that they are of."""

    groups: tuple[Group, ...]
    codes: tuple[NDArray[np.int32], ...]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the columns."""
        return np.array([group.number for group in self.groups], np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns."""
        return sum(map(len, self.codes)), len(self.groups)


class Groups(DataSource):
    """The columns of the codes of all rows, some as a batch, in a new random order each pass."""

    def __init__(self, codes: list[Any], rows: Batch) -> None:
        self._codes, self._rows = codes, rows

    @property
    def n_columns(self) -> int:
        """The number of groups."""
        return int(self._codes[0].shape[1])

    @property
    def n_rows(self) -> int:
        """The number of groups: they are what a pass walks through."""
        return self.n_columns

    def batches(self, size: int, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Walk through the groups, one at a time or, with a larger size, in blocks of them."""
        order = Random(seed, ORDER, pass_).permutation(self.n_columns)
        groups = [self._group(int(number)) for number in order]
        if size > 1:
            for first in range(start * size, len(groups), size):
                some = tuple(groups[first : first + size])
                yield replace(self._rows, X=GroupBlock(some, tuple(self._codes)))
                drop_pages(*self._codes)
            return
        for place in range(start, len(groups)):
            ahead = groups[place + 1 : (place // AHEAD + 1) * AHEAD]
            yield replace(self._rows, X=replace(groups[place], ahead=tuple(ahead)))
            drop_pages(*self._codes)

    def _group(self, number: int) -> Group:
        return Group(number, tuple(part[:, number] for part in self._codes))

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return some rows without their codes."""
        return self._rows[:: max(1, len(self._rows) // size)]


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Put parts together, and let them go."""
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return whole


def alike(y: Any, weight: NDArray[np.float64]) -> tuple[Any, NDArray[Any]]:
    """Return targets and weights for compiled loops, in single precision if both are exact."""
    exact = all(part is None or short(part).dtype == np.float32 for part in (y, weight))
    dtype = np.float32 if exact else np.float64
    y = None if y is None else np.require(y, dtype, ["C", "W"])
    return y, np.require(weight, dtype, ["C", "W"])


def short(y: Any) -> Any:
    """Return targets in single precision where that is exact: labels are."""
    if y is None:
        return None
    single = y.astype(np.float32)
    return single if np.array_equal(single, y) else y
