"""Streams of text: files that may be compressed, and in another encoding than UTF-8."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from bochner.data.files.formats.chunk import UnreadableFile
from bochner.wording import amount

PIECE = 1 << 18  # bytes that are decoded at once
SUFFIXES = (".gz", ".bz2", ".xz", ".zip")
ZIP = b"PK\x03\x04"
COMPRESSIONS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
}
SHORT = 1 << 30  # bytes of text that a compressed file of any size may hold
MOST_TIMES = 200  # the size of a compressed file that a longer text may have
MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
BEGINNING = 16  # bytes that show compression and encoding
BZIP2_BLOCK = b"1AY&SY"  # the bytes from the fifth on, which no text has
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


def uncompressed_suffix(path: str) -> str:
    """Return the lower-case suffix of a path without that of a compression.

    >>> uncompressed_suffix("rows.CSV.gz")
    '.csv'
    """
    inner = Path(path.lower())
    return Path(inner.stem).suffix if inner.suffix in SUFFIXES else inner.suffix


def require_encoding(encoding: str) -> None:
    """Refuse the name of an encoding that there is not."""
    try:
        text = "".encode(encoding)
    except (LookupError, ValueError, TypeError):
        text = None
    if text is None:
        raise ValueError(
            f"encoding must be the name of an encoding of text, such as 'utf-8', 'latin-1', "
            f"'cp1252' or 'utf-16'; got {encoding!r}."
        )


class TextStream:
    """The bytes of a file as UTF-8: decompressed if its first bytes say so, and recoded.

    Parameters
    ----------
    file : path or binary stream
    name : str
        The name of the file in errors.
    encoding : str or None
        None: UTF-8, or UTF-16 or UTF-32 with a byte order mark.
    """

    def __init__(self, file: Path | BinaryIO, name: str, encoding: str | None = None) -> None:
        self.name, self.kind, self.encoding = name, "compressed", encoding
        self._closed_with: list[Any] = []
        raw: Any = file
        if isinstance(file, Path):
            raw = file.open("rb", buffering=0)
            self._closed_with.append(raw)
        try:
            with self.readable():
                self._stream = self._recoded(self._decompressed(raw, file), encoding)
        except BaseException:
            self.close()
            raise

    def _decompressed(self, raw: Any, file: Path | BinaryIO) -> Any:
        head = read_bytes(Replayed(b"", raw), BEGINNING)
        if head.startswith(ZIP):
            if not isinstance(file, Path):
                raise UnreadableFile(f"{self.name} is a zip archive, not text. Unpack it first.")
            self.kind = "zip"
            return Bounded(self._member(file), self.name, file.stat().st_size)
        for magic, (kind, opened) in COMPRESSIONS.items():
            if head.startswith(magic) and (kind != "bzip2" or head[4:10] == BZIP2_BLOCK):
                self.kind = kind
                size = file.stat().st_size if isinstance(file, Path) else None
                return Bounded(opened(_rewound(head, raw)), self.name, size)
        return _rewound(head, raw)

    def _member(self, path: Path) -> Any:
        """Open the only file in a zip archive."""
        archive = zipfile.ZipFile(path)
        self._closed_with.append(archive)
        info = archive.getinfo(member_name(archive, self.name))
        try:
            member = archive.open(info)
        except (RuntimeError, NotImplementedError) as error:  # a password, or a rare compression
            raise UnreadableFile(f"{self.name} cannot be unpacked: {error}. Unpack it.") from error
        self._closed_with.append(member)  # the archive keeps the file open for it
        return member

    def _recoded(self, stream: Any, encoding: str | None) -> Any:
        head = read_bytes(stream, BEGINNING)
        stream = Replayed(head, stream)
        self.encoding = encoding or encoding_of(head) or "utf-8"
        if codecs.lookup(self.encoding).name in ("utf-8", "ascii"):
            return stream
        return Recoded(stream, self.encoding)

    def readinto(self, room: memoryview) -> int:
        """Read bytes into the buffer, none at the end."""
        with self.readable():
            return int(self._stream.readinto(room))

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Raise an UnreadableFile in place of the errors of decompression and of decoding."""
        try:
            yield
        except UnicodeError as error:
            raise UnreadableFile(
                f"{self.name} is not text in {self.encoding}: {error}. Give its encoding='...'."
            ) from error
        except (*DAMAGED, OSError) as error:
            if not isinstance(error, DAMAGED) and error.errno is not None:
                raise  # the system's; that of a damaged bzip2 file has no number
            raise UnreadableFile(
                f"{self.name} is not a complete {self.kind} file: {error}. Copy or compress it "
                "again."
            ) from error

    def close(self) -> None:
        """Close the file, unless it is a stream of the caller."""
        for one in reversed(self._closed_with):
            one.close()


