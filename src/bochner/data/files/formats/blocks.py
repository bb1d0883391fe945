"""Blocks: the bytes of a file of any size, some megabytes at a time, cut at record ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.text.csv import TILE, Records, records
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.streams import (
    MARK,
    Replayed,
    TextStream,
    read_bytes,
    read_into,
    require_encoding,
)

File = str | os.PathLike[str] | BinaryIO
T = TypeVar("T")

BLOCK = 8 << 20
HEAD = 1 << 20
LONGEST = 64 << 20  # bytes of a record; a longer one has an open quote or is not text


@dataclass(frozen=True)
class Block:
    """Bytes of a file and the complete records in them."""

    text: NDArray[np.uint8]
    records: Records

    def tiles(self, read: Callable[[NDArray[np.uint8], Records], T]) -> list[T]:
        """Apply `read` to the records of each tile of the text, on all threads."""
        starts = self.records.starts
        cuts = np.searchsorted(starts, np.arange(0, len(self.text) + TILE, TILE))
        edges = np.unique(np.append(cuts, len(starts)))
        tiles: dict[int, T] = {}

        def work(first: int, last: int) -> None:
            for k in range(first, last):
                tiles[k] = read(self.text, self.records[edges[k] : edges[k + 1]])

        each_tile(work, len(edges) - 1, 1)
        return [tiles[k] for k in range(len(edges) - 1)]


class Input:
    """A path, or a binary stream whose first bytes can be inspected before it is read.

    It is decompressed and recoded as UTF-8 while it is read; see `TextStream`.
    """

    def __init__(self, file: File, name: str | None, encoding: str | None = None) -> None:
        if encoding is not None:
            require_encoding(encoding)
        self.once = not isinstance(file, (str, os.PathLike))
        self.file: Any = file if self.once else Path(file)  # type: ignore[arg-type]
        self.name = name or str(getattr(file, "name", file) if self.once else file)
        self.encoding, self.head, self.started = encoding, b"", False

    def _open(self) -> TextStream:
        return TextStream(self.file, self.name, self.encoding)

    @cached_property
    def _stream(self) -> TextStream:
        """A stream that can be read once, from where it is now."""
        return self._open()

    def first(self, size: int) -> bytes:
        """Return the first `size` bytes of the file, fewer if it is shorter."""
        if not self.once:
            with closing(self._open()) as stream:
                return read_bytes(stream, size)
        self.head += read_bytes(self._stream, size - len(self.head))
        return self.head[:size]

    def inspect(self, parse: Callable[[NDArray[np.uint8]], T | None]) -> T:
        """Return what `parse` finds in the first bytes; None means that it needs more of them."""
        size = HEAD
        while True:
            head = self.first(size)
            _require_lines(head, self.name)
            whole = len(head) < size
            body = bytearray(head.removeprefix(MARK) + (b"\n" if whole else b""))
            found = parse(np.frombuffer(body, np.uint8))
            if found is not None:
                return found
            if whole or size >= LONGEST:
                raise UnreadableFile(
                    f"{self.name} has no complete row. Is a quote left open, "
                    "or is this not a text file?"
                )
            size = min(4 * size, LONGEST)

    def blocks(self, delimiter: int | None) -> Iterator[Block]:
        """Yield the blocks of the file. The text of a block is valid until the next one.

        Records end at line ends: outside quotes if there is a delimiter, at every one if not.
        """
        if self.started and self.once:
            raise ValueError(
                f"{self.name} is a stream, which can be read once. Give a path, or keep its rows."
            )
        self.started = True
        if self.once:
            head, self.head = self.head, b""
            yield from self._read_blocks(Replayed(head, self._stream), delimiter)
            return
        with closing(self._open()) as stream:
            yield from self._read_blocks(stream, delimiter)

    def _read_blocks(self, stream: Any, delimiter: int | None) -> Iterator[Block]:
        buffer, held, line, last = bytearray(BLOCK + 1), 0, 1, False
        while not last:
            filled = held + read_into(stream, memoryview(buffer)[held:-1])
            last = filled < len(buffer) - 1
            if last and filled and buffer[filled - 1] != ord("\n"):
                buffer[filled] = ord("\n")  # ends the last record; the buffer has a spare byte
                filled += 1
            begin = len(MARK) if line == 1 and buffer.startswith(MARK) else 0
            text = np.frombuffer(buffer, np.uint8, filled - begin, begin)
            found = records(text, delimiter, line)
            if len(found):
                yield Block(text, found)
            rest, line = filled - begin - found.end, found.line
            if last and rest:
                raise UnreadableFile(
                    f"{self.name}, line {line}: a quote is opened here and never closed. "
                    "Close it, or write quotes inside text twice."
                )
            if rest > LONGEST:
                raise UnreadableFile(
                    f"{self.name}, line {line}: the record that begins here is longer than "
                    f"{LONGEST >> 20} MB. Is a quote left open, or is this not a text file?"
                )
            length = max(BLOCK, 2 * rest) + 1  # a spare byte for the end of the last line
            following = bytearray(length) if length != len(buffer) else buffer
            following[:rest] = buffer[filled - rest : filled]
            buffer, held = following, rest


def _require_lines(head: bytes, name: str) -> None:
    """Refuse empty files and files without line feeds."""
    if not head.removeprefix(MARK).strip():
        raise UnreadableFile(f"{name} has no rows: it is empty.")
    if b"\r" in head and b"\n" not in head:
        raise UnreadableFile(
            f"{name} ends its lines with a carriage return alone; a line feed is needed. "
            "Save it with line feeds."
        )
