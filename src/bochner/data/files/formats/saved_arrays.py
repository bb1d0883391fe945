"""Arrays of .npy and .npz files, whose headers are checked against the bytes that there are."""

from __future__ import annotations

import os
import struct
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.streams import DAMAGED, Bounded, read_into

LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip member: lengths of name and extra field
LARGEST = 1 << 62  # NumPy refuses arrays of more bytes, even if a dimension is 0
MOST_DIMENSIONS = 32
PIECE = 1 << 24  # bytes that are read at once


@dataclass(frozen=True)
class ArrayHeader:
    """What the header of an array says, and where its bytes begin."""

    shape: tuple[int, ...]
    order: Any
    dtype: np.dtype[Any]
    begin: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


def mapped_array(path: str, offset: int = 0) -> NDArray[Any]:
    """Return the array at an offset of a file, memory-mapped."""
    with open(path, "rb") as file:
        file.seek(offset)
        header = _header(file, path)
        size = os.fstat(file.fileno()).st_size
    if header.n_bytes > size - header.begin:
        raise _truncated(path, header, size - header.begin)
    if header.n_bytes == 0:
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.begin, header.shape, header.order)


def archived_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by their names; compressed ones are read into memory."""
    with _undamaged(path), zipfile.ZipFile(path) as archive:
        return {
            info.filename.removesuffix(".npy"): _member(archive, info, path)
            for info in archive.infolist()
        }


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> NDArray[Any]:
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        return mapped_array(path, _begin(path, info))
    with archive.open(info) as member:
        header = _header(member, path)
        stream = Bounded(member, path, os.path.getsize(path))
        found = bytearray()
        while len(found) < header.n_bytes:  # memory grows with what there is, not what is claimed
            piece = bytearray(min(PIECE, header.n_bytes - len(found)))
            count = read_into(stream, memoryview(piece))
            found += memoryview(piece)[:count]
            if count < len(piece):
                raise _truncated(path, header, len(found))
    flat = np.frombuffer(found, header.dtype) if found else np.empty(0, header.dtype)
    return flat.reshape(header.shape, order=header.order)


def _begin(path: str, info: zipfile.ZipInfo) -> int:
    """Return where the bytes of a member begin that is not compressed."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        name, extras = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return info.header_offset + LOCAL_HEADER.size + int(name) + int(extras)


def _header(file: Any, path: str) -> ArrayHeader:
    with _undamaged(path):
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        try:
            with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
                shape, fortran, dtype = read(file)
        except Exception as error:  # any that Python's own parser has
            reason = str(error).partition("\n")[0][:100] or type(error).__name__
            raise UnreadableFile(
                f"{path} is not a file of numpy.save: its header is damaged ({reason}). Save it "
                "again."
            ) from error
    if dtype.hasobject:
        raise UnreadableFile(f"{path} holds Python objects, which are not read. Save numbers.")
    possible = min(shape, default=0) >= 0 and prod(n or 1 for n in shape) * dtype.itemsize < LARGEST
    if not possible or dtype.itemsize == 0 or len(shape) > MOST_DIMENSIONS:
        raise UnreadableFile(
            f"{path} must hold an array of rows and columns of numbers; its header says "
            f"{str(dtype)[:40]} {str(shape)[:80]}. Save one by numpy.save."
        )
    return ArrayHeader(shape, "F" if fortran else "C", dtype, file.tell())


def _truncated(path: str, header: ArrayHeader, there: int) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is truncated: its header says {header.dtype} {header.shape}, which takes "
        f"{header.n_bytes:,} bytes, but it has {max(there, 0):,}. Save it again."
    )


@contextmanager
def _undamaged(path: str) -> Iterator[None]:
    """Raise an UnreadableFile in place of the errors of NumPy and of zip archives."""
    try:
        yield
    except UnreadableFile:
        raise
    except (*DAMAGED, ValueError, struct.error, RuntimeError, KeyError) as error:
        raise _not_saved(path, error) from error
    except OSError as error:
        if error.filename is not None:
            raise  # the system's, about the file itself
        raise _not_saved(path, error) from error


def _not_saved(path: str, error: Exception) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is not a complete file of numpy.save or numpy.savez: {error}. Save it again."
    )
