"""Encoded rows of a data source, batch by batch or group by group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.interruption import abandonable, after
from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.source import DataSource
from bochner.data.storage import ArrayStore, RowBuffer, drop_pages, packed, unpacked
from bochner.features.basis import Basis, GrowingBasis, extend_and_encode

AHEAD = 4  # groups that a solver may work on together
READ_ROWS = 16_384  # at a time
ORDER = 0x6E0D  # separates these draws from others of the same seed


class EncodedData(ABC):
    """Training rows as codes of a basis, in batches that are fixed when they are encoded."""

    once: ClassVar[bool] = False  # every pass has the same rows

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_batches(self) -> int:
        """The number of batches in a pass."""

    @abstractmethod
    def batches(self, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of a pass from number `start` on."""

    @abstractmethod
    def rows_in(self, batch: Batch, number: int) -> int:
        """Return how many rows a batch counts for; the counts of a pass sum to `n_rows`."""

    @abstractmethod
    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return some rows with their targets, not encoded."""


class EncodedRows(EncodedData):
    """Batches whose X is the code of their rows; a basis that grows gets the functions of all rows.

    One pass over the source makes the codes. They are kept within `memory` bytes, beyond that in
    a memory-mapped temporary file; if the disk is full or time is up, each pass encodes the rows
    again, with the same result. Batches are in the order of the source, the same in every pass.

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
        The numbers of held-out rows: they are encoded, but their sample weights are set to 0.
        A basis that grows gets their functions, too.
    smaller : EncodedRows or None
        The same rows, in batches of the same size, on the basis that this one was enlarged from.
        Its stored codes are copied, not computed again; then it shares the memory of the copies.
    until : float
        The time, by `time.perf_counter`, after which no codes are made. A basis that grows has its
        functions from the codes, so that it is encoded completely.
    """

    def __init__(
        self,
        source: DataSource,
        basis: Basis,
        rows: int,
        memory: int | None = None,
        left_out: NDArray[np.int64] | None = None,
        *,
        smaller: EncodedRows | None = None,
        until: float = inf,
    ) -> None:
        self.source, self.basis, self.rows = source, basis, rows
        self.left_out = np.empty(0, np.int64) if left_out is None else left_out
        self._store = ArrayStore(memory_budget(memory))
        self._batches: list[Batch] = []
        self._codes: list[Any | None] = []
        self._time_is_up = after(inf if isinstance(basis, GrowingBasis) else until)
        for number, pieces in enumerate(self._read()):
            stored = None if smaller is None else smaller._codes[number]
            parts: list[Batch] = []
            block, complete = RowBuffer(self._room()), True
            for batch in pieces:
                known = None if stored is None else stored[block.filled :][: len(batch)]
                parts.append(self._without_rows(batch))
                if (code := self._encoded(batch.X, known)) is None:
                    complete = False
                else:
                    block.append(code)
                drop_pages(stored)
            self._keep(block.joined() if complete else None, Batch.join(parts))
            if smaller is not None:
                smaller._share(number, self._codes[number])
        if isinstance(self.basis, GrowingBasis):
            self.basis.release_spare_memory()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in self._batches)

    @property
    def n_batches(self) -> int:
        """The number of batches in a pass."""
        return len(self._batches)

    def batches(self, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield the encoded rows; every pass is the same."""
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

    def rows_in(self, batch: Batch, number: int) -> int:
        """Return the number of rows in a batch."""
        return len(batch)

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return a sample of the source, not encoded, without the rows that are left out."""
        sample = self.source.sample(size, seed)
        return sample[~np.isin(sample.index, self.left_out)] if len(self.left_out) else sample

    def groups(self, size: int = 1) -> EncodedGroups:
        """Return the same rows, `size` columns of their codes at a time."""
        if any(code is None for code in self._codes):
            raise ValueError(
                "Coordinate descent needs the bins of all rows in every pass, but neither the "
                "memory budget nor the disk has room for them. Give a larger memory_budget, fewer "
                "grids, or a solver that reads the rows in batches ('cg', 'newton')."
            )
        numbers = [batch.index for batch in self._batches]
        ends = np.cumsum([0, *map(len, self._batches)]).tolist()
        ys, weights = ([getattr(b, name) for b in self._batches] for name in ("y", "weight"))
        self._batches = []  # release each part as soon as it is joined: there may be many rows
        weight = np.ones(ends[-1]) if weights[0] is None else joined(weights)
        y, weight = for_loops(None if ys[0] is None else joined(ys), weight)
        unused = np.broadcast_to(np.int64(-1), ends[-1])  # groups need no row numbers
        rows = Batch(np.empty((ends[-1], 0)), y, unused, weight)
        parts = (rows[a:b] for a, b in pairwise(ends))  # of the same memory
        self._batches = [replace(p, index=n) for p, n in zip(parts, numbers, strict=True)]
        return EncodedGroups(self._codes, rows, size)

    def _read(self, start: int = 0) -> Iterator[Iterator[Batch]]:
        """Yield, for each batch, an iterator over its rows in smaller pieces."""
        size = min(self.rows, READ_ROWS)
        many = self.rows // size
        pieces = self.source.batches(size, start=start * many)
        for first in pieces:
            block = chain([first], islice(pieces, many - 1))
            yield block
            for _ in block:  # pieces that the caller did not read
                pass

    def _encoded(self, X: Any, known: Any | None) -> Any | None:
        """Return the code of rows, None once the time is up; the basis may grow."""
        if self._time_is_up():
            return None
        with abandonable(self._time_is_up):
            self.basis, code = extend_and_encode(self.basis, X, known)
            return code
        return None

    def _room(self) -> int:
        """Return the largest possible number of rows of the next batch."""
        rows = self.source.n_rows
        return self.rows if rows is None else min(self.rows, rows - self.n_rows)

    def _keep(self, code: Any | None, rows: Batch) -> None:
        kept = None if code is None else self._store.put(code)
        if kept is None and self.source.once:
            raise ValueError(
                "This solver needs the rows in every pass, but they can be read only once, and "
                "neither the memory budget nor the disk has room for them. Give a larger "
                "memory_budget, rows that can be read again, or a solver for streams ('dsg', "
                "'averaged')."
            )
        self._codes.append(kept)
        self._batches.append(replace(rows, index=packed(rows.index)))

    def _share(self, number: int, larger: Any | None) -> None:
        """Replace the code of a batch by a view of a larger one that begins with it."""
        code = self._codes[number]
        if code is not None and larger is not None:
            self._codes[number] = larger[:, : code.shape[1]]

    def _without_rows(self, batch: Batch) -> Batch:
        out, weight = np.isin(batch.index, self.left_out), batch.weight
        if out.any():
            weight = np.where(out, 0.0, 1.0 if weight is None else weight)
        elif len(self.left_out) > 0 and weight is None:
            weight = np.ones(len(batch))
        nothing = np.empty((len(batch), 0))
        return replace(batch, X=nothing, y=single_if_exact(batch.y), weight=weight)


@dataclass(frozen=True)
class Group:
    """A column of a code: the number of each row's function in the group, -1 for none.

    `ahead` are some of the groups that follow.
    """

    number: int
    pieces: tuple[NDArray[np.int32], ...]
    ahead: tuple[Group, ...] = ()

    @property
    def code(self) -> NDArray[np.int32]:
        """The column of all rows."""
        return np.concatenate(self.pieces)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and 1."""
        return sum(map(len, self.pieces)), 1


