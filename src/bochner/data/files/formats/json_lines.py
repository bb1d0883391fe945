"""JSON lines: one JSON object a line, whose members are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.csv import Records, records
from bochner.data.files.formats.blocks import BLOCK, File, Input
from bochner.data.files.formats.chunk import BadRow, UnreadableFile, quoted, quoted_cell
from bochner.data.files.formats.value_table import Record, ValueTable
from bochner.data.transforms.times import SNIFFED_CELLS

EXPECTED = "a JSON object, {...}, on one line"


class JsonLines(ValueTable):
    """A table of JSON objects, one a line; members that are null or not there are missing.

    The first megabyte determines the names and types of the columns. A line that is no object, a
    name twice in an object or one that is not among the columns, infinity, and objects or arrays
    as values make bad rows.

    Parameters
    ----------
    file : path or binary stream
        Compressed text (gzip, bzip2, xz, zip) is decompressed while it is read. A stream can be
        read once.
    name, encoding : str, optional
        The name of the file in errors, and the encoding of the text.

    Examples
    --------
    >>> import io
    >>> text = b'{"tree": "oak", "height": 21.5}\\n{"height": null, "tree": "ash"}\\n'
    >>> table = JsonLines(io.BytesIO(text), name="trees.jsonl")
    >>> table.names, table.kinds
    (('tree', 'height'), ('text', 'number'))
    """

    def __init__(self, file: File, *, name: str | None = None, encoding: str | None = None) -> None:
        self._input = Input(file, name, encoding)
        self.name, self.once = self._input.name, self._input.once
        first = self._input.inspect(self._first)
        names = dict.fromkeys(name for record in first for name in record.cells)
        if not names:
            raise UnreadableFile(
                str(first[0].bad or f"{self.name} has no columns: objects are empty.")
            )
        self._describe(tuple(names), first)

    def _first(self, text: NDArray[np.uint8]) -> list[Record] | None:
        some = records(text, None, 1)
        return list(islice(self._parsed(text, some, None), SNIFFED_CELLS)) if len(some) else None

    def _records(self) -> Iterator[Record]:
        self.bytes_read = 0
        known = frozenset(self.names)
        for block in self._input.blocks(None):
            self.bytes_read += BLOCK
            yield from self._parsed(block.text, block.records, known)

    def _parsed(
        self, text: NDArray[np.uint8], some: Records, known: frozenset[str] | None
    ) -> Iterator[Record]:
        """Yield the rows of some lines; `known` are the columns, None for any."""
        for start, stop, line in zip(some.starts, some.stops, some.lines.tolist(), strict=True):
            content = text[start:stop].tobytes()
            try:
                cells = json.loads(content, object_pairs_hook=_members)
            except (ValueError, RecursionError) as error:
                found = str(error) if isinstance(error, _TwiceError) else quoted_cell(content)
                yield Record(line, {}, BadRow(self.name, line, None, EXPECTED, found))
                continue
            if not isinstance(cells, dict):
                yield Record(
                    line, {}, BadRow(self.name, line, None, EXPECTED, quoted_cell(content))
                )
            elif known is not None and not cells.keys() <= known:
                new = quoted(name for name in cells if name not in known)
                expected = "only the names of the first rows"
                yield Record(line, {}, BadRow(self.name, line, None, expected, new))
            else:
                yield Record(line, cells)


class _TwiceError(ValueError):
    """A name is twice in an object."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _TwiceError("a name twice in it")
    return members
