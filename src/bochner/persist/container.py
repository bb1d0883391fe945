"""Read and write named arrays and a text in the safetensors format, and check what is read."""

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
class Place:
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
    places: tuple[Place, ...]
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
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 10:
        raise ModelFileError("The file is empty or too short to be a model file.")
    if length > size - 8:
        raise ModelFileError("The file is truncated, or it is no model file.")
    if length > LONGEST_HEADER:
        raise ModelFileError(
            f"The header is said to take {length:,} bytes, but model files have at most "
            f"{LONGEST_HEADER:,}: this is no model file."
        )
    raw = file.read(length)
    header = parse_json(raw)
    text, digest = _metadata(header)
    places = tuple(_places(header, size - 8 - length))
    blanked = raw.replace(digest.encode(), BLANK.encode(), 1)
    return Contents(text, places, digest, 8 + length, blanked)


def read_arrays(file: BinaryIO, contents: Contents) -> dict[str, NDArray[Any]]:
    """Read the arrays, each into its own memory, and check the digest."""
    digest = hashlib.blake2b(contents.blanked, digest_size=32)
    found: dict[str, NDArray[Any]] = {}
    file.seek(contents.first)
    for place in sorted(contents.places, key=lambda place: (place.begin, place.end)):
        array = np.empty(place.shape, place.dtype)
        if array.size:
            _fill(file, _bytes(array), digest)
        found[place.name] = array
    if digest.hexdigest() != contents.digest:
        raise ModelFileError(
            "The file has been altered or damaged: its digest is not that of its contents. Take "
            "another copy, or save the model again."
        )
    return found


def parse_json(raw: bytes | str) -> Any:
    """Parse JSON; refuse a text that is nested too deeply, too long or no JSON."""
    if _nodes(raw if isinstance(raw, bytes) else raw.encode()) > MOST_NODES:
        raise ModelFileError("The header has too many parts to be that of a model file.")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:  # ValueError also for bytes that are no UTF-8
        raise ModelFileError(f"The header cannot be read: {str(error)[:80]}.") from None


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view("u1").data


def _nodes(raw: bytes) -> int:
    return sum(raw.count(mark) for mark in (b",", b"[", b"{"))


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
        raise ModelFileError("The file is no model file of this library.")
    if not isinstance(digest, str) or len(digest) != len(BLANK) or not digest.isascii():
        raise ModelFileError("The file has no digest, so nobody can tell whether it is whole.")
    return text, digest


def _places(header: dict[str, Any], size: int) -> Iterator[Place]:
    """Yield the places of the arrays; they must fill the rest of the file without overlap."""
    places = [_place(name, entry) for name, entry in header.items() if name != "__metadata__"]
    end = 0
    for place in sorted(places, key=lambda place: (place.begin, place.end)):
        if place.begin != end:
            raise ModelFileError(f"The array {place.name[:80]!r} overlaps another or leaves a gap.")
        end = place.end
        yield place
    if end != size:
        raise ModelFileError(
            f"The arrays take {end:,} bytes, but the file has {size:,} for them: it is truncated "
            "or altered."
        )


def _place(name: str, entry: Any) -> Place:
    wrong = ModelFileError(f"The array {name[:80]!r} is not described as it should be.")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    shape, offsets = entry["shape"], entry["data_offsets"]
    if dtype is None or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise wrong
    if len(shape) > MOST_DIMENSIONS or prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ModelFileError(f"The shape of the array {name[:80]!r} is not that of its bytes.")
    if max(shape, default=0) >= 1 << 62:  # possible if another dimension is 0
        raise wrong
    return Place(name, dtype, tuple(shape), *offsets)


def _counts(numbers: Any) -> bool:
    """Whether this is a short list of integers that are at least 0."""
    return (
        isinstance(numbers, list)
        and len(numbers) <= MOST_DIMENSIONS
        and all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)
    )