@dataclass(frozen=True)
class GroupBlock:
    """Several columns of a code in the order of the pass, and the pieces with all columns."""

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


class EncodedGroups(EncodedData):
    """The codes of all rows by columns, `size` of them a batch, in a new random order each pass."""

    def __init__(self, codes: list[Any], rows: Batch, size: int = 1) -> None:
        self._codes, self._rows, self.size = codes, rows, size

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self._codes[0].shape[1])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @property
    def n_batches(self) -> int:
        """The number of batches in a pass."""
        return -(-self.n_groups // self.size)

    def batches(self, seed: int = 0, pass_: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield all rows with one group or, if the size is larger, with blocks of groups."""
        order = Random(seed, ORDER, pass_).permutation(self.n_groups)
        groups = [Group(int(j), tuple(part[:, j] for part in self._codes)) for j in order]
        if self.size > 1:
            for first in range(start * self.size, len(groups), self.size):
                some = tuple(groups[first : first + self.size])
                yield replace(self._rows, X=GroupBlock(some, tuple(self._codes)))
                drop_pages(*self._codes)
            return
        for place in range(start, len(groups)):
            ahead = groups[place + 1 : (place // AHEAD + 1) * AHEAD]
            yield replace(self._rows, X=replace(groups[place], ahead=tuple(ahead)))
            drop_pages(*self._codes)

    def rows_in(self, batch: Batch, number: int) -> int:
        """Return the share of the rows that the batch's groups are of all groups."""
        before, after = (min(n * self.size, self.n_groups) for n in (number, number + 1))
        return self.n_rows * after // self.n_groups - self.n_rows * before // self.n_groups

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return evenly spaced rows, without columns."""
        return self._rows[:: max(1, len(self._rows) // size)]


Encoded, Groups = EncodedRows, EncodedGroups  # the names in earlier versions


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate parts, and empty their list."""
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return whole


def for_loops(y: Any, weight: NDArray[np.float64]) -> tuple[Any, NDArray[Any]]:
    """Return targets and weights for compiled loops, in single precision if both are exact."""
    exact = all(part is None or single_if_exact(part).dtype == np.float32 for part in (y, weight))
    dtype = np.float32 if exact else np.float64
    y = None if y is None else np.require(y, dtype, ["C", "W"])
    return y, np.require(weight, dtype, ["C", "W"])


def single_if_exact(y: Any) -> Any:
    """Return targets in single precision if that is exact, as it is for labels."""
    if y is None:
        return None
    single = y.astype(np.float32)
    return single if np.array_equal(single, y) else y