def member_name(archive: zipfile.ZipFile, name: str) -> str:
    """Return the name of the only file in an archive."""
    found = [
        info.filename
        for info in archive.infolist()
        if not info.is_dir()
        and not info.filename.startswith("__MACOSX/")
        and not Path(info.filename).name.startswith(".")
    ]
    if len(found) != 1:
        raise UnreadableFile(
            f"A zip archive must hold one file of rows; {name} holds {len(found)}. Unpack it, and "
            "give the files in it."
        )
    return found[0]


def encoding_of(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a text show, None if they look like UTF-8.

    >>> encoding_of("a,b".encode("utf-16")), encoding_of(b"a,b")
    ('utf-16', None)
    """
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    pairs = head[: len(head) // 2 * 2]
    if pairs and b"\x00" not in pairs[::2] and not pairs[1::2].strip(b"\x00"):
        return "utf-16-le"
    if pairs and b"\x00" not in pairs[1::2] and not pairs[::2].strip(b"\x00"):
        return "utf-16-be"
    return None


class Replayed:
    """A stream, preceded by bytes that were already read from it."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream
        self._into = getattr(stream, "readinto", None)

    def readinto(self, room: Any) -> int:
        """Read bytes into the buffer, none at the end."""
        if self._head or self._into is None:
            piece = self._head[: len(room)] or self._stream.read(len(room)) or b""
            self._head = self._head[len(room) :]
            if isinstance(piece, str):
                raise TypeError("The stream must be of bytes, not of text. Open the file as 'rb'.")
            room[: len(piece)] = piece
            return len(piece)
        return self._into(room) or 0

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, none at the end; decompressors call this."""
        room = bytearray(PIECE if size < 0 else size)
        return bytes(room[: self.readinto(memoryview(room))])


class Bounded:
    """A decompressed stream that ends with an error if it is far longer than its file.

    A file of a megabyte can hold a gigabyte of zeros, and one that holds itself has no end.
    """

    def __init__(self, stream: Any, name: str, size: int | None) -> None:
        self._stream, self._name, self._made = stream, name, 0
        self._most = SHORT if size is None else max(SHORT, MOST_TIMES * size)
        self._unknown = size is None

    def readinto(self, room: Any) -> int:
        """Read bytes into the buffer, none at the end."""
        count = int(self._stream.readinto(room))
        self._made += count
        if self._made > self._most:
            times = "" if self._unknown else f", {MOST_TIMES} times the size of the file"
            raise UnreadableFile(
                f"{self._name} holds more than {amount(self._most)} of text{times}: it may be made "
                "to fill the memory. If you trust it, decompress it first."
            )
        return count


class Recoded:
    """A stream of text in another encoding, as UTF-8."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder(encoding)()
        self._ready, self._ended = io.BytesIO(), False

    def readinto(self, room: Any) -> int:
        """Read bytes into the buffer, none at the end."""
        while not (count := self._ready.readinto(room)) and not self._ended:
            piece = read_bytes(self._stream, PIECE)
            self._ended = len(piece) < PIECE
            text = self._decoder.decode(piece, self._ended)
            self._ready = io.BytesIO(text.encode("utf-8", "surrogatepass"))
        return count


def _rewound(head: bytes, raw: Any) -> Any:
    """Return a stream from its beginning; plain files are read without a detour."""
    if isinstance(raw, io.RawIOBase) and raw.seekable():
        raw.seek(0)
        return raw
    return Replayed(head, raw)


def read_bytes(stream: Any, size: int) -> bytes:
    """Return the next bytes, fewer only at the end of the stream."""
    room = bytearray(max(size, 0))
    return bytes(room[: read_into(stream, memoryview(room))])


def read_into(stream: Any, room: memoryview) -> int:
    """Fill the buffer and return the number of bytes, fewer only at the end of the stream."""
    filled = 0
    while filled < len(room) and (count := stream.readinto(room[filled:])):
        filled += count
    return filled
