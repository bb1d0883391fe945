"""The container of a model file: named arrays and a text, in the safetensors format.

A file is the length of its header (8 bytes), the header, and the bytes of the arrays. The header is
JSON: the dtype, shape and byte range of each array, and in the metadata the text and a digest of
all other bytes. Each length is checked against the size of the file before memory is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

KEY = "bochner"  # of the text in the metadata
LONGEST_HEADER = 1 << 25
MOST_NODES = 1 << 19  # of JSON; each takes up to a hundred bytes of memory
MOST_DIMENSIONS = 32
LARGEST_ARRAY = 1 << 62  # NumPy refuses arrays of more bytes, even if a dimension is 0
BLANK = "0" * 64  # stands for the digest while it is computed
READ_BYTES = 1 << 24  # at a time


class ModelFileError(ValueError):
    """The file is truncated, altered, of another format, newer than this library, or hostile.

    >>> issubclass(ModelFileError, ValueError)
    True
    """


DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}

NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class ArrayEntry:
    """The name, dtype and shape of a stored array, and the range of its bytes."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Contents:
    """The parsed header of a file.

    The bytes of the arrays begin at `first`; `blanked` is the header without its digest.
    """

    text: str
    arrays: tuple[ArrayEntry, ...]
    digest: str
    first: int
    blanked: bytes


