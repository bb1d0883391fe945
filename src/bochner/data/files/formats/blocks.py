"""Blocks: the bytes of a file of any size, some megabytes at a time, cut at the ends of records."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.compute.text.csv import TILE, Records
from bochner.data.files.formats.chunk import UnreadableFile

File = str | os.PathLike[str] | BinaryIO
Split = Callable[[NDArray[np.uint8], int], Records]  # (text, line of its beginning)

T = TypeVar("T")

BLOCK = 8 << 20
HEAD = 1 << 20
LONGEST = 64 << 20  # bytes of a record; more is a quote that was left open, or no text at all
MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
FOREIGN_MARKS = (b"\xff\xfe", b"\xfe\xff")  # those of UTF-16


@dataclass(frozen=True)
class Block:
    """Bytes of a file and the complete records in them."""

    text: NDArray[np.uint8]
    records: Records

    def tiles(self, read: Callable[[NDArray[np.uint8], Records], T]) -> list[T]:
        """Return what is read from the records of each tile of the text, on all threads."""
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
    """A path, or a stream whose first bytes can be looked at and are read again.

    A path that ends in .gz is unpacked while it is read.
    """

    def __init__(self, file: File, name: str | None) -> None:
        self.once = not isinstance(file, (str, os.PathLike))
        self.file: Any = file if self.once else Path(file)  # type: ignore[arg-type]
        self.name = name or str(getattr(file, "name", file) if self.once else file)
        self.head, self.begun = b"", False

    def first(self, size: int) -> bytes:
        """Return the first bytes of the file, fewer than `size` only if there are no more."""
        with self._readable():
            if not self.once:
                with closing(_opened(self.file)) as stream:
                    return _read(stream, size)
            self.head += _read(_Replayed(b"", self.file), size - len(self.head))
            return self.head[:size]

    def look(self, see: Callable[[NDArray[np.uint8]], T | None]) -> T:
        """Return what is seen in the first bytes of the file, more of them if it is None."""
        size = HEAD
        while True:
            head = self.first(size)
            refuse_foreign(head, self.name)
            whole = len(head) < size
            body = bytearray(head.removeprefix(MARK) + (b"\n" if whole else b""))
            seen = see(np.frombuffer(body, np.uint8))
            if seen is not None:
                return seen
            if whole or size > LONGEST:
                raise UnreadableFile(
                    f"{self.name} has no row that ends. Is a quote left open, "
                    "or is this no text file?"
                )
            size *= 4

    def blocks(self, split: Split) -> Iterator[Block]:
        """Walk over the file. The text of a block is valid until the next one is asked for."""
        if self.begun and self.once:
            raise ValueError(
                f"{self.name} is a stream, which can be read once. Give a path, or keep its rows."
            )
        self.begun = True
        if self.once:
            head, self.head = self.head, b""
            yield from self._walk(_Replayed(head, self.file), split)
            return
        with closing(_opened(self.file)) as stream:
            yield from self._walk(stream, split)

    def _walk(self, stream: Any, split: Split) -> Iterator[Block]:
        buffer, held, line, last = bytearray(BLOCK + 1), 0, 1, False
        while not last:
            with self._readable():
                filled = held + _read_into(stream, memoryview(buffer)[held:-1])
            last = filled < len(buffer) - 1
            if last and filled and buffer[filled - 1] != ord("\n"):
                buffer[filled] = ord("\n")  # there is room for it: the end of the last record
                filled += 1
            begin = len(MARK) if line == 1 and buffer.startswith(MARK) else 0
            text = np.frombuffer(buffer, np.uint8, filled - begin, begin)
            records = split(text, line)
            if len(records):
                yield Block(text, records)
            rest, line = filled - begin - records.end, records.line
            if last and rest:
                raise UnreadableFile(
                    f"{self.name}, line {line}: a quote is opened here and never closed. "
                    "Close it, or write quotes inside text twice."
                )
            if rest > LONGEST:
                raise UnreadableFile(
                    f"{self.name}, line {line}: the record that begins here is longer than "
                    f"{LONGEST >> 20} MB. Is a quote left open, or is this no text file?"
                )
            length = max(BLOCK, 2 * rest) + 1  # one more for the end of the last line
            following = bytearray(length) if length != len(buffer) else buffer
            following[:rest] = buffer[filled - rest : filled]
            buffer, held = following, rest

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableFile(
                f"{self.name} is no whole gzip file: {error}. Copy or pack it again."
            ) from error


class _Replayed:
    """A stream after the bytes that were already taken from it."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self.head, self.stream = io.BytesIO(head), stream

    def readinto(self, room: memoryview) -> int:
        """Read some bytes into the room, none at the end."""
        piece = self.head.read(len(room)) or self.stream.read(len(room)) or b""
        if isinstance(piece, str):
            raise TypeError("The stream must be of bytes, not of text. Open the file as 'rb'.")
        room[: len(piece)] = piece
        return len(piece)


def refuse_foreign(head: bytes, name: str) -> None:
    """Refuse files that are not text in UTF-8, or have nothing in them."""
    if head.startswith(FOREIGN_MARKS):
        raise UnreadableFile(f"{name} is text in UTF-16; UTF-8 is needed. Save it as UTF-8.")
    if not head.removeprefix(MARK).strip():
        raise UnreadableFile(f"{name} has no rows: it is empty.")
    if b"\r" in head and b"\n" not in head:
        raise UnreadableFile(
            f"{name} ends its lines with a carriage return alone; a line feed is needed. "
            "Save it with the line ends of today."
        )


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb", buffering=0)


def _read(stream: Any, size: int) -> bytes:
    room = bytearray(max(size, 0))
    return bytes(room[: _read_into(stream, memoryview(room))])


def _read_into(stream: Any, room: memoryview) -> int:
    """Fill the room, and return how much of it is filled: less at the end of the file only."""
    filled = 0
    while filled < len(room):
        count = stream.readinto(room[filled:])
        if count == 0:
            break
        filled += count
    return filled
