"""Sparse rows in the format of SVMlight and LIBSVM: label index:value index:value ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.cells import HARD, WHOLE, Markers, read_decimals
from bochner.compute.text.csv import Records, records
from bochner.compute.text.svmlight import (
    BELOW_ONE,
    LARGEST_COLUMN,
    NO_PAIR,
    NOT_INCREASING,
    ROW,
    TOO_LARGE,
    IndexValuePairs,
    pairs,
)
from bochner.data.files.formats.blocks import BLOCK, Block, File, Input
from bochner.data.files.formats.chunk import (
    BAD_SHOWN,
    BadRow,
    SparseChunk,
    expected_number,
    quoted_cell,
)

Bytes = NDArray[np.uint8]
Cells = tuple[NDArray[np.int32], NDArray[np.int32]]
EXPECTED = {
    NO_PAIR: "index:value",
    NOT_INCREASING: "indices that increase",
    TOO_LARGE: f"an index of at most {LARGEST_COLUMN}",
    BELOW_ONE: "an index from 1 on (the first column is 1; give zero_based=True if it is 0)",
}


@dataclass(frozen=True)
class _ParsedSparseRows:
    """Rows with the number of entries of each; see `SparseChunk`."""

    labels: NDArray[np.float64]
    data: NDArray[np.float64]
    indices: NDArray[np.int32]
    sizes: NDArray[np.int64]
    lines: NDArray[np.int64]
    bad: Sequence[BadRow]
    n_bad: int


class SparseReader:
    """Converts blocks to chunks; `least` is the index of the first column, 0 or 1."""

    def __init__(self, name: str, least: int) -> None:
        self.name, self.least, self.markers = name, least, Markers(())

    def chunk(self, block: Block) -> SparseChunk:
        """Return the rows of a block."""
        tiles = block.tiles(self._tile)
        arrays = ((t.labels, t.data, t.indices, t.sizes, t.lines) for t in tiles)
        columns = zip(*arrays, strict=True)
        labels, data, indices, sizes, lines = (np.concatenate(column) for column in columns)
        bad = [row for tile in tiles for row in tile.bad][:BAD_SHOWN]
        n_bad = sum(tile.n_bad for tile in tiles)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return SparseChunk(labels, data, indices, indptr, lines, tuple(bad), n_bad)

    def _tile(self, text: Bytes, some: Records) -> _ParsedSparseRows:
        found = pairs(text, some, self.least)
        labels, label_flags = self._numbers(text, found.labels)
        data, flags = self._numbers(text, found.values)
        sizes = np.diff(found.ends, prepend=0)
        lines = some.lines[found.held == ROW]
        bad_records = np.flatnonzero(found.held < 0)
        rows = _ParsedSparseRows(labels, data, found.indices, sizes, lines, (), 0)
        if not (len(bad_records) or label_flags.any() or flags.any()):
            return rows
        keep = label_flags == WHOLE
        keep[np.searchsorted(found.ends, np.flatnonzero(flags), side="right")] = False
        bad = self._bad_records(text, some, found, bad_records)
        bad += [
            self._bad_number(text, found, row, int(lines[row]), bool(label_flags[row]))
            for row in np.flatnonzero(~keep)[:BAD_SHOWN]
        ]
        bad.sort(key=lambda row: row.line)
        entries = np.repeat(keep, sizes)
        data, indices = data[entries], found.indices[entries]
        n_bad = len(bad_records) + int(np.count_nonzero(~keep))
        return _ParsedSparseRows(
            labels[keep], data, indices, sizes[keep], lines[keep], bad[:BAD_SHOWN], n_bad
        )

    def _numbers(self, text: Bytes, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        out, flags = np.empty(cells[0].shape), np.empty(len(cells[0]), np.int32)
        read_decimals(text, cells, self.markers, out, flags)
        for k in map(int, np.flatnonzero(flags == HARD)):
            out[k] = float(_cell(text, cells, k))
            flags[k] = WHOLE if np.isfinite(out[k, 0]) else 1
        return out[:, 0], flags

    def _bad_records(
        self, text: Bytes, some: Records, found: IndexValuePairs, bad_records: NDArray[np.intp]
    ) -> list[BadRow]:
        bad = []
        for k in bad_records[:BAD_SHOWN]:
            rest = text[found.places[k] : min(found.places[k] + 60, some.stops[k])].tobytes()
            token = (rest.split() or [b""])[0]
            expected = EXPECTED[int(found.held[k])]
            bad.append(BadRow(self.name, int(some.lines[k]), None, expected, quoted_cell(token)))
        return bad

    def _bad_number(
        self, text: Bytes, found: IndexValuePairs, row: int, line: int, label: bool
    ) -> BadRow:
        """Describe a row whose label or one of whose values is not a number."""
        if label:
            cell = _cell(text, found.labels, row)
            expected = "a single number" if b"," in cell else expected_number(cell)
            return BadRow(self.name, line, "label", expected, quoted_cell(cell))
        first, last = int(found.ends[row - 1]) if row else 0, int(found.ends[row])
        cells = found.values[0][first:last], found.values[1][first:last]
        _, flags = self._numbers(text, cells)
        entry = int(np.flatnonzero(flags)[0])
        column = str(int(found.indices[first + entry]) + self.least)
        cell = _cell(text, cells, entry)
        return BadRow(self.name, line, column, expected_number(cell), quoted_cell(cell))


def _cell(text: Bytes, cells: Cells, k: int) -> bytes:
    return text[cells[0][k, 0] : cells[1][k, 0]].tobytes()


def find_index_base(tables: Sequence[SvmlightFile]) -> None:
    """Read files whose first column may be 0 or 1 to find out; it is 1 in streams."""
    if any(table.zero_based is not None for table in tables):
        return
    chunks = (chunk for table in tables if not table.once for chunk in table.chunks())
    set_index_base(tables, min((chunk.least_index for chunk in chunks), default=1))


def set_index_base(tables: Sequence[SvmlightFile], least: int) -> None:
    """Let the first column be 1 unless the least index is 0, as scikit-learn does."""
    for table in tables:
        table.zero_based = least == 0


class SvmlightFile:
    """Sparse rows as text, one a line: ``label index:value index:value ... # comment``.

    Indices must increase within a row. Query numbers (``qid:3``) and comments are ignored. Rows
    with several labels are bad rows.

    Parameters
    ----------
    file : path or binary stream
        Compressed text (gzip, bzip2, xz, zip) is decompressed while it is read. A stream can be
        read once.
    name : str, optional
        The name of the file in errors; by default its path.
    encoding : str, optional
        Of the text; by default UTF-8, or UTF-16 and UTF-32 with a byte order mark.
    zero_based : bool, optional
        Whether the first column has index 0 instead of 1. If not, an index 0 makes a bad row.
        None: indices are returned as they are written, since only a pass over all files of a
        table shows whether one of them is 0.

    Examples
    --------
    >>> import io
    >>> text = b"+1 1:0.5 3:2\\n-1 2:1.5 # a comment\\n"
    >>> rows = SvmlightFile(io.BytesIO(text), zero_based=False)
    >>> (chunk,) = rows.chunks()
    >>> chunk.labels
    array([ 1., -1.])
    >>> chunk.matrix(3).toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1.5, 0. ]])
    """

    def __init__(
        self,
        file: File,
        *,
        name: str | None = None,
        encoding: str | None = None,
        zero_based: bool | None = None,
    ) -> None:
        self._input = Input(file, name, encoding)
        self._input.inspect(lambda text: len(records(text, None, 1)) or None)
        self.zero_based = zero_based
        self.name, self.once, self.bytes_read = self._input.name, self._input.once, 0

    def chunks(self) -> Iterator[SparseChunk]:
        """Yield the rows. A chunk comes from about eight megabytes of text."""
        reader = SparseReader(self.name, 1 if self.zero_based is False else 0)
        self.bytes_read = 0
        for block in self._input.blocks(None):
            chunk = reader.chunk(block)
            if len(chunk) or chunk.n_bad:
                self.bytes_read += BLOCK
                yield chunk