def write(file: BinaryIO, text: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a text and arrays. Arrays of the widest numbers come first, so that all are aligned."""
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"digest": BLANK, KEY: text}}
    end = 0
    for name in names:
        array, begin = arrays[name], end
        end += array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    blank = json.dumps(header, separators=(",", ":")).encode()
    blank += b" " * (-len(blank) % 8)
    if len(blank) > LONGEST_HEADER or _nodes(blank) > MOST_NODES:
        raise ValueError(
            f"This model has so many parts that its header takes {len(blank):,} bytes, but model "
            f"files have at most {LONGEST_HEADER:,}. Fit with fewer grids, or without warm_start."
        )
    parts = [_bytes(arrays[name]) for name in names]
    digest = hashlib.blake2b(blank, digest_size=32)
    for part in parts:
        digest.update(part)
    file.write(len(blank).to_bytes(8, "little"))
    file.write(blank.replace(BLANK.encode(), digest.hexdigest().encode(), 1))
    for part in parts:
        file.write(part)


def read_contents(file: BinaryIO) -> Contents:
    """Read the header and check it against the size of the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 10:
        raise ModelFileError("The file is empty or too short to be a model file.")
    if length > size - 8:
        raise ModelFileError("The file is truncated, or it is not a model file.")
    if length > LONGEST_HEADER:
        raise ModelFileError(
            f"The header has {length:,} bytes, but that of a model file has at most "
            f"{LONGEST_HEADER:,}: this is not a model file."
        )
    raw = file.read(length)
    header = parse_json(raw)
    text, digest = _metadata(header)
    arrays = tuple(_entries(header, size - 8 - length))
    blanked = raw.replace(digest.encode(), BLANK.encode(), 1)
    return Contents(text, arrays, digest, 8 + length, blanked)


def read_arrays(file: BinaryIO, contents: Contents) -> dict[str, NDArray[Any]]:
    """Read the arrays, each into its own memory, and check the digest."""
    digest = hashlib.blake2b(contents.blanked, digest_size=32)
    found: dict[str, NDArray[Any]] = {}
    file.seek(contents.first)
    for entry in contents.arrays:
        array = np.empty(entry.shape, entry.dtype)
        if array.size:
            _fill(file, _bytes(array), digest)
        found[entry.name] = array
    _require_digest(digest, contents)
    return found


def map_arrays(file: BinaryIO, contents: Contents) -> dict[str, NDArray[Any]]:
    """Map the arrays into memory, private to this process, and check the digest.

    Pages of the file are read when they are used and can be dropped again, so that `save` can check
    a large file without a second copy of the model in memory.
    """
    digest = hashlib.blake2b(contents.blanked, digest_size=32)
    whole = np.memmap(file, np.uint8, "c")[contents.first :]  # type: ignore[arg-type]
    for begin in range(0, len(whole), READ_BYTES):
        digest.update(whole[begin : begin + READ_BYTES].data)
    _require_digest(digest, contents)
    return {
        entry.name: np.ndarray(entry.shape, entry.dtype, whole, entry.begin)
        if entry.begin < entry.end
        else np.empty(entry.shape, entry.dtype)
        for entry in contents.arrays
    }


def parse_json(raw: bytes | str) -> Any:
    """Parse JSON; refuse a text that is nested too deeply, too long or not JSON."""
    if _nodes(raw if isinstance(raw, bytes) else raw.encode()) > MOST_NODES:
        raise ModelFileError("The header has too many parts to be that of a model file.")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:  # ValueError also for bytes that are not UTF-8
        raise ModelFileError(f"The header cannot be read: {str(error)[:80]}.") from None


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view("u1").data


def _nodes(raw: bytes) -> int:
    return sum(raw.count(mark) for mark in (b",", b"[", b"{"))


def _require_digest(digest: Any, contents: Contents) -> None:
    if digest.hexdigest() != contents.digest:
        raise ModelFileError(
            "The file has been altered or damaged: its digest is not that of its contents. Get "
            "another copy, or save the model again."
        )


def _fill(file: BinaryIO, memory: memoryview, digest: Any) -> None:
    for begin in range(0, len(memory), READ_BYTES):
        piece = memory[begin : begin + READ_BYTES]
        if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
            raise ModelFileError("The file became shorter while it was read. Load it again.")
        digest.update(piece)


def _metadata(header: Any) -> tuple[str, str]:
    known = header.get("__metadata__") if isinstance(header, dict) else None
    text, digest = (known.get(key) if isinstance(known, dict) else None for key in (KEY, "digest"))
    if not isinstance(text, str):
        raise ModelFileError("The file is not a model file of this library.")
    if not isinstance(digest, str) or len(digest) != len(BLANK) or not digest.isascii():
        raise ModelFileError("The file has no digest, so it cannot be checked for damage.")
    return text, digest


def _entries(header: dict[str, Any], size: int) -> Iterator[ArrayEntry]:
    """Yield the arrays in the order of their bytes; they must fill `size` bytes without overlap."""
    entries = [_entry(name, given) for name, given in header.items() if name != "__metadata__"]
    end = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != end:
            raise ModelFileError(f"The array {entry.name[:80]!r} overlaps another or leaves a gap.")
        end = entry.end
        yield entry
    if end != size:
        raise ModelFileError(
            f"The arrays take {end:,} bytes, but the file has {size:,} for them: it is truncated "
            "or altered."
        )


def _entry(name: str, given: Any) -> ArrayEntry:
    invalid = ModelFileError(f"The description of the array {name[:80]!r} is invalid.")
    if not isinstance(given, dict) or set(given) != {"dtype", "shape", "data_offsets"}:
        raise invalid
    dtype = DTYPES.get(given["dtype"]) if isinstance(given["dtype"], str) else None
    shape, offsets = given["shape"], given["data_offsets"]
    if dtype is None or not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
        raise invalid
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ModelFileError(f"The shape of the array {name[:80]!r} is not that of its bytes.")
    if prod(count or 1 for count in shape) * dtype.itemsize > LARGEST_ARRAY:  # of an empty array
        raise invalid
    return ArrayEntry(name, dtype, tuple(shape), *offsets)


def _are_counts(numbers: Any) -> bool:
    """Whether this is a short list of integers from 0 on."""
    return (
        isinstance(numbers, list)
        and len(numbers) <= MOST_DIMENSIONS
        and all(type(number) is int and 0 <= number <= LARGEST_ARRAY for number in numbers)
    )
